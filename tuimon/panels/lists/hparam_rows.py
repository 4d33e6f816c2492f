"""Hyperparameters of all runs as a table: the settings that differ between runs, and the last results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.comparing import MISSING, compared_settings
from tuimon.analysis.correlation import spearman
from tuimon.draw.numbers import format_exact, format_value
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._run_facts import heading_of, loss_of, objective_of, reward_of, settings_of
from tuimon.sources.grouped_files import natural_order
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_MOST_SETTINGS = 60
_WIDEST, _WIDEST_NAME = 16, 28
_DIGITS = 12
"""Maximum characters of a number."""
_FEWEST = 5
"""Minimum number of runs for a correlation."""
_GAP = "  "
NAME, METRICS = "run", ("reward", "loss", "objective")


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
    objective: str = ""
    """Name of the metric in the column "objective"."""

    def head(self, column: int) -> str:
        """Return the heading of a column: the last part of the name of a setting, or the name of a metric."""
        name = self.columns[column]
        return clean(self.objective if name == "objective" and self.objective else name.rpartition(".")[2])


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
        metrics = [
            None if reading is None else reading.last for reading in (reward_of(run), loss_of(run), objective_of(run))
        ]
        values = [None if values[index] is MISSING else values[index] for _, values in different]
        rows.append((run, (run.name, *metrics, *values)))
    used = [index for index in range(1 + len(METRICS)) if index == 0 or any(row[index] is not None for _, row in rows)]
    kept = [*used, *range(1 + len(METRICS), 1 + len(METRICS) + len(different))]
    names = (NAME, *METRICS, *(name for name, _ in different))
    return replace(
        before,
        columns=tuple(names[index] for index in kept),
        rows=tuple((run, tuple(row[index] for index in kept)) for run, row in rows),
        objective=heading_of(objectives) if (objectives := _objectives(runs)) else "",
    )


def _objectives(runs: Sequence[Run]) -> list[tuple[Run, str]]:
    return [(run, reading.metric) for run in runs if (reading := objective_of(run)) is not None]


def result_column(table: HparamTable) -> int | None:
    """Return the column of the objective, or else of the reward, or of the loss; None without any of them."""
    name = next((name for name in ("objective", "reward", "loss") if name in table.columns), None)
    return None if name is None else table.columns.index(name)


def rank_correlations(table: HparamTable, rows: Sequence[tuple[Run, tuple[Any, ...]]]) -> list[tuple[str, float, int]]:
    """Return (setting, Spearman's rank correlation with the objective, or else the reward, or the loss; number of runs)
    of the settings that are numbers, the strongest first, for at least _FEWEST runs that have both."""
    measured_in = result_column(table)
    if measured_in is None:
        return []
    result: list[tuple[str, float, int]] = []
    measured = [number_of(row[measured_in]) for _, row in rows]
    for column, name in enumerate(table.columns):
        if name in (NAME, *METRICS):
            continue
        set_to = [number_of(row[column]) for _, row in rows]
        pairs = [(x, y) for x, y in zip(set_to, measured, strict=True) if x is not None and y is not None]
        pairs = [pair for pair in pairs if math.isfinite(pair[0]) and math.isfinite(pair[1])]
        if len(pairs) >= _FEWEST and math.isfinite(rho := spearman(*np.array(pairs, np.float64).T)):
            result.append((name, rho, len(pairs)))
    return sorted(result, key=lambda item: -abs(item[1]))


def sort_rows(table: HparamTable, column: int, reverse: bool) -> list[tuple[Run, tuple[Any, ...]]]:
    """Return the rows sorted by a column: numbers before texts; rows without a value, or with NaN, come last."""
    known = [row for row in table.rows if _is_known(row[1][column])]
    if column == 0:
        known.sort(key=lambda row: natural_order(row[1][column].lower()), reverse=reverse)
    else:
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
            max(
                [
                    cell_width(table.head(index)) + 2,
                    *(cell_width(cell_text(row[index], name)) for _, row in table.rows[:200]),
                ]
            ),
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


def head_row(table: HparamTable, widths: dict[int, int], sort: int, reverse: bool, symbols: Symbols) -> Row:
    """Return the heads of the columns; a sign marks the one that is sorted by."""
    down, up = ("v", "^") if symbols is Symbols.ASCII else ("▾", "▴")
    spans: list[Span] = []
    for index, width in widths.items():
        name = table.head(index) + (f" {down if reverse else up}" if index == sort else "")
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
