"""What a panel gives and a drawing is made of: plain data, already reduced to the width of the screen.

A panel turns a snapshot into a view, `draw` turns a view into rows, a front end turns rows into its own strips
or prints them. A row is a tuple of spans; the cells of a row sum to the width asked for.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from tuimon.model.points import Floats


class Role(StrEnum):
    """What a piece of text is, never how it looks: a theme decides that."""

    TEXT = "text"
    TITLE = "title"
    VALUE = "value"
    MUTED = "muted"
    AXIS = "axis"
    GOOD = "good"
    WARNING = "warning"
    CRITICAL = "critical"
    ACCENT = "accent"
    SERIES_0 = "series-0"
    SERIES_1 = "series-1"
    SERIES_2 = "series-2"
    SERIES_3 = "series-3"
    SERIES_4 = "series-4"
    SERIES_5 = "series-5"
    SERIES_6 = "series-6"
    SERIES_7 = "series-7"
    FAINT = "faint"
    HEAT_0 = "heat-0"
    HEAT_1 = "heat-1"
    HEAT_2 = "heat-2"
    HEAT_3 = "heat-3"
    HEAT_4 = "heat-4"
    HEAT_5 = "heat-5"


SERIES_ROLES = tuple(Role(f"series-{i}") for i in range(8))
HEAT_ROLES = tuple(Role(f"heat-{i}") for i in range(6))

Span: TypeAlias = tuple[str, Role]
Row: TypeAlias = tuple[Span, ...]
Rows: TypeAlias = tuple[Row, ...]


class Symbols(StrEnum):
    """What charts are drawn with; chosen by the terminal's locale, or by the user."""

    BRAILLE = "braille"
    BLOCK = "block"
    ASCII = "ascii"


class Size(Struct, frozen=True):
    """In cells."""

    width: int
    height: int


class Axis(Struct, frozen=True):
    """The limits of a chart along x or y, in data units; low < high, both finite."""

    low: float
    high: float
    scale: str = "linear"
    """linear | log (base 10, positive values only) | symlog (linear from -threshold to threshold, log beyond)."""
    kind: str = "number"
    """number | step | time (seconds since the epoch) | duration (seconds) | fraction | bytes."""
    label: str = ""
    """The unit or the name of the axis; "" draws none."""
    threshold: float = 1.0
    """> 0; of a symlog axis."""


class Envelope(Struct, frozen=True, eq=False):
    """A curve reduced to columns: what falls into column i lies between low[i] and high[i].

    All float64 of the same length; NaN in a column without a finite point. first and last are the first and
    last finite value of the column in x order: neighbours are joined from last[i] to first[j].
    `gap_after[i]` is true when a non-finite point or a segment border follows column i's last point, so no line
    may be drawn from it to the next non-empty column.
    """

    low: Floats
    high: Floats
    first: Floats
    last: Floats
    gap_after: Floats
    """1.0 or 0.0."""


class Line(Struct, frozen=True, eq=False):
    """One curve of a chart."""

    label: str
    role: Role
    envelope: Envelope
    markers: bool = False
    """True: mark each column that has a point (sparse series such as validation), joined by the line."""
    filled: bool = False
    """True: the area between the envelope's low and high is filled; layers upon each other make a stacked area."""
    behind: bool = False
    """True: lies behind the other lines, whose cells hide it: raw values behind their average, superseded points."""
    metric: str = ""
    """The metric it shows, as logged; "" unknown."""
    glyph: str = ""
    """What tells it from others without colour: one cell wide, in the legend and here and there on the line."""


class Mark(Struct, frozen=True):
    """Something that happened at an x position."""

    x: float
    kind: str
    """nan | infinity | best | restart | alert | evaluation | checkpoint."""
    label: str = ""


class ChartView(Struct, frozen=True, eq=False):
    """A chart of one or more curves."""

    title: str
    headline: Row
    """What stands beside the title: last value, change, unit."""
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    note: str = ""
    """Small print: "600 of 20 000 points", "2 NaN"."""
    columns: int = 0
    """How many columns each envelope has: it spans x.low to x.high evenly."""
    cursor: float | None = None
    """Where a vertical line marks the place that is read off; None: nowhere."""
    extent: tuple[float, float] | None = None
    """Where the data begin and end along x, which may lie outside the limits; None without a point."""
    table: Rows = ()
    """What is said below the chart where there is room."""


class Bar(Struct, frozen=True):
    """One part of a stacked bar."""

    label: str
    value: float
    """In the unit of the view; finite, >= 0."""
    role: Role
    detail: Row = ()
    """What the table says beside it: share, p50, p95, drift."""
    edges: tuple[float, ...] = ()
    """Where it lies in the whole, for a waterfall: begin and end, in the unit of the view; four of them: begin, end of
    its first side, begin of its last side, end (a phase with its onload and its offload); () for none."""


class BarView(Struct, frozen=True):
    """A whole as one stacked bar, and a table of its parts."""

    title: str
    headline: Row
    bars: tuple[Bar, ...]
    total: float
    columns: tuple[str, ...] = ()
    """Heads of the table's columns."""
    sentence: Row = ()
    note: str = ""


class HeatView(Struct, frozen=True):
    """A table of fractions: rows × columns, each cell drawn by its level. None: not logged."""

    title: str
    headline: Row
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    """fractions 0..1 (they may exceed 1); cells[r][c]."""
    second: tuple[tuple[float | None, ...], ...] = ()
    """A second number a cell, drawn where there is room (allocated beside reserved)."""
    peak: tuple[int, int] | None = None
    """Row and column of the highest cell."""
    sentence: Row = ()
    note: str = ""


class TextView(Struct, frozen=True):
    """Rows that a panel has laid out itself; they are cut or filled to the width."""

    title: str
    rows: Rows
    headline: Row = ()
    note: str = ""


View: TypeAlias = ChartView | BarView | HeatView | TextView
