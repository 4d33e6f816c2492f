"""The phase that eats the step, in one sentence with its evidence.

What else moved is named only where it moved for sure, to the same side, and from step to step goes with the phase.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.shift import shift, together
from tuimon.analysis.trend import SIGNIFICANT
from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.model.views import Role, Row, Span
from tuimon.panels._select import by_concept, curve_or_none
from tuimon.panels._text import signed_percent, with_article
from tuimon.panels._timers import Drift, Reading
from tuimon.store import Run
from tuimon.vocabulary import classify

SLOWER = 0.2
"""A drift from which a phase is said to have become slower."""
_SAID = 0.05
_CAUSES = ("length.response", "length.prompt", "turns")
"""What the work of a step grows with."""
_LOOKED_AT = 500
"""Newest points of both that are compared."""


class Mover(Struct, frozen=True):
    """A metric that moves with a phase."""

    label: str
    ratio: float
    """How far it moved since the same step; 0.41: 41 % up."""
    rho: float
    """Rank correlation of the changes from step to step."""


def bottleneck(run: Run, readings: Sequence[Reading], step: int, whole: float, timed: bool) -> Row:
    """ "actor_train.train_step takes 61 % of a 96.6 s step, +38 % since step 200, with response length +41 %".

    whole: seconds of the step, by its own timer where `timed`.
    """
    top = [reading for reading in readings if not reading.timer.parent]
    most = max(top, key=spent, default=None)
    if most is None or not spent(most) or whole <= 0:
        return ()
    taken = spent(most)
    of = f"{with_article(format_duration(whole))} step" if timed else f"{format_duration(whole)} of timed phases"
    said: list[Span] = [
        (phase_name(most), Role.ACCENT),
        (f" takes {format_fraction(taken / whole)} of {of}", Role.TEXT),
    ]
    inner = [reading for reading in readings if reading.timer.parent == most.timer.metric and reading.present]
    biggest = max(inner, key=spent, default=None)
    if biggest is not None and taken / 2 <= spent(biggest) <= taken:
        said.append((f", {format_fraction(spent(biggest) / taken)} of it in {phase_name(biggest)}", Role.TEXT))
    drift = telling(most)
    if drift is not None:
        role = Role.WARNING if drift.ratio >= SLOWER else Role.TEXT
        said.append((f", {signed_percent(drift.ratio)} since step {drift.since}", role))
        mover = moves_with(run, most.timer.metric, drift, step)
        if mover is not None:
            said.append((f", with {mover.label} {signed_percent(mover.ratio)}", Role.TEXT))
    return tuple(said)


def spent(reading: Reading) -> float:
    """Seconds of the step that is shown; 0 for a phase that did not run in it."""
    return reading.now if reading.present and np.isfinite(reading.now) and reading.now > 0 else 0.0


def phase_name(reading: Reading) -> str:
    """With the domain, where several are trained at once."""
    phase = reading.timer.phase
    return f"{phase.domain}: {phase.name}" if phase.domain else phase.name


def telling(reading: Reading) -> Drift | None:
    """The drift worth saying: over the last hundred points, else since the start; None where neither is sure."""
    for drift in (reading.lately, reading.drift):
        if drift is not None and drift.sure and abs(drift.ratio) >= _SAID:
            return drift
    return None


def moves_with(run: Run, timer: str, drift: Drift, step: int) -> Mover | None:
    """What a phase's drift goes with best, None where nothing does."""
    curve = curve_or_none(run, timer)
    if curve is None:
        return None
    begin, end = np.searchsorted(curve.steps, (drift.since, step + 1)).tolist()
    inside = slice(max(begin, end - _LOOKED_AT), end)
    best: Mover | None = None
    for concept in _CAUSES:
        for metric in by_concept(run.metrics).get(concept, ())[:1]:
            other = curve_or_none(run, metric)
            if other is None or metric not in run.main_metrics:
                continue
            first, last = np.searchsorted(other.steps, (drift.since, step + 1)).tolist()
            moved = shift(other.values[:last], first)
            if moved is None or not moved.significant or moved.ratio * drift.ratio <= 0 or abs(moved.ratio) < _SAID:
                continue
            near = slice(max(first, last - _LOOKED_AT), last)
            rho, p_value = together(curve.steps[inside], curve.values[inside], other.steps[near], other.values[near])
            if rho > 0 and p_value < SIGNIFICANT and (best is None or rho > best.rho):
                best = Mover(classify(metric).label, moved.ratio, rho)
    return best
