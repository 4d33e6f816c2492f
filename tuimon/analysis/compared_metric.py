"""compared_metric(): the levels of a metric in several runs, each up to a step that another run has reached, too.

The levels are taken up to the last step that two runs have reached, or the last position on another axis (`places`). A
run that ended earlier is judged up to its own last step, so that one short run does not shorten the comparison of the
others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.comparison_axis import STEPS, ComparisonAxis, Place, place_text, places_of
from tuimon.analysis.level import Level, level, level_value
from tuimon.model.points import Floats, Steps
from tuimon.store import Curve
from tuimon.vocabulary import Meaning

_SAME_INTERVAL = 0.02
"""Relative difference of logging intervals up to which the last points of runs are at the same positions."""
_SAME = 1e-9
"""Relative difference of equal positions that are no steps: epochs are sums."""

Places = Steps | Floats
"""Positions of the points of a curve on an axis, which never fall."""


class ComparedMetric(Struct, frozen=True, eq=False):
    """A metric of several runs. Each tuple has one item for each run, None if the run has no such metric."""

    name: str
    meaning: Meaning
    levels: tuple[Level | None, ...]
    ends: tuple[Place | None, ...] = ()
    """Steps, or positions on another axis, up to which the levels are taken; None if the runs have none in common: then
    of all points."""
    curves: tuple[Curve | None, ...] = ()
    """Curves of the levels; empty if the levels cannot be taken up to other steps."""
    factors: tuple[float, ...] = ()
    """Numbers by which the values of the curves are multiplied."""
    in_steps: bool = True
    """Whether the steps are those of the runs; others, such as episodes, are at different places in each run."""
    places: tuple[Places | None, ...] = ()
    """Positions of the points of the curves on the axis; None if they are unknown."""
    axis: str = "step"
    """Axis of the positions, see `comparison_axis`."""
    is_aligned: bool = True
    """Whether the curves are logged at equal intervals.

    Otherwise the levels are means over different positions, so that the trend of a curve is a part of the difference of
    two levels and counts as noise.
    """

    def place_text(self, place: Place, word: str = "step") -> str:
        """Return a position as text, see `comparison_axis.place_text`."""
        return place_text(self.axis, place, word)

    def last_of(self, index: int) -> Place | None:
        """Return the position of the last point of a run; None if it is unknown."""
        places = self.places[index] if self.places else None
        return None if places is None else _last(places)

    def step_of_end(self, index: int) -> int | None:
        """Return the step of the last point of the level of a run; None if the runs have no steps in common."""
        end, curve = self.ends[index], self.curves[index]
        if end is None or curve is None or self.axis == "step":
            return None if end is None else int(end)
        return int(curve.steps[self._rows_until(index, end) - 1])

    def pair(self, one: int, other: int) -> tuple[Level, Level, Place | None]:
        """Return the levels of two runs up to the last step that both have reached, and this step if one went on."""
        own, base = self.levels[one], self.levels[other]
        if own is None or base is None:
            raise ValueError("a run without the metric has no level")
        a, b = (self.places[one], self.places[other]) if self.places else (None, None)
        step = None if a is None or b is None else _common((a, b))
        if a is None or b is None or step is None:
            return own, base, None
        until = step if max(_last(a), _last(b)) > step else None
        return self._until(one, step), self._until(other, step), until

    @property
    def comparable_step(self) -> Place | None:
        """Last step that all runs have reached, except those that have not reached half of it; None without steps."""
        return _comparable(self.places, self.ends) if self.places else None

    def comparable_step_of(self, runs: Sequence[int]) -> Place | None:
        """Return the `comparable_step` of the runs at these positions."""
        return _comparable([self.places[run] for run in runs], [self.ends[run] for run in runs])

    def levels_until(self, step: Place | None) -> tuple[Level | None, ...]:
        """Return the levels up to a step, None for runs that have not reached it; without a step those of the ends."""
        if step is None or not self.curves:
            return self.levels
        is_long = [end is not None and end >= step for end in self.ends]
        return tuple(self._until(index, step) if is_long[index] else None for index in range(len(self.levels)))

    def _until(self, index: int, step: Place) -> Level:
        """Return the level of a run with the metric up to a step."""
        own, curve = self.levels[index], self.curves[index]
        if curve is None:
            raise ValueError("a run without the metric has no level")
        if own is not None and self.ends[index] == step:
            return own
        return level(curve.values[: self._rows_until(index, step)] * self.factors[index], not self.is_aligned)

    def _rows_until(self, index: int, step: Place) -> int:
        places = self.places[index]
        if places is None:
            raise ValueError("the positions of the points are unknown")
        return _rows_until(places, step)


def compared_metric(
    name: str,
    meaning: Meaning,
    curves: Sequence[Curve | None],
    factors: Sequence[float] = (),
    in_steps: bool = True,
    axis: ComparisonAxis = STEPS,
) -> ComparedMetric:
    """Compare a metric of several runs. curves: at least one point each; None for a run that has no such metric."""
    places, ends = _places_and_ends(curves, axis)
    known = [own for own, curve in zip(places, curves, strict=True) if curve is not None]
    multiples = tuple(factors) or (1.0,) * len(curves)
    is_aligned = _have_equal_intervals(known)
    levels = tuple(
        None
        if curve is None
        else level(
            (curve.values if own is None or end is None else curve.values[: _rows_until(own, end)]) * factor,
            not is_aligned,
        )
        for curve, own, end, factor in zip(curves, places, ends, multiples, strict=True)
    )
    return ComparedMetric(
        name, meaning, levels, ends, tuple(curves), multiples, in_steps, places, axis.name, is_aligned
    )


def _places_and_ends(
    curves: Sequence[Curve | None], axis: ComparisonAxis
) -> tuple[tuple[Places | None, ...], tuple[Place | None, ...]]:
    """Return `places` and `ends` of a ComparedMetric."""
    scales = axis.scales or (None,) * len(curves)
    places = tuple(
        None if curve is None else places_of(curve, scale) for curve, scale in zip(curves, scales, strict=True)
    )
    last = _last_of_two([own for own, curve in zip(places, curves, strict=True) if curve is not None])
    return places, tuple(None if own is None or last is None else min(_last(own), last) for own in places)


def _have_equal_intervals(places: Sequence[Places | None]) -> bool:
    """Return whether the mean intervals of curves with several points are equal."""
    intervals = [(own[-1] - own[0]) / (len(own) - 1) for own in places if own is not None and len(own) > 1]
    return not intervals or max(intervals) <= min(intervals) * (1 + _SAME_INTERVAL)


def _last(places: Places) -> Place:
    last: Place = places[-1].item()
    return last


def _rows_until(places: Places, place: Place) -> int:
    """Return the number of points up to a position."""
    limit = place if isinstance(place, int) else place + abs(place) * _SAME
    return int(np.searchsorted(places, limit, "right"))


def _common(places: Sequence[Places]) -> Place | None:
    """Return the last position that all curves have reached; None if they have none in common."""
    last = min(map(_last, places))
    return last if last >= max(own[0] for own in places) else None


def _last_of_two(places: Sequence[Places | None]) -> Place | None:
    """Return the last position that two curves have reached; None if they have none in common or one is unknown."""
    known = sorted((own for own in places if own is not None), key=lambda own: -own[-1])
    return _common(known[:2]) if len(known) > 1 and len(known) == len(places) else None


def _comparable(places: Sequence[Places | None], ends: Sequence[Place | None]) -> Place | None:
    """Return the last position that all runs have reached, without those that ended before half of the others.

    ends: last position of each run, or the last one that two of them have reached; None if they have none in common.
    """
    pairs = [(own[0].item(), end) for own, end in zip(places, ends, strict=True) if own is not None and end is not None]
    if not pairs:
        return None
    first, last = min(start for start, _ in pairs), max(end for _, end in pairs)
    return min(end for _, end in pairs if 2 * (end - first) >= last - first)


def comparable_values(
    curves: Sequence[Curve | None], factors: Sequence[float], levels: Sequence[float | None]
) -> list[float | None]:
    """Return the values of the levels up to the `comparable_step`; None for runs that have not reached it.

    levels: those up to the last step that two runs have reached, which are returned if all runs end at the same step.
    """
    places, ends = _places_and_ends(curves, STEPS)
    step = _comparable(places, ends)
    if step is None or all(end is None or end == step for end in ends):
        return list(levels)
    return [
        level_until(curve, int(step)) * factor if curve is not None and end is not None and end >= step else None
        for curve, factor, end in zip(curves, factors, ends, strict=True)
    ]


def level_until(curve: Curve, step: int | None) -> float:
    """Return the value of the level of a curve up to a step, or at its end, without its error.

    4,000 curves of 1,000 points take 0.05 s instead of 1.6 s, and only the last points of each are read.
    """
    return level_value(curve.values if step is None else curve.values[: curve.row_after(step)])


def last_step_of_two(curves: Sequence[Curve | None]) -> int | None:
    """Return the last step that two curves have reached; None if they have none in common or log no steps."""
    last = _last_of_two([places_of(curve, None) for curve in curves if curve is not None])
    return None if last is None else int(last)
