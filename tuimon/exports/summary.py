"""What runs have come to, as text for people: one run in full, several as one table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration
from tuimon.draw.numbers import format_count, format_value
from tuimon.exports._metrics import BETTER, MetricSummary, entries, metric_summaries, summarise
from tuimon.exports._settings import flat, opened, shown
from tuimon.exports._table import Column, no_room, table, wrapped
from tuimon.panels import telling
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, shown_path
from tuimon.vocabulary import Meaning, classify

_CONFIG_LINES = 40
_ARROWS = {"rising": "↑", "falling": "↓"}
_MOST_CONCEPTS = 4
"""Of several runs, so many concepts have a column of their own."""


def as_text(
    snapshot: Snapshot, now: float, show_secrets: bool = False, width: int | None = None, full: bool = False
) -> Iterator[str]:
    """Lines for a person, in `width` cells (None: as many as it takes). All foreign text is cleaned.

    full: of several runs each one in full, below their table.
    """
    if len(snapshot.runs) > 1:
        yield from _runs_text(snapshot, now, width)
    if len(snapshot.runs) == 1 or full:
        for number, run in enumerate(snapshot.runs):
            if number or full:
                yield ""
            yield from _run_text(run, snapshot, now, show_secrets, width)
    for notice in snapshot.notices:
        if notice.level != "info":
            yield f"{notice.level}: {clean(notice.message)}" + (f" ({clean(notice.hint)})" if notice.hint else "")


# ---------------------------------------------------------------------- several runs


def _runs_text(snapshot: Snapshot, now: float, width: int | None) -> Iterator[str]:
    runs = snapshot.runs
    left_out: list[str] = []
    names, columns = [clean(run.name) for run in runs], runs_columns(snapshot, now)
    yield from table(f"{len(runs)} runs", names, columns, width, indent=0, left_out=left_out.append)
    yield from no_room(left_out, width)
    yield ""
    for run in runs:
        for alert in snapshot.alerts:
            if alert.run == run.id and alert.severity != "info":
                yield from wrapped(f"{clean(run.name)}: {clean(alert.message)}", width, indent=2)


def runs_columns(snapshot: Snapshot, now: float) -> list[Column]:
    """What is told of each run in a table of them: how it stands, and what most of them log."""
    runs = snapshot.runs
    told = [progress_of(run, now) for run in runs]
    grave = [sum(a.run == run.id and a.severity != "info" for a in snapshot.alerts) for run in runs]
    columns = [
        Column("state", [one.state for one in told], left=True),
        Column("step", ["" if one.step is None else str(one.step) for one in told]),
        Column("of", ["" if one.total is None else str(one.total) for one in told], need=3),
        Column("points", [format_count(run.point_count) for run in runs], need=4),
        *_concept_columns(runs),
    ]
    if any(grave):
        columns.append(Column("alerts", [str(count or "") for count in grave], need=2))
    return columns


def _concept_columns(runs: Sequence[Run]) -> Iterator[Column]:
    """The last and the best value of what most of the runs log, the most telling first."""
    leading: dict[tuple[str, str], dict[int, MetricSummary]] = {}
    for run in runs:
        chosen: dict[tuple[str, str], str] = {}
        for name in telling(run.metrics):
            meaning = classify(name)
            if meaning.concept != "other":
                chosen.setdefault((meaning.concept, meaning.split), name)
        for key, name in list(chosen.items())[:_MOST_CONCEPTS]:
            leading.setdefault(key, {})[run.id] = summarise(run, name)
    found = sorted(leading.values(), key=len, reverse=True)[:_MOST_CONCEPTS]
    for place, by_run in enumerate(found):
        meaning = next((one.meaning for one in by_run.values() if one.best), next(iter(by_run.values())).meaning)
        head = label_of(meaning)
        last = [format_value(by_run[run.id].last) if run.id in by_run else "" for run in runs]
        yield Column(head, last, need=place and 10 + 2 * place)
        if meaning.direction in BETTER:
            tops = [one.best if (one := by_run.get(run.id)) else None for run in runs]
            yield Column("best", [format_value(top[1]) if top else "" for top in tops], need=11 + 2 * place)


def label_of(meaning: Meaning) -> str:
    """A concept in a word or two, with its half of the data where that is not the training."""
    label = meaning.label or meaning.concept
    return label if meaning.split == "train" or "val" in label else f"val {label}"


# ---------------------------------------------------------------------- one run


def _run_text(run: Run, snapshot: Snapshot, now: float, show_secrets: bool, width: int | None) -> Iterator[str]:
    yield f"{clean(run.name)}  ({shown_path(run.path)})"
    for name, text in facts_of(run, now):
        yield from wrapped(f"  {name:<10}  {text}", width, indent=14)
    for alert in snapshot.alerts:
        if alert.run == run.id:
            yield from wrapped(f"  {alert.severity:<10}  {clean(alert.message)}", width, indent=14)
    yield from _block("Configuration", list(flat(opened(run.config, show_secrets))), _CONFIG_LINES)
    for title, told in (("Best checkpoint", run.best_checkpoint), ("Final metrics", run.final_metrics)):
        yield from _block(title, list(flat(opened(told or {}, show_secrets))))
    metrics = metric_summaries(run)
    left_out: list[str] = []
    for title, split in (("Training", "train"), ("Validation", "val")):
        if of_split := [metric for metric in metrics if metric.meaning.split == split]:
            yield ""
            yield from _metric_table(title, of_split, width, left_out.append)
    yield from no_room(left_out, width)


def facts_of(run: Run, now: float) -> Iterator[tuple[str, str]]:
    """(what, in words) of where a run stands and of what it logged; cleaned."""
    progress = progress_of(run, now)
    yield "state", f"{progress.state}: {clean(progress.evidence)}"
    if progress.step is not None:
        of = f" of {progress.total}" if progress.total is not None else ""
        epoch = f", epoch {format_value(progress.epoch)}" if math.isfinite(progress.epoch) else ""
        yield "step", f"{progress.step}{of}{epoch}"
    if math.isfinite(progress.seconds_per_step):
        yield "pace", f"{duration(progress.seconds_per_step)} a step"
    if math.isfinite(progress.eta_seconds):
        yield "ends in", f"{duration(progress.eta_seconds)}, at {_moment(progress.finish_time, '%Y-%m-%d %H:%M')}"
    if math.isfinite(run.last_wall_time):
        yield "last point", _moment(run.last_wall_time, "%Y-%m-%d %H:%M:%S")
    for name, split in (("training", "train"), ("validation", "val")):
        if logged := entries(run, split):
            count = "1 entry" if logged.count == 1 else f"{logged.count} entries"
            yield name, f"{count}, the last at step {logged.last_step}"
    yield "logged", _logged(run)


def _logged(run: Run) -> str:
    sources = list(dict.fromkeys(stream.found.source for stream in run.streams if stream.point_count))
    damaged = sum(stream.status.damaged for stream in run.streams if stream.status)
    lost = f"; {damaged} damaged records skipped" if damaged else ""
    metrics = f"{len(run.metrics)} metric{'s' * (len(run.metrics) != 1)}"
    of = f"{len(sources)} source{'s' * (len(sources) != 1)}"
    return (
        f"{format_count(run.point_count)} points of {metrics} in {of}: "
        f"{clean(', '.join(sources[:4]))}{' …' if len(sources) > 4 else ''}{lost}"
    )


def _moment(when: float, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(when))
    except (OverflowError, ValueError, OSError):
        return "a time beyond the clock"


def _block(title: str, settings: Sequence[tuple[str, Any]], most: int | None = None) -> Iterator[str]:
    if not settings:
        return
    yield ""
    yield f"  {title}"
    for key, value in settings[:most]:
        name = clean(key)
        yield f"    {name}{' ' * max(1, 28 - cell_width(name))}{shown(value)}"
    if most is not None and len(settings) > most:
        yield f"    … and {len(settings) - most} more (--json has them all)"


def _metric_table(
    title: str, metrics: Sequence[MetricSummary], width: int | None, left_out: Callable[[str], None]
) -> Iterator[str]:
    tops = [metric.best for metric in metrics]
    columns = [
        Column("points", [str(len(metric.curve)) for metric in metrics], need=5),
        Column("step", [str(metric.last_step) for metric in metrics], need=6),
        Column("last", [format_value(metric.last) for metric in metrics]),
        Column("best", [format_value(top[1]) if top else "" for top in tops], need=1),
        Column("at step", [str(top[0]) if top else "" for top in tops], need=4),
        Column("mean", [format_value(metric.numbers.mean) for metric in metrics], need=3),
        Column("deviation", [format_value(metric.numbers.deviation) for metric in metrics], need=3),
        Column(
            "trend",
            [trend_text(metric) for metric in metrics],
            need=2,
            left=True,
            brief=[trend_text(metric, brief=True) for metric in metrics],
        ),
    ]
    names, notes = [clean(metric.name) for metric in metrics], [odd_text(metric) for metric in metrics]
    yield from table(title, names, columns, width, notes=notes, left_out=left_out)


def trend_text(metric: MetricSummary, brief: bool = False) -> str:
    """Which way it goes and how far: "rising +0.5", in brief "↑ 0.5", "flat"; "" where there are too few points to
    say."""
    found = metric.trend
    if found.direction == "unknown":
        return ""
    if found.direction == "flat":
        return "flat"
    if brief:
        return f"{_ARROWS[found.direction]} {format_value(abs(found.change))}"
    return f"{found.direction} {'+' * (found.change > 0)}{format_value(found.change)}"


def odd_text(metric: MetricSummary) -> str:
    """What a person should know of its points: "2 NaN, 1 superseded"; "" where there is nothing."""
    curve = metric.curve
    counted = ((curve.nan_count, "NaN"), (curve.infinity_count, "infinite"), (curve.superseded, "superseded"))
    return ", ".join(f"{count} {what}" for count, what in counted if count)


__all__ = ["as_text", "facts_of", "label_of", "odd_text", "trend_text"]
