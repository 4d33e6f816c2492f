"""Summary of runs as text: one run in full, several runs as a table; and the facts and columns that HTML shows, too."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from tuimon.analysis.aligned_steps import common_name, step_name
from tuimon.analysis.attempts import attempts_of, lost_at_restarts, lost_work
from tuimon.analysis.comparing import MISSING, compared_settings, flat
from tuimon.analysis.hidden_values import hidden_conflict
from tuimon.analysis.log_files import damage_of, reading_remark, unread_parts
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import critical_count, state_sign, state_words
from tuimon.analysis.words import duration, setting_text
from tuimon.draw.numbers import format_count, format_number, format_value
from tuimon.draw.table import TextColumn, TextTable, rows_table
from tuimon.exports.summary import MetricEntry, entries, metric_summaries, summarise, unit_columns
from tuimon.exports.table import no_room, table_text, wrapped
from tuimon.panels import facts_about, heading_of, objective_of, relevant_metrics
from tuimon.panels.lists.run_metrics import RunLevels
from tuimon.panels.system_history import odd_devices
from tuimon.redact import redacted
from tuimon.run_notes import note_of
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, local_time, shown_path

_CONFIG_LINES = 40
"""Maximum number of settings that are printed."""
_MAX_ATTEMPTS = 20
"""Maximum number of attempts of a training, and of its restarts, that are listed, the last ones."""
_LONGEST_END = 100
"""Maximum characters of the words about the end of an attempt."""
_MAX_SETTINGS = 6
"""Maximum number of settings with a column in the table of the trials of a search."""
_LEVEL = "level"
"""Word after the name of a metric whose levels a column has."""
_GOAL = "reward.train"
"""Concept of what many runs are trained for."""
_MAX_CONCEPTS = 4
"""Maximum number of concepts with a column in the table of several runs."""


def as_text(snapshot: Snapshot, now: float, width: int | None = None, full: bool = False) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited). All foreign text is cleaned.

    full: print each of several runs in full, below their table.
    """
    if len(snapshot.runs) > 1:
        yield from _runs_text(snapshot, now, width)
    if len(snapshot.runs) == 1 or full:
        for number, run in enumerate(snapshot.runs):
            if number or full:
                yield ""
            yield from _run_text(run, snapshot, now, width)
    for notice in snapshot.notices:
        if notice.level != "info":
            yield f"{notice.level}: {clean(notice.message)}" + (f" ({clean(notice.hint)})" if notice.hint else "")


# ---------------------------------------------------------------------- several runs


def _runs_text(snapshot: Snapshot, now: float, width: int | None) -> Iterator[str]:
    runs = snapshot.runs
    left_out: list[str] = []
    table = runs_table(snapshot, now)
    yield from table_text(table, width, indent=0, left_out=left_out.append)
    yield from no_room(left_out, width)
    if any(column.head.endswith(f" {_LEVEL}") for column in table.columns):
        yield from wrapped("level: mean of the last tenth of the points, as in compare", width)
    yield ""
    for run in runs:
        for text in note_of(run.path).lines:
            yield from wrapped(f"{clean(run.name)}: {text}", width, indent=2)
        for alert in snapshot.alerts:
            if alert.run == run.id and alert.severity != "info":
                yield from wrapped(f"{clean(run.name)}: {clean(alert.message)}", width, indent=2)


def runs_table(snapshot: Snapshot, now: float) -> TextTable:
    """Return the table of runs: state, step, and the metrics that most runs log."""
    runs = snapshot.runs
    progresses = [progress_of(run, now) for run in runs]
    grave = [sum(a.run == run.id and a.severity != "info" for a in snapshot.alerts) for run in runs]
    columns = [
        TextColumn("state", [_state(run, snapshot, p) for run, p in zip(runs, progresses, strict=True)], left=True),
        TextColumn(
            common_name(p.position_name for p in progresses),
            ["" if p.position is None else str(p.position) for p in progresses],
        ),
        TextColumn("of", ["" if p.total is None else str(p.total) for p in progresses], need=3),
        TextColumn("points", [format_count(run.point_count) for run in runs], need=4),
        *(_objective_columns(runs) if all(map(objective_of, runs)) else _concept_columns(runs)),
    ]
    if any(grave):
        columns.append(TextColumn("alerts", [str(count or "") for count in grave], need=2))
    return TextTable(f"{len(runs)} runs", [clean(run.name) for run in runs], columns)


def _state(run: Run, snapshot: Snapshot, progress: ProgressReport) -> str:
    """Return the state of a run, with the sign of a failure if it has a critical alert."""
    critical = critical_count(snapshot.alerts, run.id)
    return f"{state_sign(progress.state, critical)} {progress.state}"


def _objective_columns(runs: Sequence[Run]) -> Iterator[TextColumn]:
    """Yield the columns of the trials of a search: the levels of their metric and the settings that differ."""
    levels = RunLevels()
    readings = [(run, objective_of(run)) for run in runs]
    head = heading_of((run, reading.metric) for run, reading in readings if reading is not None)
    results = [levels.level(run, objective_of) for run in runs]
    yield TextColumn(clean(head), ["" if result is None else format_value(result) for result in results])
    different, _ = compared_settings([redacted(run.config) for run in runs])
    for index, (name, values) in enumerate(different[:_MAX_SETTINGS]):
        yield TextColumn(clean(name), ["" if v is MISSING else setting_text(v, 32) for v in values], need=10 + index)


def _concept_columns(runs: Sequence[Run]) -> Iterator[TextColumn]:
    """Yield columns with the levels, last and best values of the concepts that most runs log.

    The reward of at least a quarter of the runs comes first: it is what they are trained for.
    """
    leading: dict[tuple[str, str, str], dict[int, MetricEntry]] = {}
    for run in runs:
        chosen: dict[tuple[str, str, str], str] = {}
        for name in relevant_metrics(run):
            meaning = meaning_of(run, name)
            if meaning.label:
                chosen.setdefault((meaning.concept, meaning.split, meaning.label), name)
        for key, name in list(chosen.items())[:_MAX_CONCEPTS]:
            leading.setdefault(key, {})[run.id] = summarise(run, name)

    def importance(item: tuple[tuple[str, str, str], dict[int, MetricEntry]]) -> tuple[bool, int]:
        (concept, *_), of = item
        return concept == _GOAL and 4 * len(of) >= len(runs), len(of)

    shared = [of for _, of in sorted(leading.items(), key=importance, reverse=True)][:_MAX_CONCEPTS]
    heads = [heading_of((run, of[run.id].name) for run in runs if run.id in of) for of in shared]
    for index, by_run in enumerate(shared):
        names = Counter(summary.name for summary in by_run.values())
        head = heads[index] if heads.count(heads[index]) == 1 else clean(names.most_common(1)[0][0])
        summaries = [by_run.get(run.id) for run in runs]

        def column(title: str, value: Callable[[MetricEntry], float | None], need: int) -> TextColumn:
            cells = [("" if m is None else _number(value(m), m.unit_text)) for m in summaries]  # noqa: B023  used at once
            return TextColumn(title, cells, need=need)

        yield column(f"{head} {_LEVEL}", lambda m: math.nan if m.level is None else m.level, index and 10 + 3 * index)
        yield column("last", lambda m: m.last, 12 + 3 * index)
        if any(summary.best for summary in by_run.values()):
            yield column("best", lambda m: m.best.value if m.best else None, 11 + 3 * index)


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else format_value(value, unit)


# ---------------------------------------------------------------------- one run


def _run_text(run: Run, snapshot: Snapshot, now: float, width: int | None) -> Iterator[str]:
    yield f"{clean(run.name)}  ({shown_path(run.path)})"
    for name, text in facts_of(run, now, critical=critical_count(snapshot.alerts, run.id)):
        yield from wrapped(f"  {name:<11}  {text}", width, indent=15)
    alerts = [alert for alert in snapshot.alerts if alert.run == run.id]
    named = {change.metric for alert in alerts if alert.severity != "info" for change in alert.related}
    for alert in alerts:
        if alert.severity != "info" or alert.metric not in named:
            yield from wrapped(f"  {alert.severity:<11}  {clean(alert.message)}", width, indent=15)
    yield from _block("Configuration", list(flat(redacted(run.config))), _CONFIG_LINES)
    for title, values in (("Best checkpoint", run.best_checkpoint), ("Final metrics", run.final_metrics)):
        yield from _block(title, list(flat(redacted(values or {}))))
    yield from _attempts(run, width)
    yield from metric_lines(run, metric_summaries(run), width)


def metric_lines(run: Run, metrics: Sequence[MetricEntry], width: int | None) -> Iterator[str]:
    """Yield the tables of the metrics of training and validation."""
    left_out: list[str] = []
    for title, split in (("Training", "train"), ("Validation", "val")):
        if of_split := [metric for metric in metrics if metric.split == split]:
            yield ""
            yield from _metric_table(run, title, of_split, width, left_out.append)
    yield from no_room(left_out, width)


def facts_of(run: Run, now: float, count_entries: bool = True, critical: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the state of a run and of what it logged; cleaned.

    count_entries: also how many entries it logged, for which the curves of all metrics are needed. critical: number of
    active critical alerts.
    """
    progress = progress_of(run, now)
    yield "state", f"{state_words(progress.state, critical)}: {clean(progress.evidence)}"
    note = note_of(run.path)
    if note.line:
        yield "note", note.line
    for sign, step, text in note.signed_steps:
        yield f"note {sign}", f"step {step}: {text}"
    about = facts_about(run)
    for name in ("experiment", "project"):
        if about.get(name):
            yield name, clean(str(about[name]))
    if run.ranks is not None and run.ranks.restart:
        yield "restart", clean(run.ranks.restart)
    yield from _restarts(run, progress.step_name)
    lost = lost_work(run, progress.has_died)
    if lost is not None and not lost.is_resumed and (text := lost.text(progress.step_name)):
        yield "lost", text
    if progress.step is not None:
        of = f" of {progress.total}" if progress.total is not None else ""
        epoch = f", epoch {format_value(progress.epoch)}" if math.isfinite(progress.epoch) else ""
        yield progress.position_name, f"{progress.position}{of}{epoch}"
    if math.isfinite(progress.seconds_per_step):
        source = " with pauses" if progress.has_long_pauses else ""
        source += ", as its points were seen to arrive" if progress.pace_watched else ""
        if progress.pace_of_bar:
            source = ", the rate of its progress bar"
        yield "pace", f"{duration(progress.seconds_per_step)} {progress.per_step}{source}"
    if math.isfinite(progress.eta_seconds):
        finish = local_time(progress.finish_time, "%Y-%m-%d %H:%M") or "a time out of range"
        yield "ETA", f"{duration(progress.eta_seconds)}, at {finish}"
    elif progress.lacks_times:
        yield "ETA", "unknown: no time stamps with a date"
    if math.isfinite(run.last_wall_time):
        ends = [local_time(when, "%Y-%m-%d %H:%M:%S") for when in (run.first_wall_time, run.last_wall_time)]
        lasted = f", {duration(run.duration)}" if run.duration > 0 else ""
        yield "points", " to ".join(dict.fromkeys(filter(None, ends))) + lasted or "a time out of range"
    for name, split in (("training", "train"), ("validation", "val")):
        if count_entries and (logged := entries(run, split)):
            count = "1 entry" if logged.entries == 1 else f"{logged.entries} entries"
            yield name, f"{count}, the last at {step_name(run)} {logged.last_step}"
    yield "logged", _logged(run)
    if count_entries and (odd := odd_devices(run)):
        yield "GPUs", odd
    if remark := reading_remark(run):
        yield "remark", remark
    if unread := unread_parts(run):
        yield "not read", unread
    if count_entries and (conflict := hidden_conflict(run)):
        yield "conflict", f"{conflict}; doctor --metric NAME shows them"


def _restarts(run: Run, word: str) -> Iterator[tuple[str, str]]:
    """Yield a line for each restart, the first one first. word: what the run counts, such as "step"."""
    restarts = lost_at_restarts(run)
    if len(restarts) > _MAX_ATTEMPTS:
        yield "restarts", f"{len(restarts)}, the last {_MAX_ATTEMPTS}:"
    for work in restarts[-_MAX_ATTEMPTS:]:
        if work.checkpoint is None:
            yield "resumed", ", ".join(filter(None, (f"at {word} {work.first_step}", work.text(word))))
        else:
            yield "resumed", work.text(word).removeprefix("resumed ")


def _logged(run: Run) -> str:
    files: dict[str, list[str]] = {}
    for stream in run.streams:
        if stream.point_count:
            files.setdefault(stream.info.source, []).append(stream.info.path)
    sources = [_source_text(name, paths) for name, paths in files.items()]
    damage = damage_of(run)
    lost = f"; {damage}" if damage else ""
    metrics = f"{len(run.metrics)} metric{'s' * (len(run.metrics) != 1)}"
    of = f"{len(sources)} source{'s' * (len(sources) != 1)}"
    return (
        f"{format_count(run.point_count)} points of {metrics} in {of}: "
        f"{clean(', '.join(sources[:4]))}{' …' if len(sources) > 4 else ''}{lost}"
    )


def _source_text(source: str, files: Sequence[str]) -> str:
    """Return the name of a source and the number of its files; "." is the given directory itself."""
    if len(files) == 1:
        return os.path.basename(files[0]) if source == "." else source
    name = os.path.basename(os.path.dirname(files[0])) if source == "." else source
    return f"{name} ({len(files)} files)"


def _attempts(run: Run, width: int | None) -> Iterator[str]:
    """Yield a table of the attempts of a training that have files of their own, if there are several."""
    attempts = attempts_of(run)
    if not attempts:
        return
    shown, steps = attempts[-_MAX_ATTEMPTS:], step_name(run)
    rows = (
        (
            clean(attempt.name),
            str(attempt.first_step),
            str(attempt.last_step),
            "" if attempt.resumed_from is None else str(attempt.resumed_from),
            str(attempt.superseded or ""),
            local_time(attempt.begin, "%Y-%m-%d %H:%M") or "",
            clean(attempt.end, _LONGEST_END),
        )
        for attempt in shown
    )
    heads = ("", f"first {steps}", f"last {steps}", "resumed from", f"superseded {steps}s", "begins", "end")
    yield ""
    title = f"{len(attempts)} attempts" if len(shown) == len(attempts) else f"last {len(shown)} of {len(attempts)}"
    table = rows_table(title, heads, rows, ("begins", "end"))
    needs = zip(table.columns, (0, 0, 2, 1, 2, 3), strict=True)
    columns = [replace(column, need=need) for column, need in needs if not need or any(column.cells)]
    yield from table_text(replace(table, columns=columns), width)


def _block(title: str, settings: Sequence[tuple[str, Any]], most: int | None = None) -> Iterator[str]:
    if not settings:
        return
    yield ""
    yield f"  {title}"
    for key, value in settings[:most]:
        name = clean(key)
        yield f"    {name}{' ' * max(1, 28 - cell_width(name))}{setting_text(value)}"
    if most is not None and len(settings) > most:
        yield f"    … and {len(settings) - most} more (--json has them all)"


def _metric_table(
    run: Run, title: str, metrics: Sequence[MetricEntry], width: int | None, left_out: Callable[[str], None]
) -> Iterator[str]:
    steps = step_name(run)

    def numbers(values: Iterable[float | None]) -> list[str]:
        pairs = zip(values, metrics, strict=True)
        return [format_number(math.nan if value is None else value, metric.unit_text) for value, metric in pairs]

    tops = [metric.best for metric in metrics]
    columns = [
        TextColumn("points", [str(metric.points) for metric in metrics], need=5),
        TextColumn(steps, [str(metric.last_step) for metric in metrics], need=6),
        TextColumn("last", numbers(metric.last for metric in metrics)),
        *unit_columns((metric.unit for metric in metrics), need=4),
        TextColumn("best", [format_number(m.best.value, m.unit_text) if m.best else "" for m in metrics], need=1),
        TextColumn(f"at {steps}", [str(top.step) if top else "" for top in tops], need=4),
        TextColumn("mean", numbers(metric.mean for metric in metrics), need=3),
        TextColumn("deviation", numbers(metric.deviation for metric in metrics), need=3),
        TextColumn(
            "trend",
            [metric.trend.text() for metric in metrics],
            need=2,
            left=True,
            brief=[metric.trend.text(brief=True) for metric in metrics],
        ),
    ]
    table = TextTable(title, [clean(m.name) for m in metrics], columns, remarks=[m.remarks for m in metrics])
    yield from table_text(table, width, left_out=left_out)
