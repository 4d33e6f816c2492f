"""Axis along which runs are compared: up to equal steps, or up to equal tokens, samples, epochs or durations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.draw.numbers import format_count, format_duration, format_exact
from tuimon.model.points import Floats, Steps
from tuimon.store import METRIC_AXIS, Curve, Run, Scale
from tuimon.text import clean

AXES = ("step", "time", "duration", "epoch", "samples", "tokens")
"""Names of the axes, as in `Run.axes`; "metric:NAME" is one, too."""
_EQUAL = {"duration": "durations since the start", "epoch": "epochs"}
_DIGITS = 10
"""Maximum characters of a number."""

Place = int | float
"""Position on an axis: a step, or a number of tokens, samples, epochs or seconds."""


class ComparisonAxis(Struct, frozen=True, eq=False):
    """Axis along which runs are compared."""

    name: str = "step"
    """One of AXES except "time", or "metric:NAME"."""
    scales: tuple[Scale, ...] = ()
    """Axis of each run; () for steps."""
    sentence: str = ""
    """Says along which axis the runs are compared; "" if steps were asked for."""

    @property
    def noun(self) -> str:
        """Name of the axis in a sentence, such as "tokens"."""
        return axis_noun(self.name)


STEPS = ComparisonAxis()


def own_axis(name: str) -> str:
    """Return the axis that each run has for a name of AXES.

    Runs that were trained at different times have no clock time in common, so that "time" is "duration".
    """
    return "duration" if name == "time" else name


def comparison_axis(runs: Sequence[Run], name: str) -> ComparisonAxis:
    """Return the axis of a name of AXES or of "metric:NAME", or that of steps if a run does not have it."""
    if name == "step":
        return STEPS
    own = own_axis(name)
    missing = sum(not run.has_axis(own) for run in runs)
    if missing:
        have = "has" if missing == 1 else "have"
        without = f"{missing} of {len(runs)} runs {have} no {axis_noun(own)}"
        return ComparisonAxis(sentence=f"compared at equal steps: {without}")
    return ComparisonAxis(own, tuple(run.scale(own) for run in runs), f"compared at equal {equal_words(own)}")


def axis_noun(axis: str) -> str:
    """Return the name of an axis in a sentence."""
    return clean(axis.removeprefix(METRIC_AXIS))


def equal_words(axis: str) -> str:
    """Return what is equal where runs are compared along an axis: "tokens", "durations since the start"."""
    if axis.startswith(METRIC_AXIS):
        return f"values of {axis_noun(axis)}"
    return _EQUAL.get(axis, f"{axis}s" if axis.endswith("step") else axis)


def place_text(axis: str, place: Place, word: str = "step") -> str:
    """Return a position as text: "step 120", "39.3 M tokens", "epoch 1.5", "1 h 12 m". word: what the steps count."""
    if axis == "step":
        return f"{word} {place}"
    if axis == "duration":
        return format_duration(place)
    if axis in ("tokens", "samples"):
        return f"{format_count(place)} {axis}"
    return f"{axis_noun(axis)} {format_exact(place, _DIGITS)}"


def places_of(curve: Curve, scale: Scale | None) -> Steps | Floats | None:
    """Return the positions of the points of a curve, which never fall; None if they are unknown.

    scale: None for the steps. Points without a position have that of the point before, or of the first one after them.
    """
    if scale is None:
        return None if curve.ordinal or not len(curve) else curve.steps
    places = curve.x_of_rows(np.arange(len(curve)), scale)
    known = np.flatnonzero(np.isfinite(places))
    if not len(known):
        return None
    places = np.where(np.isfinite(places), places, -np.inf)
    places[: known[0]] = places[known[0]]
    ascending: Floats = np.maximum.accumulate(places)
    return ascending
