"""One metric of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuimon.model.points import Floats, Indices, Steps
from tuimon.store import Curve
from tuimon.vocabulary import Meaning


class Metric:
    """The points of one metric of a run; unpacks into `steps, values, wall_times`.

    The arrays have equal length and are read-only views, ordered by step. Of two attempts that overlap, the later one
    counts from its first step on; NaN and infinite values are points.
    """

    __slots__ = ("_curve", "_meaning")

    def __init__(self, curve: Curve, meaning: Meaning) -> None:
        self._curve, self._meaning = curve, meaning

    @property
    def name(self) -> str:
        """Name as the best source writes it."""
        return self._curve.metric

    @property
    def steps(self) -> Steps:
        """int64, ascending."""
        return self._curve.steps

    @property
    def values(self) -> Floats:
        """float64."""
        return self._curve.values

    @property
    def wall_times(self) -> Floats:
        """float64, seconds since the epoch; NaN where the log does not say."""
        return self._curve.wall_times

    @property
    def restarts(self) -> Indices:
        """Positions at which a later attempt takes over."""
        return self._curve.restarts

    @property
    def superseded(self) -> int:
        """Number of points that a later attempt replaces, which are not among the points."""
        return self._curve.superseded

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources that hold the metric; the first is used, the others where it has no points."""
        return self._curve.sources

    @property
    def concept(self) -> str:
        """Concept that the metric measures, for example "reward.train"; "other" for an unknown name."""
        return self._meaning.concept

    @property
    def unit(self) -> str:
        return self._meaning.logged_unit

    @property
    def direction(self) -> str:
        """Which values are better: up | down | neutral | band."""
        return self._meaning.direction

    def __iter__(self) -> Iterator[Any]:
        return iter((self.steps, self.values, self.wall_times))

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self._curve)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        last = f", last {self.values[-1]:.6g} at step {self.steps[-1]}" if len(self) else ""
        return f"<Metric {self.name!r}: {len(self)} points{last}>"
