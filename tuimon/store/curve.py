"""One metric of one run, ready to be drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tuimon.model.points import Floats, Indices, Steps
from tuimon.model.views import Envelope
from tuimon.store import envelope
from tuimon.store.aggregates import Tally
from tuimon.store.axes import Scale, standard_scale
from tuimon.store.block_sums import BlockMeans
from tuimon.store.curve_index import CurveIndex

Number = TypeVar("Number", bound=np.generic)

_NO_RESTARTS: Indices = np.empty(0, np.int64)
_NO_VALUES = np.empty(0), np.empty(0)


MOST_WITHIN = 1 << 17
"""Maximum number of points of `Curve.within`."""


def same_time(time: float, other: float) -> bool:
    """Return whether two times are equal, or both unknown (NaN)."""
    return time == other or (time != time and other != other)


class SupersededPoints(NamedTuple):
    """Points that are not drawn, in logged order."""

    steps: Steps
    values: Floats
    wall_times: Floats
    segments: Indices
    """Number of the segment of each point."""
    hiding_steps: Steps
    """Step at which the segment that hides each point takes over."""


Superseded: TypeAlias = Callable[[], SupersededPoints]
"""Returns superseded points."""


class Disagreement(NamedTuple):
    """A metric has different values in two sources."""

    step: int
    """First step at which they differ."""
    here: float
    """Value as drawn."""
    there: float
    """Value in the other source."""
    source: str
    """Name of the other source."""
    steps: int
    """Number of steps at which they differ."""


class CurvePoint(NamedTuple):
    """One point of a curve."""

    step: int
    value: float
    wall_time: float


class _TimeOrder(Struct, eq=False):
    """Points of a curve with known wall times, sorted by wall time."""

    times: Floats
    values: Floats
    restarts: Indices
    tally: Tally
    index: CurveIndex


class Curve(Struct, frozen=True, eq=False, weakref=True):
    """Points of one metric as drawn, by ascending step. Immutable; `Curve.from_arrays` builds one from arrays."""

    metric: str
    steps: Steps
    """int64 (n,), ascending; equal steps in the order in which they were logged. Read-only, as all arrays here."""
    values: Floats
    """float64 (n,); NaN and infinities are points."""
    wall_times: Floats
    """float64 (n,): seconds since the epoch, NaN if the log does not say."""
    restarts: Indices
    """int64: positions, not 0, at which a later segment takes over."""
    superseded: int
    """Number of points that a later segment hides, or that the log voided."""
    sources: tuple[str, ...]
    """Names of the sources that hold this metric. The first is drawn, and the others where it has no points."""
    origin: float
    """Wall time at which the run begins, the 0 of the axis "duration"; NaN if unknown."""
    tally: Tally
    _index: CurveIndex
    filled: int = 0
    """Number of points that come from other sources than the first."""
    _read_superseded: Superseded | None = None
    _time_order: list[_TimeOrder | None] = field(default_factory=list)
    """Points by wall time, once computed; None if the curve itself is in that order."""
    _superseded_curve: list[Curve] = field(default_factory=list)
    """Curve of the superseded points, once computed. Curves with the same superseded points share the list."""

    @classmethod
    def from_arrays(
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
        read_superseded: Superseded | None = None,
        filled: int = 0,
        superseded_curve: list[Curve] | None = None,
    ) -> Curve:
        """Return a curve over arrays of equal length, which are not copied; steps must ascend.

        superseded_curve: list in which the curve of the superseded points is kept for other curves that have the same
        ones.
        """
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
            read_superseded,
            _superseded_curve=[] if superseded_curve is None else superseded_curve,
        )

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def lineage(self) -> object:
        """An object shared by all curves over one growing column, the longer of which begin with the shorter ones."""
        return self._index

    @property
    def nan_count(self) -> int:
        """Number of values that are NaN."""
        return self.tally.nan_count

    @property
    def infinity_count(self) -> int:
        """Number of values that are +Inf or -Inf."""
        return self.tally.infinity_count

    @property
    def finite_count(self) -> int:
        """Number of finite values."""
        return len(self) - self.nan_count - self.infinity_count

    @property
    def ordinal(self) -> bool:
        """Whether the log has no steps: all points, at least two, have the same step. x is then the row number."""
        return len(self.steps) > 1 and bool(self.steps[0] == self.steps[-1])

    @property
    def first(self) -> CurvePoint | None:
        """First finite point, or None."""
        return self._sample(int(self.tally.finite_from(np.zeros(1, np.int64))[0]))

    @property
    def last(self) -> CurvePoint | None:
        """Last finite point, or None."""
        return self._sample(int(self.tally.finite_until(np.array([len(self) - 1]))[0]))

    @property
    def min(self) -> CurvePoint | None:
        """First of the lowest finite points, or None."""
        return self._sample(self.tally.lowest)

    @property
    def max(self) -> CurvePoint | None:
        """First of the highest finite points, or None."""
        return self._sample(self.tally.highest)

    def _sample(self, row: int) -> CurvePoint | None:
        if not 0 <= row < len(self):
            return None
        return CurvePoint(int(self.steps[row]), float(self.values[row]), float(self.wall_times[row]))

    def value_at(self, step: int) -> float:
        """Return the value of the last point at or before `step`; NaN before the first point."""
        sample = self.sample_at(step)
        return sample.value if sample is not None else float("nan")

    def sample_at(self, step: int) -> CurvePoint | None:
        """Return the last point at or before `step`, finite or not; None before the first point.

        In an ordinal curve `step` is the number of the point.
        """
        return self._sample(min(step, len(self) - 1) if self.ordinal else self._row_until(step))

    def row_after(self, step: int) -> int:
        """Return the row of the first point after `step`, or the number of points if no point follows."""
        return min(step + 1, len(self)) if self.ordinal else self._row_until(step) + 1

    def row_before(self, step: int) -> int:
        """Return the row of the last point before `step`, or -1."""
        return step - 1 if self.ordinal else self._row_until(step - 1)

    def _row_until(self, step: int) -> int:
        return int(np.searchsorted(self.steps, step, "right")) - 1

    def superseded_points(self) -> SupersededPoints:
        """Return the points not drawn, in logged order. Computed at each call."""
        none = np.empty(0, np.int64)
        return self._read_superseded() if self._read_superseded else SupersededPoints(none, *_NO_VALUES, none, none)

    def superseded_at(self, step: int) -> CurvePoint | None:
        """Return the superseded point at a step, the last one logged if there are several; None without one."""
        hidden = self.superseded_curve
        sample = hidden._sample(hidden._row_until(step)) if hidden is not None else None
        return sample if sample is not None and sample.step == step else None

    @property
    def superseded_curve(self) -> Curve | None:
        """Superseded points as a curve by ascending step, with a border between points of different segments; None
        without such points."""
        if not self.superseded or self.ordinal:
            return None
        if not self._superseded_curve or not same_time(self._superseded_curve[0].origin, self.origin):
            steps, values, wall_times, segments, _ = self.superseded_points()
            order = np.argsort(steps, kind="stable")
            restarts = np.flatnonzero(np.diff(segments[order])) + 1
            points = steps[order], values[order], wall_times[order]
            self._superseded_curve[:] = [Curve.from_arrays(self.metric, *points, restarts=restarts, origin=self.origin)]
        return self._superseded_curve[0]

    def limits(self, axis: str | Scale = "step") -> tuple[float, float] | None:
        """Return the positions of the first and the last point on an axis; None if no point has a position."""
        scale = _scale(axis)
        if scale.is_time:
            times, zero = self._by_time().times, self._zero(scale)
            return (float(times[0] - zero), float(times[-1] - zero)) if len(times) else None
        if not (self.ordinal or scale.is_counter):
            return (float(self.steps[0]) - scale.zero, float(self.steps[-1]) - scale.zero) if len(self) else None
        x = self.x_of_rows(np.array([0, len(self) - 1]), scale) if len(self) else np.empty(0)
        if scale.is_counter and len(x) and np.isnan(x[0]) and not np.isnan(x[1]):
            x[0] = scale.counts[0]
        return (float(x[0]), float(x[1])) if len(x) and np.isfinite(x).all() else None

    def x_of_rows(self, rows: Indices, axis: str | Scale = "step") -> Floats:
        """Return the positions of the points in these rows; NaN for points without a position on the axis."""
        scale = _scale(axis)
        if scale.is_time:
            return np.asarray(self.wall_times[rows] - self._zero(scale))
        if self.ordinal and not scale.is_counter:
            return rows.astype(np.float64)
        return scale.positions(self.steps[rows])

    def x_of_step(self, step: int, axis: str | Scale = "step") -> float:
        """Return the position of a step, which may have no point.

        On a time axis it is that of the next point, or of the last point if there is no next one.
        """
        return float(self.x_of_steps(np.array([step]), axis)[0])

    def x_of_steps(self, steps: Steps, axis: str | Scale = "step") -> Floats:
        """Return the positions of steps, float64 of the same length; see x_of_step."""
        scale = _scale(axis)
        if not scale.is_time:
            return scale.positions(steps)
        if not len(self):
            return np.full(len(steps), np.nan)
        rows = np.minimum(np.searchsorted(self.steps, steps, "left"), len(self) - 1)
        return self.x_of_rows(rows, scale)

    def row_near(self, x: float, axis: str | Scale = "step") -> int:
        """Return the row of the last point at or before x, or 0 if all are after x. The curve must have a point.

        On a time axis, if wall times are not in order, it is the row of the nearest point.
        """
        scale = _scale(axis)
        if scale.is_time and (by_time := self._by_time()).values is self.values:
            row = int(np.searchsorted(by_time.times, x + self._zero(scale), "right")) - 1
        elif scale.is_time:
            distance = np.abs(self.wall_times - (x + self._zero(scale)))
            row = int(np.nanargmin(distance)) if np.isfinite(distance).any() else 0
        elif scale.is_counter:
            count = int(np.searchsorted(scale.counts, x, "right"))  # steps up to the next count have the position
            row = len(self) - 1 if count == len(scale.steps) else self._row_until(int(scale.steps[count]) - 1)
            row = row if count else 0
        else:
            row = int(np.floor(x)) if self.ordinal else self._row_until(int(np.floor(x)) + scale.zero)
        return min(max(row, 0), len(self) - 1)

    def block_means(
        self, low: float, high: float, most: int, before: int = 0, axis: str | Scale = "step"
    ) -> BlockMeans:
        """Return means over blocks of the points between two x values, with a neighbour on both sides.

        There are at most `most` + 2 blocks, and up to `before` blocks in front of them. Points without a position on
        the axis are left out.
        """
        scale = _scale(axis)
        begin, *_, end = self._edges(low, high, 1, scale).tolist()
        by_time = self._by_time() if scale.is_time else None
        index, column = (by_time.index, by_time.values) if by_time else (self._index, self.values)
        rows, values, block = index.block_means(column, begin, end, most, before)
        x = by_time.times[rows] - self._zero(scale) if by_time else self.x_of_rows(rows, scale)
        known = np.isfinite(x)
        return BlockMeans(x[known], values[known], block)

    def count_within(self, low: float, high: float, axis: str | Scale = "step") -> int:
        """Return the number of points with low <= x <= high."""
        edges = self._edges(low, high, 1, axis)
        return int(edges[-1] - edges[0])

    def within(self, low: float, high: float, axis: str | Scale = "step") -> Curve | None:
        """Return the points with low <= x <= high as a curve, by ascending step; its other properties are the default.

        It is computed from all of these points at each call, so that None is returned for more than MOST_WITHIN: 2 ms.
        """
        scale = _scale(axis)
        by_time = scale.is_time and self._by_time().values is not self.values
        if (len(self) if by_time else self.count_within(low, high, scale)) > MOST_WITHIN:
            return None
        if by_time:
            x = self.wall_times - self._zero(scale)
            rows: slice | npt.NDArray[np.bool_] = (low <= x) & (x <= high)
        else:
            begin, end = self._edges(low, high, 1, scale).tolist()
            rows = slice(begin, end)
        return self._cut(rows)

    def _cut(self, rows: slice | npt.NDArray[np.bool_]) -> Curve:
        return Curve.from_arrays(
            self.metric,
            self.steps[rows],
            self.values[rows],
            self.wall_times[rows],
            sources=self.sources,
            origin=self.origin,
        )

    def in_steps(self, first: int, last: int) -> Curve:
        """Return the points from step `first` to step `last`, both included; other properties as of `within`."""
        begin, end = np.searchsorted(self.steps, first, "left"), np.searchsorted(self.steps, last, "right")
        return self._cut(slice(int(begin), int(end)))

    def envelope(self, low: float, high: float, bins: int, axis: str | Scale = "step") -> Envelope:
        """Reduce the curve between two x values to bins of equal width, each without its upper border but the last.

        The low and high of a bin are exact, however many points it has. axis: step | time (wall time) | duration
        (seconds since `origin`), or a Scale from Run.scale. Raises ValueError for other axes, and unless low < high are
        finite and bins >= 1.
        """
        scale = _scale(axis)
        edges = self._edges(low, high, bins, scale)
        if not scale.is_time:
            return self._index.reduce(self.values, edges, self.restarts, self.tally)
        by_time = self._by_time()
        return by_time.index.reduce(by_time.values, edges, by_time.restarts, by_time.tally)

    def _edges(self, low: float, high: float, bins: int, axis: str | Scale) -> Indices:
        scale = _scale(axis)
        if not (scale.is_counter or scale.is_time or self.ordinal):
            return envelope.step_edges(self.steps, low, high, bins, scale.zero)
        borders = envelope.borders(low, high, bins)
        if scale.is_counter:
            return scale.edges(self.steps, borders)
        if not scale.is_time:
            return envelope.ordinal_edges(len(self), borders)
        times = self._by_time().times
        if len(times) == 0:
            return np.zeros(bins + 1, np.int64)
        return envelope.time_edges(times, borders + self._zero(scale))

    def _zero(self, scale: Scale) -> float:
        return self.origin if scale.name == "duration" and np.isfinite(self.origin) else 0.0

    def _by_time(self) -> _TimeOrder:
        """Return the points sorted by wall time; `values` is that of the curve if they are in that order."""
        if not self._time_order:
            self._time_order.append(self._sort_by_time(self.wall_times))
        order = self._time_order[0]
        if order is None:
            return _TimeOrder(self.wall_times, self.values, self.restarts, self.tally, self._index)
        return order

    def _sort_by_time(self, times: Floats) -> _TimeOrder | None:
        """Return the points sorted by these times, or None if they are in that order already."""
        if len(times) == 0 or bool((times[1:] >= times[:-1]).all() and np.isfinite(times[[0, -1]]).all()):
            return None
        rows = np.flatnonzero(np.isfinite(times))
        rows = rows[np.argsort(times[rows], kind="stable")]
        values, index = self.values[rows], CurveIndex()
        restarts = np.flatnonzero(np.isin(rows, self.restarts))
        return _TimeOrder(times[rows], values, restarts[restarts > 0], index.tally(values), index)


def _scale(axis: str | Scale) -> Scale:
    return axis if isinstance(axis, Scale) else standard_scale(axis)


def _read_only(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    view = array[:]
    view.flags.writeable = False
    return view
