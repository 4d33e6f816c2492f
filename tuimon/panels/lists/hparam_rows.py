"""Hyperparameters of all runs as a table: the settings that differ between runs, and the last reward and loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.comparing import MISSING, compared_settings
from tuimon.draw.numbers import format_exact, format_value
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._run_facts import loss_of, reward_of, settings_of
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_MOST_SETTINGS = 60
_WIDEST, _WIDEST_NAME = 16, 28
_DIGITS = 12
"""Maximum characters of a number."""
_GAP = "  "
NAME, METRICS = "run", ("reward", "loss")


class HparamTable(Struct, frozen=True):
    """Columns and rows. The first column is the name of the run, the next ones are metrics, the others settings."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Run, tuple[Any, ...]], ...]
    """Runs with a value for each column, None if a run does not have it."""
    equal: int = 0
    """Number of settings that are equal in all runs, which are not listed."""
    settings: tuple[Mapping[str, Any], ...] = ()
    """Settings of the runs without secrets."""
    different: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Settings that are listed, with the values of the runs."""


def hparam_table(runs: Sequence[Run], before: HparamTable | None = None) -> HparamTable:
    """Return the table of the runs, in their order. Values of secret settings are hidden.

    before: a table of the same runs when they had fewer points. Comparing the settings of 2,000 runs takes 25 ms.
    """
    settings = tuple(map(settings_of, runs))
    if before is None or before.settings != settings:
        different, equal = compared_settings(settings)
        if len(runs) == 1:  # nothing to compare with: list every setting
            different, equal = tuple((name, (value,)) for name, value in equal), ()
        different = tuple(entry for entry in different if not entry[0].startswith("_"))[:_MOST_SETTINGS]
        before = HparamTable((), (), len(equal), settings, different)
    different = before.different
    rows = []
    for index, run in enumerate(runs):
        metrics = [None if reading is None else reading.last for reading in (reward_of(run), loss_of(run))]
        values = [None if values[index] is MISSING else values[index] for _, values in different]
        rows.append((run, (run.name, *metrics, *values)))
    used = [index for index in range(3) if index == 0 or any(row[index] is not None for _, row in rows)]
    kept = [*used, *range(3, 3 + len(different))]
    names = (NAME, *METRICS, *(name for name, _ in different))
    return replace(
        before,
        columns=tuple(names[index] for index in kept),
        rows=tuple((run, tuple(row[index] for index in kept)) for run, row in rows),
    )


def sort_rows(table: HparamTable, column: int, reverse: bool) -> list[tuple[Run, tuple[Any, ...]]]:
    """Return the rows sorted by a column: numbers before texts; rows without a value, or with NaN, come last."""
    known = [row for row in table.rows if _is_known(row[1][column])]
    known.sort(key=lambda row: _key(row[1][column]), reverse=reverse)
    return known + [row for row in table.rows if not _is_known(row[1][column])]


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def number_of(value: Any) -> float | None:
    """Return a number, also of a text: YAML reads 1e-5 as text; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _key(value: Any) -> tuple[bool, float, str]:
    if isinstance(value, int | float):
        return False, float(value) if abs(value) < 1e300 else math.copysign(math.inf, value), ""
    try:
        return False, float(value), ""  # YAML reads 1e-5 as text
    except (TypeError, ValueError):
        return True, 0.0, str(value).lower()


def cell_text(value: Any, column: str = "") -> str:
    """Return a value as cleaned text: settings with every digit that fits, metrics with four."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return format_value(value) if column in METRICS else format_exact(value, _DIGITS)
    return clean(str(value), 60)


def column_widths(table: HparamTable, width: int, sort: int) -> dict[int, int]:
    """Return column -> width (cells) of the columns that fit: the name, the metrics, then settings from the one that is
    sorted by on if it does not fit otherwise. The name is shown at every width, cut if need be."""
    widths = [
        min(
            max([cell_width(_head(name)), *(cell_width(cell_text(row[index], name)) for _, row in table.rows[:200])]),
            _WIDEST if index else min(_WIDEST_NAME, max(width // 3, 8)),
        )
        for index, name in enumerate(table.columns)
    ]
    widths[0] = max(1, min(widths[0], width - 1))
    fixed = [index for index, name in enumerate(table.columns) if index == 0 or name in METRICS]
    first = len(fixed)
    while True:
        shown, left = {0: widths[0]}, width - widths[0] - 3
        for index in [*fixed[1:], *range(first, len(widths))]:
            if left < widths[index]:
                break
            shown[index] = widths[index]
            left -= widths[index] + 2
        if sort in shown or sort < len(fixed) or first >= sort:
            return shown
        first += 1


def _head(name: str) -> str:
    return clean(name.rpartition(".")[2]) + " ▾"


def head_row(table: HparamTable, widths: dict[int, int], sort: int, reverse: bool, symbols: Symbols) -> Row:
    """Return the heads of the columns; a sign marks the one that is sorted by."""
    down, up = ("v", "^") if symbols is Symbols.ASCII else ("▾", "▴")
    spans: list[Span] = []
    for index, width in widths.items():
        name = clean(table.columns[index].rpartition(".")[2]) + (f" {down if reverse else up}" if index == sort else "")
        text = fit(name, width, keep="start") if index == 0 else fit(name, width, keep="end").strip().rjust(width)
        spans.append((_GAP + text, Role.ACCENT if index == sort else Role.MUTED))
    return _joined((" ", Role.MUTED), spans)


def table_row(values: tuple[Any, ...], widths: dict[int, int], selected: bool, names: tuple[str, ...]) -> Row:
    """Return the row of a run."""
    spans: list[Span] = []
    for index, width in widths.items():
        text = fit(cell_text(values[index], names[index]), width, keep="ends")
        role = Role.TEXT if index == 0 else Role.VALUE if names[index] in METRICS else Role.MUTED
        text = text if index == 0 else text.strip().rjust(width)
        spans.append((_GAP + text, Role.ACCENT if selected else role))
    return _joined(("▌" if selected else " ", Role.ACCENT), spans)


def _joined(sign: Span, spans: list[Span]) -> Row:
    """Return the cells of a row with blanks between them, but not before the first one."""
    (first, role), *others = spans
    return sign, (first.removeprefix(_GAP), role), *others
