"""Rows of the view of ranks: a table of ranks, nodes with a cell per GPU, and a map of nodes and GPUs.

Cells are characters first and colours second: `.` `-` `=` `#` `X` in order of the distance from the median.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import fit_row
from tuimon.draw.table import Column, text_column
from tuimon.model.ranks import JobRanks, RankRow
from tuimon.model.views import Role, Row, Span
from tuimon.sources.grouped_files import natural_order

_PER_NODE = 8
"""Ranks in a row of the grid whose node is unknown."""


class Quantity(Struct, frozen=True):
    """A quantity of a rank that cells show by its distance from the median."""

    name: str
    of: Callable[[RankRow], float | None]
    limits: tuple[float, float, float, float]
    """Distances from the median from which on a cell is `-`, `=`, `#` and `X`."""
    relative: bool = True
    """Are the distances fractions of the median?"""
    unit: str = ""

    def level(self, value: float, usual: float) -> int:
        """Return 0 to 4: how far a value is from the median."""
        if value != value:
            return 4
        distance = abs(value - usual)
        if self.relative:
            distance = distance / abs(usual) if usual else float(distance > 0)
        return sum(distance >= limit for limit in self.limits)

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{value:.0%}" if self.unit == "%" else f"{value:.4g}{' ' if self.unit else ''}{self.unit}"


def _step(row: RankRow) -> float | None:
    return None if row.step is None else float(row.step)


QUANTITIES = (
    Quantity("state", lambda row: None, (0, 0, 0, 0)),
    Quantity("own time", lambda row: row.own, (0.02, 0.05, 0.1, 0.25), unit="s"),
    Quantity("wait", lambda row: row.wait, (0.1, 0.25, 0.5, 0.75), unit="s"),
    Quantity("memory", lambda row: row.memory, (0.02, 0.05, 0.1, 0.2), relative=False, unit="%"),
    Quantity("last step", _step, (1, 2, 5, 10), relative=False),
)


class Grid:
    """Ranks by node (row of the grid) and GPU (column of the grid)."""

    def __init__(self, rows: Sequence[RankRow]) -> None:
        self._rows = rows
        self._at: dict[tuple[str, int], int] = {}
        """Index of the strangest rank by (node, GPU)."""
        following: dict[str, int] = {}
        for index in sorted(range(len(rows)), key=lambda index: (rows[index].role, rows[index].rank)):
            row = rows[index]
            node = row.node or f"ranks {row.rank // _PER_NODE * _PER_NODE}+"
            gpu = row.gpu
            if gpu is None:
                gpu = row.rank % _PER_NODE if not row.node else following.get(f"{row.role}\0{node}", 0)
                following[f"{row.role}\0{node}"] = gpu + 1
            known = self._at.get((node, gpu))
            if known is None or rows[index].strangeness > rows[known].strangeness:
                self._at[node, gpu] = index
        self.nodes = sorted({node for node, _ in self._at}, key=natural_order)
        self.gpus = sorted({gpu for _, gpu in self._at})

    def index_at(self, node: int, position: int) -> int | None:
        """Return the index of the rank in a cell; None for an empty cell."""
        if not (0 <= node < len(self.nodes) and 0 <= position < len(self.gpus)):
            return None
        return self._at.get((self.nodes[node], self.gpus[position]))

    def row_at(self, node: int, position: int) -> RankRow | None:
        """Return the rank in a cell; None for an empty cell."""
        index = self.index_at(node, position)
        return None if index is None else self._rows[index]

    def place_of(self, index: int) -> tuple[int, int] | None:
        """Return (node, position of the GPU) of a rank; None if a stranger rank is in its cell."""
        return self._places.get(index)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        nodes = {node: number for number, node in enumerate(self.nodes)}
        gpus = {gpu: number for number, gpu in enumerate(self.gpus)}
        return {index: (nodes[node], gpus[gpu]) for (node, gpu), index in self._at.items()}

    def usual(self, quantity: Quantity) -> float | None:
        """Return the median of a quantity; None without a value."""
        if quantity.name not in self._usual:
            values = [value for row in self._rows if (value := quantity.of(row)) is not None]
            self._usual[quantity.name] = float(np.median(values)) if values else None
        return self._usual[quantity.name]

    @cached_property
    def _usual(self) -> dict[str, float | None]:
        return {}


_LEVEL_ROLES = (Role.MUTED, Role.TEXT, Role.ACCENT, Role.WARNING, Role.CRITICAL)
_STATE_ROLES = {
    "failed": Role.CRITICAL,
    "nan": Role.CRITICAL,
    "silent": Role.WARNING,
    "slow": Role.WARNING,
    "recovered": Role.WARNING,
    "lost": Role.WARNING,
    "timeout": Role.ACCENT,
    "ended": Role.ACCENT,
    "unreachable": Role.WARNING,
    "done": Role.MUTED,
}
_LOUD = ("failed", "nan", "silent", "slow")
_LINE_HEAD = re.compile(
    r"\A(?:\[[^\]]{1,60}\]:?\s*|\d{4}[-/]\d\d[-/]\d\d[ T][\d:.,]+Z?\s*|(?:DEBUG|INFO|WARNING|ERROR)\b:?\s*|- )+(?=\S)"
)
"""Time stamp, process and level before the message of a log line: other columns have them."""
_LONGEST_LOSS = 8
LABEL = 9
"""Width of the names of nodes and GPUs in front of cells."""


def seconds(value: float | None) -> str:
    """Return a duration in at most 5 characters; "" if unknown."""
    if value is None:
        return ""
    return f"{value:.3f}".lstrip("0")[:5] if value < 1 else f"{value:.2f}"[:5] if value < 100 else f"{value:.0f}"[:5]


def loss_text(written: str) -> str:
    """Return a loss as it was written if it is short, or else rounded (3.404520E+00: 3.405)."""
    try:
        return written if len(written) <= _LONGEST_LOSS else format_value(float(written))
    except ValueError:
        return written[:_LONGEST_LOSS]


_OVER = ("finished", "ended", "crashed", "stopped")
"""States of a run whose processes have ended."""


def with_end(job: JobRanks, state: str) -> JobRanks:
    """Return the ranks of a run in this state: those of a run that is over do not run any more."""
    if state not in _OVER or all(row.state != "run" for row in job.rows):
        return job
    rows = tuple(replace(row, state="ended") if row.state == "run" else row for row in job.rows)
    return replace(job, rows=rows)


def _state(row: RankRow) -> Span:
    return row.state.upper() if row.state in _LOUD else row.state, _STATE_ROLES.get(row.state, Role.GOOD)


def _message(row: RankRow) -> str:
    """Return the last line of a rank without time stamp, process and level."""
    return _LINE_HEAD.sub("", row.line, count=1)


_text = partial(text_column, role=Role.TEXT)
COLUMNS: tuple[Column[RankRow], ...] = (
    _text("role", "role", lambda row: row.role, 4, 30, most=12, right=False),
    _text("rank", "rank", lambda row: str(row.rank), 4),
    _text("node", "node", lambda row: row.node, 4, most=15, right=False),
    _text("gpu", "gpu", lambda row: "" if row.gpu is None else str(row.gpu), 3),
    _text("state", "state", _state, 7, most=11, right=False),
    _text("step", "step", lambda row: "" if row.step is None else str(row.step), 5, most=19),
    _text("own", "own s", lambda row: seconds(row.own), 6, 25),
    _text("wait", "wait s", lambda row: seconds(row.wait), 6, 24),
    _text("mem", "mem", lambda row: "" if row.memory is None else f"{row.memory:.0%}", 5, 23),
    _text("loss", "loss", lambda row: loss_text(row.loss), 9, 21),
    _text("line", "error or last line", _message, 10, 20, most=1000, fills=True, right=False),
)
"""Columns of the table of ranks."""


def unreachable_row(host: str, why: str, width: int) -> Row:
    """Return a row about a host that cannot be reached."""
    return fit_row(
        (("  ", Role.TEXT), (host, Role.TEXT), (" unreachable", Role.WARNING), (f"  {why}", Role.MUTED)), width
    )


def cell(row: RankRow, quantity: Quantity, usual: float | None) -> Span:
    """Return the cell of a rank as one character. usual: median of the quantity."""
    if row.state in ("failed", "silent", "nan", "unreachable"):
        return {"failed": "X", "silent": "~", "nan": "N", "unreachable": "u"}[row.state], _STATE_ROLES[row.state]
    if quantity.name == "state":
        ended = "e" if row.evidence else "."
        sign = {"slow": "#", "recovered": "r", "lost": "l", "timeout": "t", "ended": ended}.get(row.state, ".")
        return sign, _STATE_ROLES.get(row.state, Role.MUTED)
    value = quantity.of(row)
    if value is None or usual is None:
        return "?", Role.MUTED
    level = quantity.level(value, usual)
    return ".-=#X"[level], _LEVEL_ROLES[level]


def legend(quantity: Quantity, usual: float | None) -> str:
    """Return what the cells mean."""
    if quantity.name == "state":
        return (
            ". runs or ended well  # slow  ~ silent  X failed  N not a number  t timed out  e ended after it  "
            "r recovered  l lost  u away"
        )
    middle = f"median {quantity.text(usual)}" if usual is not None else "no values"
    return f"{quantity.name}: {middle}  . near it  - = # X farther and farther from it  ? unknown"


def map_rows(grid: Grid, quantity: Quantity, selected: tuple[int, int] | None, width: int) -> list[Row]:
    """Return a map whose columns are nodes and whose rows are GPUs, in blocks of as many nodes as fit."""
    rows: list[Row] = []
    usual = grid.usual(quantity)
    for first in range(0, len(grid.nodes), map_columns(width)):
        nodes = range(first, min(first + map_columns(width), len(grid.nodes)))
        at = selected[0] - first if selected is not None and selected[0] in nodes else -1
        tens = "".join(str(node // 10 % 10) if node % 10 == 0 else " " for node in nodes)
        rows.append(fit_row(((" " * LABEL + tens, Role.MUTED),), width))
        head = "".join("▼" if node - first == at else str(node % 10) for node in nodes)
        rows.append(
            fit_row(((" " * LABEL, Role.MUTED), *[(c, Role.ACCENT if c == "▼" else Role.MUTED) for c in head]), width)
        )
        for position, gpu in enumerate(grid.gpus):
            here = at >= 0 and selected is not None and selected[1] == position
            spans: list[Span] = [("▌" if here else " ", Role.ACCENT), (f"{f'gpu {gpu}':>{LABEL - 2}} ", Role.MUTED)]
            for node in nodes:
                row = grid.row_at(node, position)
                spans.append(cell(row, quantity, usual) if row else (" ", Role.MUTED))
            rows.append(fit_row(spans, width))
    return rows


def map_columns(width: int) -> int:
    """Return how many nodes fit beside the names of the GPUs."""
    return max((width - LABEL) // 10 * 10, 1)
