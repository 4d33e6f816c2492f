"""Hyperparameters of all runs as a table: the settings that differ between runs, and the results.

A result is the level that `compare` uses, unless the user has chosen the last or the best value of a metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.comparing import MISSING, compared_settings, is_seed, number_of
from tuimon.analysis.correlation import spearman, spearman_bound
from tuimon.analysis.setting_effects import SettingEffect, setting_effects
from tuimon.draw.numbers import format_exact, format_value
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._metrics import curves_and_factors
from tuimon.panels._run_facts import heading_of, objective_of, settings_of
from tuimon.panels.lists.run_levels import Reader, RunLevels, reader_of
from tuimon.panels.lists.run_metrics import is_name_of_falling, split_statistic
from tuimon.panels.lists.runs import METRIC, RESULTS, repeated_columns
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
NAME = "run"


class HparamTable(Struct, frozen=True):
    """Columns and rows. The first column is the name of the run, the next ones are results, the others settings."""

    columns: tuple[str, ...]
    """Name of the first column, results that any run has (METRIC, "reward", "loss", "objective"), names of settings."""
    rows: tuple[tuple[Run, tuple[Any, ...]], ...]
    """Runs with a value for each column, None if a run does not have it."""
    equal: int = 0
    """Number of settings that are equal in all runs, which are not listed."""
    settings: tuple[Mapping[str, Any], ...] = ()
    """Settings of the runs without secrets."""
    different: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Settings that are listed, with the values of the runs."""
    results: int = 0
    """Number of columns with results."""
    metric: str = ""
    """Metric that the user has chosen, in the column METRIC, or ""."""
    objective: str = ""
    """Name of the metric in the column "objective"."""
    comparable: tuple[Any, ...] = ()
    """Result of each run that settings are compared by: the `result_column`, but levels up to a step that all runs have
    reached; None for runs that ended before half of it."""
    until: int | None = None
    """Step at which the levels of the run that is longer than all others are taken; None if no run is."""

    @property
    def has_settings(self) -> bool:
        """Whether any run has a setting."""
        return len(self.columns) - 1 > self.results or self.equal > 0

    def is_result(self, column: int) -> bool:
        """Return whether a column has results; a setting may have the name of one ("loss")."""
        return 1 <= column <= self.results

    def head(self, column: int) -> str:
        """Return the heading of a column: the last part of the name of a setting, or the name of a metric."""
        name = self.columns[column]
        if not self.is_result(column):
            return clean(name.rpartition(".")[2])
        return clean({METRIC: self.metric, "objective": self.objective}.get(name) or name)

    def is_falling(self, column: int) -> bool:
        """Return whether a column has results of which lower ones are better."""
        name = self.columns[column]
        metric = {METRIC: self.metric, "objective": self.objective}.get(name) or name
        return self.is_result(column) and is_name_of_falling(metric)

    @property
    def has_levels(self) -> bool:
        """Whether one of the results is a level, not the last or best value of the chosen metric."""
        return self.results > (METRIC in self.columns and bool(split_statistic(self.metric)[1]))


def hparam_table(runs: Sequence[Run], before: HparamTable | None = None, metric: str = "") -> HparamTable:
    """Return the table of the runs, in their order. Values of secret settings are hidden.

    before: a table of the same runs when they had fewer points. Comparing the settings of 2,000 runs takes 25 ms.
    metric: metric that the user has chosen, or "last(metric)" or "best(metric)"; it is the first of the results.
    """
    settings = tuple(map(settings_of, runs))
    if before is None or before.settings != settings:
        different, equal = compared_settings(settings)
        if len(runs) == 1:  # nothing to compare with: list every setting
            different, equal = tuple((name, (value,)) for name, value in equal), ()
        different = tuple(entry for entry in different if not entry[0].startswith("_"))[:_MOST_SETTINGS]
        before = HparamTable((), (), len(equal), settings, different)
    columns: list[tuple[str, list[Any]]] = []
    levels, readers = RunLevels(runs), dict[str, Reader]()
    if metric:
        if not split_statistic(metric)[1]:
            readers[METRIC] = reader_of(metric)
        columns.append((METRIC, [levels.value(run, metric) for run in runs]))
    repeated = repeated_columns(runs, metric)
    for name, reader in RESULTS.items():
        if name not in repeated:
            readers[name] = reader
            columns.append((name, [levels.level(run, reader) for run in runs]))
    columns = [column for column in columns if any(value is not None for value in column[1])]
    settings_columns = [
        (name, [None if value is MISSING else value for value in row]) for name, row in before.different
    ]
    objectives = [(run, reading.metric) for run in runs if (reading := objective_of(run)) is not None]
    shown = [(NAME, [run.name for run in runs]), *columns, *settings_columns]
    table = replace(
        before,
        columns=tuple(name for name, _ in shown),
        rows=tuple((run, tuple(values[index] for _, values in shown)) for index, run in enumerate(runs)),
        results=len(columns),
        metric=metric,
        objective=heading_of(objectives) if objectives else "",
    )
    column = result_column(table)
    if column is None:
        return table
    results = [number_of(value) for value in shown[column][1]]
    until = None
    if measured := readers.get(table.columns[column]):
        curves, _ = curves_and_factors([measured(run) for run in runs])
        step = levels.last_step(measured)
        if step is not None:
            ended = [curve is not None and curve.steps[-1] < step for curve in curves]
            results = [None if is_early else result for is_early, result in zip(ended, results, strict=True)]
            until = step if any(curve is not None and curve.steps[-1] > step for curve in curves) else None
    return replace(table, comparable=tuple(results), until=until)


def result_column(table: HparamTable) -> int | None:
    """Return the column of the chosen metric, or else of the objective, the reward, or the loss; None without any."""
    results = table.columns[: 1 + table.results]
    return next((results.index(name) for name in (METRIC, "objective", "reward", "loss") if name in results), None)


class Correlation(Struct, frozen=True):
    """How a setting that is a number goes with the result of the runs."""

    name: str
    rho: float
    """Spearman's rank correlation."""
    count: int
    """Number of runs of the correlation."""
    is_noise: bool = False
    """Whether independent numbers have such a correlation in more than 5 % of the cases."""


def results_of(table: HparamTable, rows: Sequence[tuple[Run, tuple[Any, ...]]]) -> list[float | None]:
    """Return the result of each of these rows that settings are compared by (`HparamTable.comparable`)."""
    by_run = {id(run): result for (run, _), result in zip(table.rows, table.comparable, strict=True)}
    return [by_run[id(run)] for run, _ in rows]


def settings_of_rows(table: HparamTable, rows: Sequence[tuple[Run, tuple[Any, ...]]]) -> list[tuple[str, list[Any]]]:
    """Return (name, values in these rows) of the settings."""
    return [
        (name, [row[column] for _, row in rows]) for column, name in enumerate(table.columns) if column > table.results
    ]


def effects_in(table: HparamTable, rows: Sequence[tuple[Run, tuple[Any, ...]]]) -> tuple[SettingEffect, ...]:
    """Return the effects of the settings on the result (see `result_column`)."""
    result_in = result_column(table)
    if result_in is None:
        return ()
    return setting_effects(settings_of_rows(table, rows), results_of(table, rows), not table.is_falling(result_in))


def effects_row(table: HparamTable, effects: Sequence[SettingEffect], width: int) -> Row:
    """Return " best of equal runs:  lr 5e-06 +0.2500 to 1e-06 (4 pairs)" for as many settings as fit; () for none."""
    head = " best of equal runs:"
    spans: list[Span] = [(head, Role.MUTED)]
    left = width - cell_width(head)
    for effect in effects:
        apart = format_value(effect.difference.value)
        pairs = f"{effect.pairs} pair{'s' * (effect.pairs != 1)}"
        text = (
            f"  {clean(effect.name.rpartition('.')[2])} {cell_text(effect.best)}"
            f" {'+' * (effect.difference.value > 0)}{apart} to {cell_text(effect.worst)} ({pairs})"
        )
        if cell_width(text) > left:
            spans.append(("  …"[: max(left, 0)], Role.MUTED))
            break
        left -= cell_width(text)
        spans.append((text, Role.TEXT if effect.is_beyond_noise else Role.MUTED))
    return tuple(spans) if effects else ()


def rank_correlations(table: HparamTable, rows: Sequence[tuple[Run, tuple[Any, ...]]]) -> list[Correlation]:
    """Return the correlations of the settings with the result (see `result_column`), the strongest first, seeds last,
    for at least _FEWEST runs that have both."""
    if result_column(table) is None:
        return []
    results = results_of(table, rows)
    candidates = (_correlation(name, values, results) for name, values in settings_of_rows(table, rows))
    known = [item for item in candidates if item is not None]
    return sorted(known, key=lambda item: (is_seed(item.name), -abs(item.rho)))


def _correlation(name: str, values: Sequence[Any], results: Sequence[float | None]) -> Correlation | None:
    numbers = [(number_of(x), y) for x, y in zip(values, results, strict=True)]
    pairs = [(x, y) for x, y in numbers if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)]
    if len(pairs) < _FEWEST or not math.isfinite(rho := spearman(*np.array(pairs, np.float64).T)):
        return None
    return Correlation(name, rho, len(pairs), is_seed(name) or abs(rho) <= spearman_bound(len(pairs)))


def correlation_row(table: HparamTable, correlations: Sequence[Correlation], width: int) -> Row:
    """Return a row with as many `rank_correlations` as fit; () if only seeds have one.

    A correlation without a clear effect is muted and marked.
    """
    result = result_column(table)
    if result is None or not correlations or is_seed(correlations[0].name):
        return ()
    counts = {correlation.count for correlation in correlations}
    common = f" ({counts.pop()} runs)" if len(counts) == 1 else ""
    head = f" rank correlation with {table.head(result)}{common}:"
    spans: list[Span] = [(head, Role.MUTED)]
    left = width - cell_width(head)
    for item in correlations:
        note = " (noise)" * item.is_noise + ("" if common else f" (n {item.count})")
        texts = f"  {clean(item.name.rpartition('.')[2])} ", f"{item.rho:+.2f}", note
        needed = sum(map(cell_width, texts))
        if needed > left:
            spans.append(("  …"[: max(left, 0)], Role.MUTED))
            break
        left -= needed
        spans += zip(texts, (Role.TEXT, Role.MUTED if item.is_noise else Role.VALUE, Role.MUTED), strict=True)
    return tuple(spans)


def sort_rows(table: HparamTable, column: int, reverse: bool) -> list[tuple[Run, tuple[Any, ...]]]:
    """Return the rows sorted by a column: numbers before texts; rows without a value, or with NaN, come last."""
    known = [row for row in table.rows if _is_known(row[1][column])]
    if column == 0:
        known.sort(key=lambda row: natural_order(row[1][column].lower()), reverse=reverse)
    else:
        known.sort(key=lambda row: sort_key(row[1][column]), reverse=reverse)
    return known + [row for row in table.rows if not _is_known(row[1][column])]


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def sort_key(value: Any) -> tuple[bool, float, str]:
    """Return a key that sorts numbers, also if they are texts ("1e-5"), before other texts."""
    if isinstance(value, int | float):
        return False, float(value) if abs(value) < 1e300 else math.copysign(math.inf, value), ""
    try:
        return False, float(value), ""  # YAML reads 1e-5 as text
    except (TypeError, ValueError):
        return True, 0.0, str(value).lower()


def cell_text(value: Any, is_result: bool = False) -> str:
    """Return a value as cleaned text: settings with every digit that fits, results with four."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return format_value(value) if is_result else format_exact(value, _DIGITS)
    return clean(str(value), 60)


def column_widths(table: HparamTable, width: int, sort: int) -> dict[int, int]:
    """Return column -> width (cells) of the columns that fit: the name, the metrics, then settings from the one that is
    sorted by on if it does not fit otherwise. The name is shown at every width, cut if need be."""
    widths = [
        min(
            max(
                [
                    cell_width(table.head(index)) + 2,
                    *(cell_width(cell_text(row[index], table.is_result(index))) for _, row in table.rows[:200]),
                ]
            ),
            _WIDEST if index else min(_WIDEST_NAME, max(width // 3, 8)),
        )
        for index in range(len(table.columns))
    ]
    widths[0] = max(1, min(widths[0], width - 1))
    fixed = range(1 + table.results)
    first = len(fixed)
    while True:
        shown, left = {0: widths[0]}, width - widths[0] - 3
        for index in [*fixed[1:], *range(first, len(widths))]:
            if left < widths[index]:
                break
            shown[index] = widths[index]
            left -= widths[index] + 2
        if sort in shown or sort < len(fixed) or first >= sort:
            break
        first += 1
    for index in list(shown)[1:]:  # heads that were cut get the remaining cells
        more = min(cell_width(table.head(index)) + 2 - shown[index], left)
        if more > 0:
            shown[index] += more
            left -= more
    return shown


def head_row(
    table: HparamTable, widths: dict[int, int], sort: int, reverse: bool, symbols: Symbols, mark: str = ""
) -> Row:
    """Return the heads of the columns; a sign marks the one that is sorted by. mark: blanks before the first one."""
    down, up = ("v", "^") if symbols is Symbols.ASCII else ("▾", "▴")
    spans: list[Span] = []
    for index, width in widths.items():
        name = table.head(index) + (f" {down if reverse else up}" if index == sort else "")
        text = fit(name, width, keep="start") if index == 0 else fit(name, width, keep="end").strip().rjust(width)
        spans.append((_GAP + text, Role.ACCENT if index == sort else Role.MUTED))
    return _joined((" ", Role.MUTED), (mark, Role.MUTED), spans)


def table_row(
    values: tuple[Any, ...], widths: dict[int, int], selected: bool, table: HparamTable, mark: str = ""
) -> Row:
    """Return the row of a run. mark: sign of a run with a failure, or blanks, before its name."""
    spans: list[Span] = []
    for index, width in widths.items():
        text = fit(cell_text(values[index], table.is_result(index)), width, keep="ends")
        role = Role.TEXT if index == 0 else Role.VALUE if table.is_result(index) else Role.MUTED
        text = text if index == 0 else text.strip().rjust(width)
        spans.append((_GAP + text, Role.ACCENT if selected else role))
    return _joined(("▌" if selected else " ", Role.ACCENT), (mark, Role.CRITICAL), spans)


def _joined(sign: Span, mark: Span, spans: list[Span]) -> Row:
    """Return the cells of a row with blanks between them, but not before the first one."""
    (first, role), *others = spans
    return sign, *([mark] if mark[0] else []), (first.removeprefix(_GAP), role), *others
