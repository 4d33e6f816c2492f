"""Rows of the view of ranks: a table of ranks, nodes with a cell per GPU, and a map of nodes and GPUs.

Cells are characters first and colours second: `.` `-` `=` `#` `X` in order of the distance from the median.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import fit_row
from tuimon.model.ranks import JobRanks, RankRow
from tuimon.model.views import Role, Row, Span
from tuimon.panels.lists.rank_grid import Grid, Quantity
from tuimon.text import fit

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
_LEAST_STEP = 5
"""Minimum width of the column of steps."""
_COLUMNS = (("own", 6), ("wait", 6), ("mem", 5), ("temp", 5), ("loss", 9))
"""Columns of the table after the step, with widths."""
_HEADS = {"own": "own s", "wait": "wait s", "temp": "°C"}
_LINE_HEAD = re.compile(
    r"\A(?:\[[^\]]{1,60}\]:?\s*|\d{4}[-/]\d\d[-/]\d\d[ T][\d:.,]+Z?\s*|(?:DEBUG|INFO|WARNING|ERROR)\b:?\s*|- )+(?=\S)"
)
"""Time stamp, process and level before the message of a log line: other columns have them."""
_NUMBER = re.compile(r"\d+")
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


def lines_differ(rows: Sequence[RankRow]) -> bool:
    """Return whether the lines of the ranks differ in more than numbers, or there is only one rank."""
    shapes = (_NUMBER.sub("0", _LINE_HEAD.sub("", row.line, count=1)) for row in rows)
    first = next(shapes, "")
    return len(rows) == 1 or any(shape != first for shape in shapes)


def table_head(rows: Sequence[RankRow], width: int, with_lines: bool = True) -> Row:
    """Return the headings of the table of ranks. with_lines: include the column of lines."""
    role, node = _widths(rows)
    text = f"  {'role':{role}} " if role else "  "
    text += f"{'rank':>4} {'node':{node}} {'gpu':>3} {'state':{_state_width(rows)}} {'step':>{_step_width(rows)}}"
    text += "".join(f" {_HEADS.get(name, name):>{cells}}" for name, cells in _shown_columns(rows, width))
    return fit_row(((text + ("  error or last line" if with_lines else ""), Role.MUTED),), width)


def table_row(row: RankRow, rows: Sequence[RankRow], selected: bool, width: int, with_lines: bool = True) -> Row:
    """Return a rank of the table. rows: all ranks, from which the widths of the columns follow. with_lines: include the
    line of the rank."""
    role, node = _widths(rows)
    usual = Role.VALUE if selected else Role.TEXT
    spans: list[Span] = [("▌ " if selected else "  ", Role.ACCENT)]
    if role:
        spans.append((f"{fit(row.role, role)} ", usual))
    gpu = "" if row.gpu is None else str(row.gpu)
    spans.append((f"{row.rank:4} {fit(row.node, node)} {gpu:>3} ", usual))
    state = row.state.upper() if row.state in _LOUD else row.state
    spans.append((f"{state:{_state_width(rows)}}", _STATE_ROLES.get(row.state, Role.GOOD)))
    spans.append((f" {'' if row.step is None else row.step:>{_step_width(rows)}}", usual))
    cells = {
        "own": seconds(row.own),
        "wait": seconds(row.wait),
        "mem": "" if row.memory is None else f"{row.memory:.0%}",
        "temp": "" if row.temperature is None else f"{row.temperature:.0f}",
        "loss": loss_text(row.loss),
    }
    spans += [(f" {cells[name]:>{cells_wide}}", usual) for name, cells_wide in _shown_columns(rows, width)]
    if with_lines:
        spans.append((f"  {_LINE_HEAD.sub('', row.line, count=1)}", Role.MUTED))
    return fit_row(spans, width)


def _widths(rows: Sequence[RankRow]) -> tuple[int, int]:
    """Return the widths of the role (0 without roles) and of the node."""
    role = min(max((len(row.role) for row in rows), default=0), 12)
    return role, min(max(max((len(row.node) for row in rows), default=0), 4), 15)


def _state_width(rows: Sequence[RankRow]) -> int:
    return max(7, *(len(row.state) for row in rows))


def unreachable_row(host: str, why: str, width: int) -> Row:
    """Return a row about a host that cannot be reached."""
    return fit_row(
        (("  ", Role.TEXT), (host, Role.TEXT), (" unreachable", Role.WARNING), (f"  {why}", Role.MUTED)), width
    )


def _step_width(rows: Sequence[RankRow]) -> int:
    return max([_LEAST_STEP, *(len(str(row.step)) for row in rows if row.step is not None)])


def _shown_columns(rows: Sequence[RankRow], width: int) -> list[tuple[str, int]]:
    """Return the columns that any rank has a value of and that fit; a number that is cut is of no use."""
    has = {
        "own": any(row.own is not None for row in rows),
        "wait": any(row.wait is not None for row in rows),
        "mem": any(row.memory is not None for row in rows),
        "temp": any(row.temperature is not None for row in rows),
        "loss": any(row.loss for row in rows),
    }
    role, node = _widths(rows)
    room = width - (role + 1 if role else 0) - node - _state_width(rows) - _step_width(rows) - 13
    shown = []
    for name, cells in _COLUMNS:
        if has[name] and room > cells:
            shown.append((name, cells))
            room -= cells + 1
    return shown


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
    steps = "  ".join(f"{sign} {text}" for sign, text in zip("-=#X", quantity.limit_texts(), strict=True))
    middle = f"median {quantity.text(usual)}" if usual is not None else "no values"
    return f"{quantity.name}: {middle}  . near it  {steps}  ? unknown"


def node_head(grid: Grid, width: int) -> Row:
    """Return the headings of the nodes' rows."""
    gpus = "".join(f" {gpu % 100:2}" for gpu in grid.gpus)
    text = f"  {'node':{LABEL}}{gpus}  {'own':>5} {'wait':>5} {'mem':>4} {'temp':>6} {'clock':>5}  states"
    return fit_row(((text, Role.MUTED),), width)


def node_row(grid: Grid, node: int, quantity: Quantity, selected: tuple[int, int] | None, width: int) -> Row:
    """Return a node with a cell for each GPU and medians of its ranks. selected: (node, gpu) of the selected cell."""
    here = selected is not None and selected[0] == node
    spans: list[Span] = [("▌ " if here else "  ", Role.ACCENT)]
    spans.append((fit(grid.nodes[node], LABEL, "end"), Role.VALUE if here else Role.TEXT))
    chosen = selected[1] if selected is not None and here else -2
    for position in range(len(grid.gpus)):
        row = grid.row_at(node, position)
        gap = " [" if position == chosen else "] " if position == chosen + 1 else "  "
        spans += [(gap, Role.ACCENT), cell(row, quantity, grid.usual(quantity)) if row else (" ", Role.MUTED)]
    rows = grid.rows_of(node)
    spans.append(("] " if chosen + 1 == len(grid.gpus) else "  ", Role.ACCENT))
    temperatures = [row.temperature for row in rows if row.temperature is not None]
    span = f"{min(temperatures):.0f}-{max(temperatures):.0f}" if temperatures else ""
    memory = _median([row.memory for row in rows])
    clocks = [row.clock for row in rows if row.clock is not None]
    numbers = f"{seconds(_median([row.own for row in rows])):>5} {seconds(_median([row.wait for row in rows])):>5}"
    numbers += f" {'' if memory is None else f'{memory:.0%}':>4} {span:>6} {f'{min(clocks):.0f}' if clocks else '':>5}"
    spans.append((f"{numbers}  ", Role.TEXT))
    spans += _counted_states(rows)
    return fit_row(spans, width)


def _counted_states(rows: Sequence[RankRow]) -> list[Span]:
    counts = Counter(row.state for row in rows)
    return [(f"{count} {state} ", _STATE_ROLES.get(state, Role.TEXT)) for state, count in counts.items()]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


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
