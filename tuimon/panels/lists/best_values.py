"""Rows above the table of hyperparameters: the best value of each setting that is a text, and the best seeds.

Results have no standard errors of their own here, so that noise is known from runs that differ only in their seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.level import Level
from tuimon.analysis.seed_means import SeedMean, SeedMeans, seed_means
from tuimon.analysis.setting_effects import SettingEffect
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import row_width
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels.lists.hparam_rows import HparamTable, cell_text, result_column, results_of, settings_of_rows
from tuimon.store import Run
from tuimon.text import cell_width, clean
from tuimon.vocabulary import Meaning

_Rows = Sequence[tuple[Run, tuple[Any, ...]]]
_Items = tuple[str, list[tuple[str, Role]]]


def best_items(
    table: HparamTable, rows: _Rows, effects: Sequence[SettingEffect], failed: frozenset[int]
) -> list[_Items]:
    """Return the heads and items of the rows; [] without text settings and without seeds.

    effects: those of `effects_in`. failed: ids of the runs that are not healthy.
    """
    values = list(_best_values(rows, table, effects))
    lines = (" best seeds:", list(_best_seeds(table, rows, failed))), (" best values:", values)
    return [(head, items) for head, items in lines if items]


def item_row(head: str, items: Sequence[tuple[str, Role]], symbols: Symbols, width: int) -> Row:
    """Return a row with as many of the items as fit, at least the first one, which the caller has to cut."""
    spans: list[Span] = [(head, Role.MUTED)]
    for text, role in items:
        text = text.replace("±", "+-") if symbols is Symbols.ASCII else text
        if row_width(spans) + 2 + cell_width(text) > width and len(spans) > 1:
            spans.append(("  …", Role.MUTED))
            break
        spans.append((f"  {text}", role))
    return tuple(spans)


def _best_values(rows: _Rows, table: HparamTable, effects: Sequence[SettingEffect]) -> Iterator[tuple[str, Role]]:
    """Yield "method dapo: 0.7471 against 0.6965 of gspo, +0.0506 ± 0.0133 SE" for each setting that is a text."""
    for effect in effects:
        if effect.rank is not None or not effect.values:
            continue
        best, second = effect.values[:2]
        text = (
            f"{clean(effect.name.rpartition('.')[2])} {cell_text(best.value)}: {format_value(best.level)} against"
            f" {format_value(second.level)} of {cell_text(second.value)}"
        )
        lead = effect.lead
        if lead is not None and math.isfinite(lead.error):
            text += f", {'+' if lead.difference > 0 else '-'}{format_value(abs(lead.difference))}"
            text += f" ± {format_value(lead.error)} SE"
        column = table.columns.index(effect.name, 1 + table.results)
        others = {cell_text(row[column]) for _, row in rows} - {cell_text(own.value) for own in effect.values}
        is_clear = lead is not None and lead.is_beyond_noise
        remarks = [
            *(["noise"] if effect.noise not in ("", "settings") and not is_clear else []),
            *([f"or {clean(_others(effect.varies_with))}"] if effect.varies_with else []),
            *([f"not compared: {', '.join(sorted(others))}"] if others else []),
        ]
        yield text + (f" ({'; '.join(remarks)})" if remarks else ""), Role.TEXT if is_clear else Role.MUTED


def _others(names: Sequence[str]) -> str:
    return names[0].rpartition(".")[2] if len(names) == 1 else f"{len(names)} others"


def _best_seeds(table: HparamTable, rows: _Rows, failed: frozenset[int]) -> Iterator[tuple[str, Role]]:
    """Yield "dapo (4 seeds) 0.7471 ± 0.0102 SE" for each group of runs that differ only in their seed, and the
    difference of the best two; nothing if the groups differ in one setting only."""
    column = result_column(table)
    results = results_of(table, rows) if column is not None else []
    is_falling = column is not None and table.is_falling(column)
    meaning = Meaning("", "", "", "", "down" if is_falling else "up")
    levels = tuple(
        Level(result, 0.0, 0.0, 1) if result is not None and math.isfinite(result) else None for result in results
    )
    failures = ["failed" * (run.id in failed) for run, _ in rows]
    means = seed_means(ComparedMetric("", meaning, levels), settings_of_rows(table, rows), (), failures)
    if means is None or len(means.groups) < 2 or len(means.settings) < 2:
        return
    labels = [run.name for run, _ in rows]
    best, second = means.groups[:2]
    difference = means.difference(best.every, second.every)
    for group in (best, second):
        yield _mean_text(means, labels, group.every), Role.TEXT
    if difference.noise != "levels":
        apart = f"{format_value(abs(difference.value))} ± {format_value(difference.error)} SE apart"
        is_clear = difference.is_beyond_noise
        yield (apart, Role.TEXT) if is_clear else (f"{apart} (noise)", Role.MUTED)
    for group in means.groups[2:]:
        yield _mean_text(means, labels, group.every), Role.MUTED


def _mean_text(means: SeedMeans, labels: Sequence[str], mean: SeedMean) -> str:
    error = f" ± {format_value(mean.error)} SE" if math.isfinite(mean.error) else ""
    return f"{means.name_of(labels, mean.runs)} {format_value(mean.mean)}{error}"
