"""Views: the output of panels and input of drawings, as plain data for one screen width.

A panel turns a snapshot into a view, `draw` turns a view into rows, and a front end displays or prints the rows. A row
is a tuple of spans, whose cells sum to the requested width.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from tuimon.model.points import Floats


class Role(StrEnum):
    """Meaning of a piece of text; the theme decides how it looks."""

    TEXT = "text"
    TITLE = "title"
    VALUE = "value"
    MUTED = "muted"
    AXIS = "axis"
    GOOD = "good"
    WARNING = "warning"
    CRITICAL = "critical"
    ACCENT = "accent"
    SELECTED = "selected"
    SERIES_0 = "series-0"
    SERIES_1 = "series-1"
    SERIES_2 = "series-2"
    SERIES_3 = "series-3"
    SERIES_4 = "series-4"
    SERIES_5 = "series-5"
    SERIES_6 = "series-6"
    SERIES_7 = "series-7"
    DIM_0 = "dim-0"
    DIM_1 = "dim-1"
    DIM_2 = "dim-2"
    DIM_3 = "dim-3"
    DIM_4 = "dim-4"
    DIM_5 = "dim-5"
    DIM_6 = "dim-6"
    DIM_7 = "dim-7"
    FAINT = "faint"
    HEAT_0 = "heat-0"
    HEAT_1 = "heat-1"
    HEAT_2 = "heat-2"
    HEAT_3 = "heat-3"
    HEAT_4 = "heat-4"
    HEAT_5 = "heat-5"


SERIES_ROLES = tuple(Role(f"series-{i}") for i in range(8))
DIM_ROLES = tuple(Role(f"dim-{i}") for i in range(8))
"""Roles of the raw values behind the smoothed curve of a series."""
HEAT_ROLES = tuple(Role(f"heat-{i}") for i in range(6))

Span: TypeAlias = tuple[str, Role]
Row: TypeAlias = tuple[Span, ...]
Rows: TypeAlias = tuple[Row, ...]


class Symbols(StrEnum):
    """Symbols that charts are drawn with, chosen by the terminal's locale or by the user."""

    BRAILLE = "braille"
    BLOCK = "block"
    ASCII = "ascii"


class Size(Struct, frozen=True):
    """Size in cells."""

    width: int
    height: int


class Axis(Struct, frozen=True):
    """Limits of a chart along x or y, in data units; low < high, both finite."""

    low: float
    high: float
    scale: str = "linear"
    """linear | log (base 10, positive values only)."""
    kind: str = "number"
    """number | step | time (seconds since the epoch) | duration (seconds) | extent (0 is the lowest value of each
    line, 1 its highest)."""
    label: str = ""
    """Unit or name of the axis; "" draws no label."""


class Envelope(Struct, frozen=True, eq=False):
    """A curve reduced to bins: the values in bin i lie between low[i] and high[i].

    All arrays are float64 of the same length; NaN in a bin without a finite point. first and last are the first and
    last finite value of the bin in x order: neighbours are joined from last[i] to first[j]. `gap_after[i]` is true if a
    non-finite point or a segment border follows bin i's last point, so that no line may be drawn from it to the next
    non-empty bin.
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
    """Name in the legend; of a line behind the others, without a glyph, the text on the line itself."""
    role: Role
    envelope: Envelope
    markers: bool = False
    """Whether each bin with a point is marked (sparse series such as validation)."""
    filled: bool = False
    """Whether the area between the envelope's low and high is filled, in the background."""
    behind: bool = False
    """Whether other lines are drawn on top: raw values under their average, superseded points."""
    arrows: bool = True
    """Whether arrows at the edge mark values outside the limits. Superseded points have none: below the curve that
    superseded them, they would be read as a part of it."""
    metric: str = ""
    """Name of the metric as logged; "" if unknown."""
    glyph: str = ""
    """Symbol of the line without colour, one cell wide. It is in the legend and at points."""
    values: tuple[str, ...] = ()
    """Values for the legend, the most detailed first: ("0.51 @ 14 (+0.1)", "0.51"). All lines have the same form, the
    first that fits, or none."""

    @property
    def entry(self) -> str:
        """Name and value in the most detailed form: "train 0.51"."""
        return f"{self.label} {self.values[0]}".strip() if self.values else self.label


class Mark(Struct, frozen=True):
    """An event at an x position."""

    x: float
    kind: str
    """nan | infinity | best | restart | alert | evaluation | checkpoint | note."""
    label: str = ""


class ChartView(Struct, frozen=True, eq=False):
    """A chart of one or more curves."""

    title: str
    headline: Row
    """Text beside the title: last value, change, unit."""
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()
    """Small print, the most important first: "600 of 20 000 points", "2 NaN". What does not fit is left out."""
    columns: int = 0
    """Number of bins of each envelope, which span x.low to x.high evenly."""
    cursor: float | None = None
    """x position of the vertical cursor line, or None."""
    extent: tuple[float, float] | None = None
    """x of the first and last point, which may lie outside the limits; None without points."""
    legend: Rows = ()
    """Rows below the title with names of lines that do not fit into it; these lines have no label."""
    table: Rows = ()
    """Rows below the chart, shown if there is room."""
    unit: str = ""
    """Unit of all values along y, as text; "" for plain numbers, or if the lines have several units."""
    sign: str = ""
    """Text before the title, which is not cut with it: that of a pinned chart."""
    alike: tuple[str, ...] = ()
    """Titles of other charts with the same end. A cut title still differs from them."""
    place: Row = ()
    """Headline beside a legend that has the values: where they were read."""

    @property
    def note(self) -> str:
        """The small print as one text."""
        return ", ".join(self.notes)


class Bar(Struct, frozen=True):
    """One part of a stacked bar."""

    label: str
    value: float
    """In the unit of the view; finite, >= 0."""
    role: Role
    detail: Row = ()
    """Table cells of the part: share, p50, p95, drift."""


class BarView(Struct, frozen=True):
    """A whole as one stacked bar, and a table of its parts."""

    title: str
    headline: Row
    bars: tuple[Bar, ...]
    total: float
    columns: tuple[str, ...] = ()
    """Headings of the table."""
    sentence: Row = ()
    note: str = ""


class HeatView(Struct, frozen=True):
    """A table of fractions, each cell drawn as a level; None is a cell that was not logged."""

    title: str
    headline: Row
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    """Fractions 0..1 (they may exceed 1) as cells[row][column]."""
    second: tuple[tuple[float | None, ...], ...] = ()
    """A second fraction for each cell, drawn if there is room (allocated beside reserved)."""
    peak: tuple[int, int] | None = None
    """(row, column) of the highest cell."""
    sentence: Row = ()
    note: str = ""


class TextView(Struct, frozen=True):
    """Rows that a panel has laid out itself, cut or padded to the width; the note is wrapped if there is room."""

    title: str
    rows: Rows
    headline: Row = ()
    note: str = ""


View: TypeAlias = ChartView | BarView | HeatView | TextView
