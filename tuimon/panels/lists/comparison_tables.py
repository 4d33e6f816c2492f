"""comparison_tables(): a comparison as tables, which text, HTML and the screen show.

TextTable("reward, higher is better, up to step 199", ("a", …), (TextColumn("rank", ("1", …)), …), "run")
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from tuimon.analysis.aligned_steps import common_name, common_step_name
from tuimon.analysis.comparing import MISSING, differing_words, flat, is_partly_missing
from tuimon.analysis.comparison_axis import Place, place_text
from tuimon.analysis.comparison_rows import MetricRows
from tuimon.analysis.comparison_rows import Row as RunRow
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_duration, format_exact, format_number, format_value
from tuimon.draw.table import TextColumn, TextTable, table_rows
from tuimon.model.views import Role, Row
from tuimon.panels._metrics import SECONDARY_PANELS, label_of
from tuimon.panels.lists.comparison import Comparison
from tuimon.redact import redacted
from tuimon.run_notes import note_of
from tuimon.text import clean, first_names, shown_path

_CELL, _FACT = 24, 48
"""Maximum characters of a setting, and of a fact about a run, such as its command line."""
_PARTIAL, _NAMED = 8, 3
"""Number of settings of the same runs only up to which they are listed, and of those named if they are more."""
_NARROWEST = 16
"""Minimum width of a sentence on the screen."""
_NEEDED = 3
"""Columns of a table after the names that are never left out."""
_WORDS = frozenset({"state", "remark", "path", "note", "until"})
"""Heads of columns with words instead of numbers."""
NOTE = (
    "level: mean of the last tenth of the points (at least 5, at most a quarter) up to the position in the heading;"
    " SE: its standard error; 1=: noise may put the row first; ≈: within noise of the best"
)
_BEST_NOTE = (
    "best: the best value up to the position in the heading; SE: standard error of the mean of several runs; 1=: noise"
    " may put the row first; ≈: within noise of the best"
)


def comparison_tables(comparison: Comparison, now: float, full: bool = False) -> Iterator[TextTable]:
    """Yield the tables, the most important first. full: every metric with its own table, and every setting."""
    main = comparison.main
    if main is not None:
        yield metric_table(comparison, main)
    yield _runs(comparison, now)
    if effects := comparison.effects:
        differences = [_signed(effect.difference.value, effect.difference.error) for effect in effects]
        yield _table(
            f"Settings by the difference of {main.label if main else ''} between runs that are otherwise equal",
            "setting",
            [clean(effect.name) for effect in effects],
            {
                "best": [setting_text(effect.best, _CELL) for effect in effects],
                "worst": [setting_text(effect.worst, _CELL) for effect in effects],
                "difference": [difference for difference, _ in differences],
                "SE": [error for _, error in differences],
                "pairs": [str(effect.pairs) for effect in effects],
                "beyond noise": [
                    "yes" if effect.beyond_noise else "one pair" if effect.pairs == 1 else "no" for effect in effects
                ],
            },
            "One pair proves nothing; a difference shows no cause.",
            frozenset({"best", "worst", "beyond noise"}),
        )
    yield from _settings(comparison, full)
    if comparison.about:
        rows = [(name, differing_words(values, _FACT)) for name, values in comparison.about]
        yield _by_run("Run, where it differs", comparison, rows, _FACT)
    others = [m for m in comparison.metrics if m is not main and (full or m.meaning.panel not in SECONDARY_PANELS)]
    shared = [metric for metric in others if metric.count > 1]
    if full:
        yield from (metric_table(comparison, metric) for metric in others)
    elif shared:
        yield _levels(comparison, shared, len(others) - len(shared))
    kept = [dict(flat(redacted(run.best_checkpoint or run.final_metrics))) for run in comparison.runs]
    if names := dict.fromkeys(name for values in kept for name in values):
        rows = [(name, tuple(values.get(name, MISSING) for values in kept)) for name in names]
        yield _by_run("Best checkpoint", comparison, rows, _CELL)


def screen_rows(comparison: Comparison, now: float, width: int) -> list[Row]:
    """Return the sentences and tables as rows. Sentences are wrapped at `width` cells; tables are as wide as needed."""
    rows: list[Row] = [row for sentence in comparison.sentences for row in _wrapped(sentence, width, Role.VALUE)]
    for table in comparison_tables(comparison, now):
        rows += [(), ((table.title, Role.TITLE),), *table_rows(table)]
        rows += _wrapped(table.note, width, Role.MUTED) if table.note else []
    return rows


def _wrapped(text: str, width: int, role: Role) -> list[Row]:
    return [((line, role),) for line in textwrap.wrap(text, max(width - 2, _NARROWEST), subsequent_indent="  ")]


def metric_table(comparison: Comparison, metric: MetricRows) -> TextTable:
    """Return the table of the rows of a metric."""
    steps = common_step_name(comparison.runs)
    rows = metric.rows
    label = label_of(metric.meaning)
    parts = [
        f"{clean(metric.name)}{f' ({label})' if label and label != metric.name else ''}",
        f"in {metric.unit}" if metric.unit else "",
        f"{metric.better} is better" if metric.better else "",
        "" if metric.in_steps else "not ranked: its steps are not those of the run",
        f"up to {_place(comparison, metric.end)}" if metric.end is not None else "",
        "grouped by their names" if comparison.has_groups and comparison.is_by_name else "",
    ]

    def number(value: float) -> str:
        return "-" if math.isnan(value) else format_number(value, metric.unit)

    several = any(row.n > 1 for row in rows)
    what = "best" if metric.kind == "best" else "level"
    tops = [row.best for row in rows]
    behind = [_signed(row.behind.value, row.behind.error) if row.rank > 1 else ("", "") for row in rows]
    remarks = [_remark(comparison, row) for row in rows]
    columns: dict[str, tuple[list[str], bool]] = {
        "rank": ([row.rank_text for row in rows], bool(metric.better)),
        "n": ([str(row.n) for row in rows], several),
        f"mean {what}" if several else what: ([number(row.level) for row in rows], True),
        "SE": ([number(row.se) for row in rows], any(math.isfinite(row.se) for row in rows)),
        "SD": ([number(row.sd) for row in rows], several),
        "min": ([number(row.min) for row in rows], several),
        "max": ([number(row.max) for row in rows], several),
        "to the first": ([text for text, _ in behind], len(metric.ranked) > 1),
        "± SE": ([error for _, error in behind], any(error not in ("", "-") for _, error in behind)),
        "until": ([_place(comparison, row.end) for row in rows], len({row.end for row in rows}) > 1),
        "best" if what == "level" else "": ([number(top[1]) if top else "-" for top in tops], any(tops)),
        f"at {steps}": ([str(top[0]) if top else "-" for top in tops], any(tops)),
        "remark": (remarks, any(remarks)),
    }
    return _table(
        ", ".join(filter(None, parts)),
        "run",
        [row.name for row in rows],
        {head: cells for head, (cells, is_shown) in columns.items() if head and is_shown},
        (NOTE if metric.kind == "level" else _BEST_NOTE) if metric is comparison.main else "",
    )


def _table(
    title: str,
    head: str,
    names: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    note: str = "",
    words: Container[str] = _WORDS,
) -> TextTable:
    """Return a table with these columns by their heads; the first ones are never left out.

    words: heads of the columns with words instead of numbers.
    """
    own = [
        TextColumn(name, cells, max(place - _NEEDED, 0), name in words)
        for place, (name, cells) in enumerate(columns.items(), 1)
    ]
    return TextTable(title, names, own, head, note=note)


def _remark(comparison: Comparison, row: RunRow) -> str:
    """Return which runs of a row are not healthy, or without a result."""
    words = [("not healthy", row.not_healthy), ("no result of", row.without_result)]
    if len(row.runs) + len(row.without_result) == 1:
        return comparison.failures[row.runs[0]]
    return "; ".join(
        f"{word}: {first_names([clean(comparison.labels[run]) for run in runs], 2)}" for word, runs in words if runs
    )


def _signed(value: float, error: float) -> tuple[str, str]:
    """Return a difference with its sign, and its standard error."""
    sign = "+" if value > 0 else ""
    return "-" if math.isnan(value) else f"{sign}{format_value(value)}", "-" if math.isnan(error) else format_value(
        error
    )


def _place(comparison: Comparison, place: Place | None) -> str:
    return "-" if place is None else place_text(comparison.axis.name, place, common_step_name(comparison.runs))


def _runs(comparison: Comparison, now: float) -> TextTable:
    """Return the table of the states of the runs."""
    runs, main = comparison.runs, comparison.main
    states = [progress_of(run, now) for run in runs]
    position = common_name(state.position_name for state in states)
    notes = [note_of(run.path).line for run in runs]
    columns: dict[str, Sequence[str]] = {
        "state": [state.state for state in states],
        position: ["" if state.position is None else str(state.position) for state in states],
    }
    if all(state.seconds_per_step > 0 for state in states):
        columns[f"time a {position}"] = [format_duration(state.seconds_per_step) for state in states]
    if main is not None and comparison.reaches is not None:
        place = common_step_name(runs) if comparison.axis.name == "step" else comparison.axis.noun
        columns[f"{place} of {clean(main.name)} {format_exact(comparison.reaches)}"] = reached_texts(comparison)
    if any(comparison.failures):
        columns["remark"] = comparison.failures
    columns["path"] = [shown_path(run.path) for run in runs]
    if any(notes):
        columns["note"] = notes
    return _table("Runs", "run", list(map(clean, comparison.labels)), columns)


def reached_texts(comparison: Comparison) -> list[str]:
    """Return the step at which each run reaches the value of `reaches`, or its position on another axis; or "never"."""
    texts = []
    for own in comparison.reached:
        step, place = own if own is not None else (None, None)
        if step is None:
            texts.append("never")
        elif comparison.axis.name == "step" or place is None:
            texts.append(str(step))
        else:
            texts.append(format_duration(place) if comparison.axis.name == "duration" else format_exact(place))
    return texts


def _settings(comparison: Comparison, full: bool) -> Iterator[TextTable]:
    """Yield the table of the settings that differ; many that only some runs have are counted below it."""
    listed, notes = list(comparison.differences), []
    if full:
        listed += [(name, (value,) * len(comparison.runs)) for name, value in comparison.same]
    else:
        partial: dict[tuple[bool, ...], list[str]] = {}
        for name, values in comparison.differences:
            if is_partly_missing(values):
                partial.setdefault(tuple(value is MISSING for value in values), []).append(name)
        for missing, names in partial.items():
            if len(names) > _PARTIAL:
                listed = [setting for setting in listed if setting[0] not in names]
                having = [clean(label) for label, absent in zip(comparison.labels, missing, strict=True) if not absent]
                named = ", ".join(map(clean, names[:_NAMED]))
                notes.append(f"{len(names)} settings only in {', '.join(having)}, such as {named} (--all lists them)")
        if count := len(comparison.same):
            notes.append(f"{count} setting{'s are' if count != 1 else ' is'} the same")
    if not (comparison.differences or comparison.same):
        notes.append("no run logs its configuration; a tracker, Hydra or a config.yaml beside the log would")
    title = "Configuration" if full else "Configuration that differs"
    yield _by_run(title, comparison, listed, _CELL, "; ".join(notes))


def _by_run(
    title: str, comparison: Comparison, rows: Sequence[tuple[str, Sequence[Any]]], longest: int, note: str = ""
) -> TextTable:
    """Return a table with a column for each run."""
    texts = [["-" if value is MISSING else setting_text(value, longest) for value in values] for _, values in rows]
    columns = [TextColumn(clean(label), [own[run] for own in texts]) for run, label in enumerate(comparison.labels)]
    return TextTable(title, [clean(name) for name, _ in rows], columns, note=note, is_by_run=True)


def _levels(comparison: Comparison, metrics: Sequence[MetricRows], alone: int) -> TextTable:
    """Return the table of the levels of several metrics, with a column for each row of the main table."""
    main = comparison.main

    def cell(metric: MetricRows, run: int) -> str:
        row, own = metric.row_of(run), metric.runs[run]
        if row is None or own is None:
            return "-"
        return format_value(row.level, own.unit) + " ≈" * (row.tied and row.behind.is_known)

    columns = [
        TextColumn(head.name, [cell(metric, head.runs[0]) for metric in metrics])
        for head in (main.rows if main is not None else ())
    ]
    note = f"{alone} more metric{'s are' if alone != 1 else ' is'} only in one run" if alone else ""
    title = f"{'Best values' if main is not None and main.kind == 'best' else 'Levels'} of the other metrics"
    return TextTable(title, [clean(metric.name) for metric in metrics], columns, note=note, is_by_run=True)
