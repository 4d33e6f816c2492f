"""A comparison of runs as text: settings that differ, and for each metric the ranks of the runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.comparing import MISSING, differing_words, is_partly_missing
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration, setting_text
from tuimon.draw.numbers import format_exact, format_number
from tuimon.exports.comparison import Comparison, MetricComparison, checkpoint_rows, last_values
from tuimon.exports.seed_table import as_text as as_seed_table
from tuimon.exports.summary import trend_text
from tuimon.exports.table import Column, no_room, table, wrapped
from tuimon.panels import label_of
from tuimon.run_notes import note_of
from tuimon.text import clean, shown_path

_RANKED = 6
"""Number of metrics that are printed in full without --all."""
_PARTIAL, _NAMED = 8, 3
"""Number of settings of the same runs only up to which they are printed in full without --all, and of those named if
they are more."""
_CELL, _FACT = 24, 48
"""Maximum characters of a cell, and of one with a fact about a run, such as its command line."""
_LEGEND = (
    "level: mean of the last n points, a tenth of those up to the last {place} that two runs have reached (of fewer"
    " than 50 points: 5, at most a quarter), SE: its standard error; a run that ends earlier is judged at its own end;"
    " ranks are by level, = marks runs that share a rank because noise can explain their difference to the best of"
    " them, - an unknown noise"
)


def as_text(comparison: Comparison, now: float, width: int | None = None, full: bool = False) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited). full: print every metric in full, and every setting."""
    names = [clean(label) for label in comparison.labels]
    every = (comparison.verdict, comparison.speed, comparison.limits, comparison.at_equal_counter)
    sentences = list(filter(None, (*every, comparison.axis.sentence)))
    for sentence in sentences:
        yield from wrapped(sentence, width)
    if sentences:
        yield ""
    if effects := comparison.effects:
        yield from wrapped(effects.title, width)
        for effect in effects.effects:
            yield from wrapped(f"  {effect.line}", width, 4)
        yield ""
    steps = common_step_name(comparison.runs)
    if seeds := comparison.table:
        yield from as_seed_table(seeds, comparison.labels, steps, width)
        yield ""
    states = [progress_of(run, now) for run in comparison.runs]
    notes = [note_of(run.path).line for run in comparison.runs]
    yield from table(
        f"{len(names)} runs",
        names,
        [
            Column("state", [progress.state for progress in states], left=True),
            Column(steps, ["" if progress.step is None else str(progress.step) for progress in states]),
            *_reached(comparison, steps),
            *([Column("remark", list(comparison.failures), left=True)] if any(comparison.failures) else []),
            Column("path", [shown_path(run.path) for run in comparison.runs], need=1, left=True),
            *([Column("note", notes, need=2, left=True)] if any(notes) else []),
        ],
        width,
        indent=0,
    )
    yield from _config(comparison, names, width, full)
    if comparison.about:
        yield ""
        about = [differing_words(values, _FACT) for _, values in comparison.about]
        cells = [[setting_text(value, _FACT) for value in values] for values in about]
        yield from _by_run("Run, where it differs", [clean(name) for name, _ in comparison.about], cells, names, width)
    ranked = [metric for metric in comparison.metrics if metric.shared > 1 and (full or metric.better)]
    in_full = ranked if full else ranked[:_RANKED]
    left_out: list[str] = []
    for metric in in_full:
        yield ""
        yield from _metric(metric, names, steps, width, left_out.append)
    if in_full:
        yield ""
        place = steps if comparison.axis.name == "step" else f"value of {comparison.axis.noun}"
        yield from wrapped(_LEGEND.format(place=place), width)
    if rest := [metric for metric in comparison.metrics if metric not in in_full]:
        yield ""
        cells = [last_values(metric) for metric in rest]
        yield from _by_run("Last values", [clean(metric.name) for metric in rest], cells, names, width)
    if checkpoints := checkpoint_rows(comparison, _CELL):
        yield ""
        keys, rows = zip(*checkpoints, strict=True)
        yield from _by_run("Best checkpoint", keys, rows, names, width)
    yield from no_room(left_out, width)


def _reached(comparison: Comparison, steps: str) -> Iterator[Column]:
    """Yield the column with the first position at which each run reaches a value, if it is asked for."""
    metric, value = comparison.main_metric, comparison.reaches
    if metric is not None and value is not None:
        place = steps if comparison.axis.name == "step" else comparison.axis.noun
        yield Column(f"{place} of {clean(metric.name)} {format_exact(value)}", comparison.reached_texts)


def reached_sentence(comparison: Comparison) -> str:
    """Return where a single run reaches the value of `Comparison.reaches`."""
    metric, (name, *_), value = comparison.main_metric, comparison.labels, comparison.reaches
    if metric is None or value is None:
        return f"{clean(name)} has no metric to compare"
    what = f"{clean(name)}: {clean(metric.name)}"
    own = comparison.reached[0]
    if own is None:
        return f"{what} never reaches {format_exact(value)} (median of nine points)"
    steps, (text, *_) = common_step_name(comparison.runs), comparison.reached_texts
    place = (
        f"{steps} {own[0]}" if comparison.axis.name == "step" else f"{comparison.axis.noun} {text}, {steps} {own[0]}"
    )
    return f"{what} first reaches {format_exact(value)} at {place} (median of nine points)"


def _config(comparison: Comparison, names: Sequence[str], width: int | None, full: bool) -> Iterator[str]:
    folded = {} if full else _partial(comparison)
    listed = [setting for setting in comparison.differences if not any(setting in group for group in folded.values())]
    rows = [(clean(name), [setting_text(value, _CELL) for value in values]) for name, values in listed]
    if full:
        rows += [(clean(name), [setting_text(value, _CELL)] * len(names)) for name, value in comparison.same]
    if rows:
        yield ""
        title = "Configuration" if full else "Configuration that differs"
        yield from _by_run(title, [name for name, _ in rows], [cells for _, cells in rows], names, width)
    if folded or (comparison.same and not full and not rows):
        yield ""
    for missing, group in folded.items():
        yield from wrapped(_folded(names, missing, [clean(name) for name, _ in group]), width, indent=4)
    if comparison.same and not full:
        count = len(comparison.same)
        yield f"  {count} setting{'s are' if count != 1 else ' is'} the same (--all shows them)"
    elif not rows and not folded and not comparison.same:
        yield ""
        yield "  no run has a configuration"


def _partial(comparison: Comparison) -> dict[tuple[bool, ...], list[tuple[str, tuple[Any, ...]]]]:
    """Return groups of many settings that only some runs have, by which runs have not."""
    groups: dict[tuple[bool, ...], list[tuple[str, tuple[Any, ...]]]] = {}
    for name, values in comparison.differences:
        if is_partly_missing(values):
            groups.setdefault(tuple(value is MISSING for value in values), []).append((name, values))
    return {missing: group for missing, group in groups.items() if len(group) > _PARTIAL}


def _folded(names: Sequence[str], missing: Sequence[bool], settings: Sequence[str]) -> str:
    """Return "  only in a, b: beta, epsilon, delta … 75 settings (--all lists them)", or "  not in c: …" if shorter."""
    without = [name for name, absent in zip(names, missing, strict=True) if absent]
    having = [name for name, absent in zip(names, missing, strict=True) if not absent]
    where = f"not in {', '.join(without)}" if len(without) < len(having) else f"only in {', '.join(having)}"
    return f"  {where}: {', '.join(settings[:_NAMED])} … {len(settings)} settings (--all lists them)"


def _metric(
    metric: MetricComparison, names: Sequence[str], steps: str, width: int | None, left_out: Callable[[str], None]
) -> Iterator[str]:
    def number(value: float) -> str:
        return format_number(value, metric.unit)

    pairs = metric.ranked(names)
    entries = [entry for _, entry in pairs]
    columns = [Column("last", [number(e.summary.last) for e in entries])]
    if metric.better:
        columns.insert(0, Column("rank", [e.rank_text for e in entries]))
        tops = [entry.summary.best for entry in entries]
        columns.append(Column("best", [number(top[1]) if top else "" for top in tops]))
        columns.append(Column("at", [str(top[0]) if top else "" for top in tops], need=5))
    columns.append(Column("level", [number(e.level.value) for e in entries], need=1))
    columns.append(Column("± SE", [e.error_text for e in entries], need=2))
    if len({e.level_step for e in entries}) > 1:
        columns.append(Column("until", [str(e.level_step) for e in entries], need=2))
    columns.append(Column("n", [str(e.level.count) for e in entries], need=3))
    if metric.common_step is not None:
        columns.append(Column(f"{steps} {metric.common_step}", [number(e.at_step) for e in entries], need=3))
    if math.isfinite(metric.common_seconds):
        after = f"after {duration(metric.common_seconds)}"
        columns.append(Column(after, [number(e.at_time) for e in entries], need=4))
    columns.append(Column("mean", [number(e.summary.numbers.mean) for e in entries], need=6))
    columns.append(Column("deviation", [number(e.summary.numbers.deviation) for e in entries], need=7))
    trends, brief = ([trend_text(e.summary, brief=short) for e in entries] for short in (False, True))
    columns.append(Column("trend", trends, need=8, left=True, brief=brief))
    better = f", {metric.better} is better" if metric.better else ""
    if metric.better and not metric.compared.in_steps:
        better += "; not ranked: its steps are not those of the run"
    label = label_of(metric.meaning)
    if metric.unit and metric.unit.lower() != label.lower():
        better = f", in {metric.unit}{better}"
    yield f"{clean(metric.name)}" + (f"  ({label}{better})" if label and label != metric.name else better)
    yield from table("run", [name for name, _ in pairs], columns, width, left_out=left_out)


def _by_run(
    title: str, names: Sequence[str], cells: Sequence[Sequence[str]], runs: Sequence[str], width: int | None
) -> Iterator[str]:
    """Yield a table with one column per run, split into several tables if the runs do not fit the width."""
    columns = [Column(run[-_CELL:], [row[i] for row in cells]) for i, run in enumerate(runs)]
    room = math.inf if width is None else width - 2 - min(max(map(len, (title, *names))), 28)
    parts: list[list[Column]] = [[]]
    for column in columns:
        if parts[-1] and sum(2 + part.width for part in (*parts[-1], column)) > room:
            parts.append([])
        parts[-1].append(column)
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from table(title, names, part, width)
