"""One metric of one run, ready to be drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.model.points import Floats, Steps
from tuimon.model.views import Envelope
from tuimon.store import envelope as columns_of
from tuimon.store.axes import Scale, named
from tuimon.store.blocks import Means
from tuimon.store.compare import Disagreement
from tuimon.store.curve_index import CurveIndex
from tuimon.store.moments import Moments
from tuimon.store.tally import Indices, Tally

Number = TypeVar("Number", bound=np.generic)

_NO_RESTARTS: Indices = np.empty(0, np.int64)


def same_time(one: float, other: float) -> bool:
    """Whether two times are the same, or both unknown."""
    return one == other or (one != one and other != other)


class Sample(NamedTuple):
    """One point of a curve."""

    step: int
    value: float
    wall_time: float


class _TimeOrder(Struct, eq=False):
    """A curve's points in order of wall time, without those that have none."""

    times: Floats
    values: Floats
    restarts: Indices
    tally: Tally
    index: CurveIndex


class Curve(Struct, frozen=True, eq=False):
    """The points of one metric that are drawn, by ascending step. Frozen, cheap; `Curve.of` makes one from arrays."""

    metric: str
    steps: Steps
    """int64 (n,), ascending; equal steps in the order in which they were logged. Read-only, as all arrays here."""
    values: Floats
    """float64 (n,); NaN and infinities are points."""
    wall_times: Floats
    """float64 (n,): seconds since the epoch, NaN where the log does not say."""
    restarts: Indices
    """int64: positions, not 0, at which a later segment takes over."""
    superseded: int
    """Points that a later segment hides, or that the log took back."""
    sources: tuple[str, ...]
    """Names of the sources that hold this metric, the best first: it is drawn, and the others where it has no point."""
    origin: float
    """Wall time at which the run begins: 0 of the axis "duration"; NaN if unknown."""
    tally: Tally
    _index: CurveIndex
    filled: int = 0
    """Points that come from another source than the first, which has none there."""
    gap: int = -1
    """The one of `restarts` that is none: what lies before it has not been read yet. -1: there is no such."""
    _hidden: Callable[[], tuple[Steps, Floats, Floats]] | None = None
    _disagreement: Callable[[], Disagreement | None] | None = None
    _disagreed: list[Disagreement | None] = field(default_factory=list)
    _by_time: list[_TimeOrder | None] = field(default_factory=list)
    _ghosts: list[Curve] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        metric: str,
        steps: Steps,
        values: Floats,
        wall_times: Floats | None = None,
        *,
        index: CurveIndex | None = None,
        restarts: Indices | None = None,
        superseded: int = 0,
        sources: tuple[str, ...] = (),
        origin: float | None = None,
        hidden: Callable[[], tuple[Steps, Floats, Floats]] | None = None,
        disagreement: Callable[[], Disagreement | None] | None = None,
        filled: int = 0,
        gap: int = -1,
        ghosts: list[Curve] | None = None,
    ) -> Curve:
        """A curve over arrays of equal length, which are not copied; steps must ascend. ghosts: where what is made of
        the superseded points is kept, for other curves that have the same ones."""
        if wall_times is None:
            wall_times = np.full(len(steps), np.nan)
        restarts = _NO_RESTARTS if restarts is None else restarts
        index = index or CurveIndex()
        if origin is None:
            known = wall_times[np.isfinite(wall_times)]
            origin = float(known.min()) if len(known) else float("nan")
        tally = index.tally(values)
        return cls(
            metric,
            _read_only(steps),
            _read_only(values),
            _read_only(wall_times),
            _read_only(restarts),
            superseded,
            sources,
            origin,
            tally,
            index,
            filled,
            gap,
            hidden,
            disagreement,
            _ghosts=[] if ghosts is None else ghosts,
        )

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def lineage(self) -> object:
        """The same object for all curves over one growing column: each of them begins with the shorter ones."""
        return self._index

    @property
    def nan_count(self) -> int:
        """How many of the values are NaN."""
        return self.tally.nan_count

    @property
    def infinity_count(self) -> int:
        """How many are +Inf or -Inf."""
        return self.tally.infinity_count

    @property
    def finite_count(self) -> int:
        """How many are neither."""
        return len(self) - self.nan_count - self.infinity_count

    @property
    def ordinal(self) -> bool:
        """True when all points, more than one, have the same step: a log without steps. Its x is 0, 1, 2 …"""
        return len(self.steps) > 1 and bool(self.steps[0] == self.steps[-1])

    @property
    def first(self) -> Sample | None:
        """The first finite point; None when there is none. So are the three that follow."""
        return self._sample(int(self.tally.finite_from(np.zeros(1, np.int64))[0]))

    @property
    def last(self) -> Sample | None:
        """The last finite point."""
        return self._sample(int(self.tally.finite_until(np.array([len(self) - 1]))[0]))

    @property
    def min(self) -> Sample | None:
        """The lowest finite point, the first of them."""
        return self._sample(self.tally.lowest)

    @property
    def max(self) -> Sample | None:
        """The highest finite point, the first of them."""
        return self._sample(self.tally.highest)

    def _sample(self, at: int) -> Sample | None:
        if not 0 <= at < len(self):
            return None
        return Sample(int(self.steps[at]), float(self.values[at]), float(self.wall_times[at]))

    def value_at(self, step: int) -> float:
        """The value that stood at `step`: that of the last point at or before it; NaN before the first."""
        found = self.sample_at(step)
        return found.value if found is not None else float("nan")

    def sample_at(self, step: int) -> Sample | None:
        """The last point at or before `step`, finite or not; None before the first. In an ordinal curve the points are
        counted instead: its steps tell nothing."""
        return self._sample(min(step, len(self) - 1) if self.ordinal else self._row_until(step))

    def row_after(self, step: int) -> int:
        """The first point behind `step`; the number of points where none is."""
        return min(step + 1, len(self)) if self.ordinal else self._row_until(step) + 1

    def row_before(self, step: int) -> int:
        """The last point of the last step before `step`; -1 where none is."""
        return step - 1 if self.ordinal else self._row_until(step - 1)

    def _row_until(self, step: int) -> int:
        return int(np.searchsorted(self.steps, step, "right")) - 1

    @property
    def moments(self) -> Moments:
        """Mean and deviation of the finite values."""
        return self._index.moments(self.values)

    @property
    def disagreement(self) -> Disagreement | None:
        """Where another source of the metric first says something else than what is drawn; None when none does, or
        there is no other. Worked out at the first call."""
        return self.find_disagreement()

    def find_disagreement(self) -> Disagreement | None:
        """The same."""
        if not self._disagreed:
            self._disagreed.append(self._disagreement() if self._disagreement else None)
        return self._disagreed[0]

    def superseded_points(self) -> tuple[Steps, Floats, Floats]:
        """Steps, values and wall times of the points that are not drawn, in logged order. Worked out at each call."""
        return self._hidden() if self._hidden else (np.empty(0, np.int64), np.empty(0), np.empty(0))

    @property
    def ghost(self) -> Curve | None:
        """The superseded points as a curve by ascending step; None where there is none."""
        if not self.superseded or self.ordinal:
            return None
        if not self._ghosts or not same_time(self._ghosts[0].origin, self.origin):
            steps, values, wall_times = self.superseded_points()
            order = np.argsort(steps, kind="stable")
            made = Curve.of(self.metric, steps[order], values[order], wall_times[order], origin=self.origin)
            self._ghosts[:] = [made]
        return self._ghosts[0]

    def limits(self, axis: str | Scale = "step") -> tuple[float, float] | None:
        """Where the first and the last point stand on an axis; None when none does."""
        scale = _scale(axis)
        if scale.is_time:
            times, zero = self._times().times, self._zero(scale)
            return (float(times[0] - zero), float(times[-1] - zero)) if len(times) else None
        if not (self.ordinal or scale.is_counter):
            return (float(self.steps[0]) - scale.zero, float(self.steps[-1]) - scale.zero) if len(self) else None
        x = self.x_of(np.array([0, len(self) - 1]), scale) if len(self) else np.empty(0)
        if scale.is_counter and len(x) and np.isnan(x[0]) and not np.isnan(x[1]):
            x[0] = scale.counts[0]
        return (float(x[0]), float(x[1])) if len(x) and np.isfinite(x).all() else None

    def x_of(self, rows: Indices, axis: str | Scale = "step") -> Floats:
        """Where the points of these rows stand; NaN for those that stand nowhere."""
        scale = _scale(axis)
        if scale.is_time:
            return np.asarray(self.wall_times[rows] - self._zero(scale))
        if self.ordinal and not scale.is_counter:
            return rows.astype(np.float64)
        return scale.at(self.steps[rows])

    def x_at(self, step: int, axis: str | Scale = "step") -> float:
        """Where a step stands, though it may have no point: by time, where the next point, or else the last, does."""
        return float(self.xs_at(np.array([step]), axis)[0])

    def xs_at(self, steps: Steps, axis: str | Scale = "step") -> Floats:
        """The same of several steps, as an array of their length."""
        scale = _scale(axis)
        if not scale.is_time:
            return scale.at(steps)
        if not len(self):
            return np.full(len(steps), np.nan)
        rows = np.minimum(np.searchsorted(self.steps, steps, "left"), len(self) - 1)
        return self.x_of(rows, scale)

    def row_near(self, x: float, axis: str | Scale = "step") -> int:
        """The last point that stands at or before x, else the first; by wall times that are not in order, the nearest.
        For a curve that has a point."""
        scale = _scale(axis)
        if scale.is_time and self._times().times is self.wall_times:
            row = int(np.searchsorted(self.wall_times, x + self._zero(scale), "right")) - 1
        elif scale.is_time:
            apart = np.abs(self.wall_times - (x + self._zero(scale)))
            row = int(np.nanargmin(apart)) if np.isfinite(apart).any() else 0
        elif scale.is_counter:
            at = int(np.searchsorted(scale.counts, x, "right")) - 1
            row = self._row_until(int(scale.steps[at])) if at >= 0 else 0
        else:
            row = int(np.floor(x)) if self.ordinal else self._row_until(int(np.floor(x)) + scale.zero)
        return min(max(row, 0), len(self) - 1)

    def means(self, low: float, high: float, most: int, before: int = 0, axis: str | Scale = "step") -> Means:
        """What lies between two x values, with a neighbour at both sides, as the means of at most `most` + 2 blocks of
        points, and of up to `before` blocks before them. Points that stand nowhere on the axis are left out."""
        scale = _scale(axis)
        begin, *_, end = self._edges(low, high, 1, scale).tolist()
        times = self._times() if scale.is_time else None
        index, column = (times.index, times.values) if times else (self._index, self.values)
        rows, values, block = index.means(column, begin, end, most, before)
        x = times.times[rows] - self._zero(scale) if times else self.x_of(rows, scale)
        known = np.isfinite(x)
        return Means(x[known], values[known], block)

    def points_inside(self, low: float, high: float, axis: str | Scale = "step") -> int:
        """How many points have low <= x <= high."""
        edges = self._edges(low, high, 1, axis)
        return int(edges[-1] - edges[0])

    def envelope(self, low: float, high: float, columns: int, axis: str | Scale = "step") -> Envelope:
        """The curve between two x values as `columns` columns of equal width, each with its right border left out but
        for the last. Exact: a column's low and high are those of the points in it, however many they are.

        axis: step | time (wall time) | duration (seconds since `origin`), or any that Run.scale gives. ValueError for
        another one, and unless low < high are finite and columns >= 1.
        """
        scale = _scale(axis)
        edges = self._edges(low, high, columns, scale)
        if not scale.is_time:
            return self._index.reduce(self.values, edges, self.restarts, self.tally)
        by_time = self._times()
        return by_time.index.reduce(by_time.values, edges, by_time.restarts, by_time.tally)

    def _edges(self, low: float, high: float, columns: int, axis: str | Scale) -> Indices:
        scale = _scale(axis)
        if not (scale.is_counter or scale.is_time or self.ordinal):
            return columns_of.step_edges(self.steps, low, high, columns, scale.zero)
        borders = columns_of.borders(low, high, columns)
        if scale.is_counter:
            return scale.edges(self.steps, borders)
        if not scale.is_time:
            return columns_of.ordinal_edges(len(self), borders)
        times = self._times().times
        if len(times) == 0:
            return np.zeros(columns + 1, np.int64)
        return columns_of.time_edges(times, borders + self._zero(scale))

    def _zero(self, scale: Scale) -> float:
        return self.origin if scale.name == "duration" and np.isfinite(self.origin) else 0.0

    def _times(self) -> _TimeOrder:
        if not self._by_time:
            self._by_time.append(self._order_by_time())
        found = self._by_time[0]
        return (
            _TimeOrder(self.wall_times, self.values, self.restarts, self.tally, self._index) if found is None else found
        )

    def _order_by_time(self) -> _TimeOrder | None:
        """None when the points are in order of wall time as they are."""
        times = self.wall_times
        if len(times) == 0 or bool((times[1:] >= times[:-1]).all() and np.isfinite(times[[0, -1]]).all()):
            return None
        rows = np.flatnonzero(np.isfinite(times))
        rows = rows[np.argsort(times[rows], kind="stable")]
        values, index = self.values[rows], CurveIndex()
        restarts = np.flatnonzero(np.isin(rows, self.restarts))
        return _TimeOrder(times[rows], values, restarts[restarts > 0], index.tally(values), index)


def _scale(axis: str | Scale) -> Scale:
    return axis if isinstance(axis, Scale) else named(axis)


def _read_only(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    view = array[:]
    view.flags.writeable = False
    return view
