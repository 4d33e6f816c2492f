"""What happened to a run that failed or collapsed: what changed first, and what to go back to.

Example: the onset is step 180, where entropy began to fall; KL rose at 205; the last checkpoint before is of step 150,
and 3.2 h have been trained since. Each statement is a number with the metric, the file or the step it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.alert_words import change_words
from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.comparing import MISSING, compared_settings
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import failed_runs
from tuimon.analysis.words import duration, setting_text
from tuimon.draw.numbers import format_exact, format_value
from tuimon.draw.table import TextTable, rows_table
from tuimon.errors import NothingFound
from tuimon.exports import sample_lines
from tuimon.exports.around import Around, around
from tuimon.exports.html import page
from tuimon.exports.pictures import charts_of, options_of
from tuimon.redact import redacted
from tuimon.store import Run, Snapshot
from tuimon.store.snapshot import newest_of
from tuimon.text import clean, shown_path

_MOST = 12
"""Number of metrics that are named as unusual at the onset."""
_BEFORE, _AFTER = 2.0, 3.0
"""The curves go from the onset as far back, and on, as these times the steps from the onset to the end of the run, and
at least FEWEST steps."""
_FEWEST = 50


class Finding(Struct, frozen=True, order=True):
    """Something that changed."""

    step: int
    """Where it began."""
    metric: str
    severity: str
    """Of an alert; "" for a metric that is a part of one."""
    words: str
    hint: str = ""


class Autopsy(Struct, frozen=True, kw_only=True):
    """Facts about a run that failed."""

    run: Run
    state: str
    evidence: str
    findings: tuple[Finding, ...]
    """Alerts of the run and the metrics that are a part of them, the first one first."""
    onset: int | None
    """Step at which the first of them began; the last step without one, None without steps."""
    unusual: tuple[Around, ...]
    """What was unusual at the onset, the largest deviation first."""
    window: tuple[int, int]
    """First and last step of the curves."""
    metrics: tuple[str, ...]
    """Metrics of the curves: those of the alerts, and those that were unusual."""
    healthy: Run | None
    """The newest other run without a failure."""
    differences: tuple[tuple[str, tuple[Any, ...]], ...]
    """Settings (name, value here and in the healthy run) that differ."""
    checkpoint: int | None
    """Step of the last checkpoint on disk before the onset."""
    lost_seconds: float
    """Time from the checkpoint, or else from the onset, to the end of the run; NaN if the log has no times."""
    lost_steps: int
    gpus: int
    """Number of ranks that logged, each with one GPU; 0 if the logs name none."""

    @property
    def lost_gpu_hours(self) -> float:
        """GPU hours of that time; NaN if the ranks are not known."""
        return self.lost_seconds * self.gpus / 3600 if self.gpus else math.nan


def failed_run(snapshot: Snapshot, now: float) -> Run:
    """Return the newest run that failed: one with a critical alert, or that crashed. now: wall time (s since epoch).

    The only run is taken in any case. Raises NothingFound if none of several has failed.
    """
    if len(snapshot.runs) == 1:
        return snapshot.runs[0]
    failed = failed_runs(snapshot.alerts)
    run = newest_of(run for run in snapshot.runs if run.id in failed or progress_of(run, now).has_died)
    if run is None:
        raise NothingFound("none of the runs has failed", "Name one of them alone to see its first alert.")
    return run


def autopsy_of(run: Run, snapshot: Snapshot, now: float) -> Autopsy:
    """Return the facts about a run. snapshot: also holds the runs that it is compared with."""
    progress = progress_of(run, now)
    findings = tuple(sorted(_findings(run, snapshot)))
    onset = findings[0].step if findings else progress.step
    last = progress.step or 0
    unusual = [] if onset is None else [entry for entry in around(run, onset) if entry.unusual]
    unusual.sort(key=lambda entry: -abs(math.inf if entry.distance is None else entry.distance))
    named = (*(finding.metric for finding in findings), *(entry.name for entry in unusual[:_MOST]))
    healthy = _healthy_run(run, snapshot, now)
    differences = () if healthy is None else compared_settings([redacted(run.config), redacted(healthy.config)])[0]
    checkpoint = max((step for step in run.checkpoints if onset is None or step < onset), default=None)
    since = checkpoint if checkpoint is not None else onset
    return Autopsy(
        run=run,
        state=progress.state,
        evidence=progress.evidence,
        findings=findings,
        onset=onset,
        unusual=tuple(unusual[:_MOST]),
        window=_window(onset or 0, last),
        metrics=tuple(dict.fromkeys(name for name in named if name in run.metrics)),
        healthy=healthy,
        differences=differences,
        checkpoint=checkpoint,
        lost_seconds=math.nan if since is None else run.last_wall_time - _time_of(run, since),
        lost_steps=0 if since is None else max(last - since, 0),
        gpus=0 if run.ranks is None else len(run.ranks.rows),
    )


def _findings(run: Run, snapshot: Snapshot) -> Iterator[Finding]:
    for alert in (*snapshot.alerts, *snapshot.resolved):
        if alert.run != run.id or alert.severity == "info" or alert.step is None:
            continue
        yield Finding(alert.step, alert.metric, alert.severity, alert.message, alert.hint)
        for part in alert.related:
            if part.step is not None:
                words = change_words(replace(part, what=part.what or alert.what), alert.active)
                yield Finding(part.step, part.metric, "", f"{part.metric} {words}")


def _window(onset: int, last: int) -> tuple[int, int]:
    span = max(last - onset, _FEWEST)
    return max(0, round(onset - _BEFORE * span)), min(last, round(onset + _AFTER * span))


def _healthy_run(run: Run, snapshot: Snapshot, now: float) -> Run | None:
    failed = failed_runs(snapshot.alerts)
    others = (other for other in snapshot.runs if other.id != run.id and other.id not in failed)
    return newest_of(other for other in others if not progress_of(other, now).has_died)


def _time_of(run: Run, step: int) -> float:
    """Return when a run logged its last point at or before a step (s since the epoch); NaN if that is not known."""
    if run.busiest_metric is None:
        return math.nan
    curve = run.curve(run.busiest_metric)
    row = int(np.searchsorted(curve.steps, step, "right")) - 1
    return float(curve.wall_times[max(row, 0)]) if len(curve) else math.nan


_COLUMNS = 320
_LONGEST = 120
"""Maximum characters of a setting."""


def as_html(found: Autopsy, now: float, samples: Sequence[str] = ()) -> str:
    """Return the page. now: wall time (s since epoch). samples: directories outside of the run with generated texts."""
    run = found.run
    options = options_of(steps=found.window, last=found.window[1])
    charts = charts_of(run, lambda name: name in found.metrics, options, _COLUMNS)
    texts = []
    if found.onset is not None:
        before = found.onset - 1 if found.checkpoint is None else found.checkpoint
        for title, step in (("before", before), ("after", found.window[1])):
            if (shown := sample_lines.for_page(sample_lines.of_run(run, step, samples))) is not None:
                kinds = {heading.partition(":")[0]: (heading, text) for heading, text in reversed(shown["samples"])}
                title = f"{shown['title']}, {title} the onset"
                texts.append({"title": title, "note": shown["note"], "samples": list(kinds.values())})
    return page(
        "autopsy.html",
        now,
        title=f"Autopsy of {clean(run.name)}",
        path=shown_path(run.path),
        facts=list(_facts(found)),
        tables=list(_tables(found)),
        charts=list(charts),
        steps=step_name(run),
        texts=texts,
    )


def _facts(found: Autopsy) -> Iterator[tuple[str, str]]:
    step = step_name(found.run)
    yield "state", f"{found.state}: {clean(found.evidence)}"
    if found.onset is None:
        return
    what = "where the first change began" if found.findings else "the last one: there is no alert"
    yield "onset", f"{step} {found.onset}, {what}"
    if found.checkpoint is None:
        yield "checkpoint", "none on disk before the onset"
    else:
        yield "checkpoint", f"{step} {found.checkpoint}, the last one on disk before the onset"
    since = "the checkpoint" if found.checkpoint is not None else "the onset"
    if math.isfinite(found.lost_seconds):
        gpus = f", {found.lost_gpu_hours:.3g} GPU hours of {found.gpus} ranks" if found.gpus else ""
        yield "lost", f"{duration(found.lost_seconds)} and {found.lost_steps} {step}s since {since}{gpus}"
    if found.healthy is not None:
        yield "compared with", f"{clean(found.healthy.name)}, the newest run without a failure"


def _tables(found: Autopsy) -> Iterator[TextTable]:
    """Yield what changed, in the order of its beginning; what was unusual at the onset; the settings that differ."""
    step = step_name(found.run)
    rows = ((str(f.step), f.severity, clean(f.metric), clean(f.words), clean(f.hint)) for f in found.findings)
    yield rows_table("What changed first", (step, "severity", "metric", "what", "advice"), rows, _TEXTS)
    unusual = (
        (
            clean(entry.name),
            str(entry.step),
            format_exact(entry.value),
            "" if entry.usual is None else format_value(entry.usual),
            "" if entry.distance is None else f"{entry.distance:.3g}",
        )
        for entry in found.unusual
    )
    heads = ("metric", step, "value", "usual", "usual distances")
    yield rows_table(f"Unusual at the onset, {step} {found.onset}", heads, unusual)
    if found.healthy is not None:
        settings = (
            (clean(name), *("-" if value is MISSING else setting_text(value, _LONGEST) for value in values))
            for name, values in found.differences
        )
        names = (clean(found.run.name), clean(found.healthy.name))
        note = "" if found.differences else "no setting differs"
        yield rows_table(
            "Settings that differ from the last healthy run", ("setting", *names), settings, names, note=note
        )


_TEXTS = ("severity", "metric", "what", "advice")
