"""What the owner thread writes: the points of one metric of one stream, and the stream's other findings."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from msgspec import Struct, field

from tuimon.model.points import Fact
from tuimon.store.columns import PointColumns, Shared

UNTOLD = 1 << 62
"""Instead of a row in the store's table: of a preview, whose length no table tells."""


class Segments(NamedTuple):
    """Where the log says that segments of a metric start; see segments.Part."""

    cut_count: int
    purge_behind: int | None
    least: int
    """So it is while there are at least so many points."""
    borders: tuple[int, ...]
    purges: tuple[tuple[int, int], ...]


class Series:
    """One metric of one stream. Appended to by the owner thread alone."""

    __slots__ = ("columns", "cuts", "cuts_seen", "id", "name", "segments")

    def __init__(self, id: int, name: str, columns: PointColumns) -> None:
        self.id = id
        """Row in the store's table of lengths; ascends in the order in which series are found."""
        self.name = name
        """prefix + name as written."""
        self.columns = columns
        self.cuts: list[tuple[int, int]] = []
        """(count, position): `count` segment starts of the stream came before the point at `position`, not all of them
        before the one in front of it."""
        self.cuts_seen = 0
        self.segments: Segments | None = None
        """What readers worked out last; any of them may put it there."""

    def position(self, cut: int, length: int) -> int:
        """How many of the first `length` points came before segment start number `cut` (from 0) of the stream."""
        entry = bisect_right(self.cuts, cut, key=lambda one: one[0])
        return min(self.cuts[entry][1], length) if entry < len(self.cuts) else length


class Body(Struct, eq=False):
    """All that a stream holds since it was begun or last replaced. Its lists only grow; a snapshot keeps how far."""

    series: dict[int, Series] = field(default_factory=dict)
    """By the stream's own metric id."""
    shared: Shared = field(default_factory=Shared)
    cuts: list[int | None] = field(default_factory=list)
    """Segment starts: the step from which on earlier points are void, None where none is."""
    facts: dict[str, list[tuple[int, Fact]]] = field(default_factory=dict)
    """By topic: (number in order of arrival over the whole store, fact)."""
    point_count: int = 0
    first_wall_time: float = float("nan")
    last_wall_time: float = float("nan")
