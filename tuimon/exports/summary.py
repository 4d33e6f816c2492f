"""summary_of(): state and metrics of runs as one struct, which text, JSON and HTML show.

Secrets in settings are hidden unless requested.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from tuimon.analysis.aligned_steps import with_training_steps
from tuimon.analysis.attempts import LostWork, lost_at_restarts
from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._shared import without_secrets
from tuimon.exports.documents import (
    AlertEntry,
    Count,
    NoticeEntry,
    RunState,
    Version,
    alert_entry,
    filled,
    known,
    note_entry,
    one_of,
)
from tuimon.exports.metrics import Entries, MetricEntry, entries, metric_summaries, summarise
from tuimon.model.ranks import JobRanks, RootCause, Straggler
from tuimon.panels import facts_about, relevant_metrics
from tuimon.redact import redacted_text
from tuimon.run_notes import RunNote
from tuimon.store import Run, Snapshot
from tuimon.text import clean


class RestartEntry(Struct, frozen=True, kw_only=True):
    """A restart of a run."""

    first_step: int | None
    """First logged step after it."""
    resumed_from: int | None
    """Step of the checkpoint, if it is certain."""
    last_step_before: int
    """Last logged step of the attempt before."""
    steps_lost: int | None
    """Steps after the checkpoint."""
    superseded: Count
    """Logged steps that are not drawn."""
    resumed_time: float | None
    """Of the first point after it, seconds since the epoch."""
    seconds_without_point: float | None


class SourceEntry(Struct, frozen=True, kw_only=True):
    """A log of a run."""

    source: str
    format: str
    points: Count
    state: Annotated[
        str,
        one_of("waiting", "reading", "current", "writing", "gone", "superseded", "unreadable", "unsupported"),
    ]
    damaged: Count
    """Damaged parts; consecutive records that could not be read are one part."""


class CauseEntry(Struct, frozen=True, kw_only=True):
    """The cause of the end of a job, or of an attempt of it."""

    rank: int | None
    """Null: no rank is to blame, or the evidence does not suffice."""
    node: str | None
    text: str
    evidence: str | None
    """The line that shows it."""
    file: str | None
    """Relative to the directory of the job."""
    line: int | None
    rule: str | None
    resolved: bool
    """The job went on after it."""
    step: int | None
    """Last step before it."""


class UnreachableHost(Struct, frozen=True, kw_only=True):
    """A host of the job that cannot be reached."""

    host: str
    reason: str


class RanksEntry(Struct, frozen=True, kw_only=True):
    """The ranks of the job that wrote a run."""

    count: int
    """Ranks that the files show."""
    verdict: str
    """The verdict in a sentence."""
    root_cause: CauseEntry | None
    """Null: no failure is known."""
    stragglers: tuple[int, ...]
    """Ranks that compute longer than the others, the slowest first."""
    straggler_evidence: tuple[Straggler, ...]
    silent: tuple[int, ...]
    """Ranks that stopped without an error while others waited for them."""
    unreachable: tuple[UnreachableHost, ...]
    """Hosts of the job that cannot be reached now; nothing new is known of their ranks."""


class RunEntry(RunState, frozen=True, kw_only=True):
    """A run."""

    note: RunNote | None
    """The user's note about the run; null: none."""
    total_steps: int | None
    epoch: float | None
    seconds_per_step: float | None
    eta_seconds: float | None
    first_wall_time: float | None
    """Seconds since the epoch."""
    last_wall_time: float | None
    """Seconds since the epoch."""
    points: Count
    """As logged."""
    restarts: tuple[RestartEntry, ...]
    """Restarts of the run, the first one first, by the metric with the most points."""
    about: Mapping[str, Any]
    """What the logs say about the run itself: tracker, experiment or project, host, program; secrets hidden."""
    training: Entries | None
    validation: Entries | None
    config: Mapping[str, Any]
    """As logged; secrets hidden."""
    best_checkpoint: Mapping[str, Any] | None
    final_metrics: Mapping[str, Any]
    sources: tuple[SourceEntry, ...]
    metrics: tuple[MetricEntry, ...]
    """The most telling first."""
    ranks: RanksEntry | UnsetType = UNSET
    """Of a run that several processes wrote."""


class SummaryDocument(Struct, frozen=True, kw_only=True):
    """State and metrics of runs."""

    schema: Version = 1
    runs: tuple[RunEntry, ...]
    alerts: tuple[AlertEntry, ...]
    """Active."""
    notices: tuple[NoticeEntry, ...]


class RunOverSteps(Struct, frozen=True, kw_only=True):
    """A run over a range of steps."""

    name: str
    path: str
    metrics: tuple[MetricEntry, ...]
    """The most telling first; all numbers are those of the points in the range."""


class OverStepsDocument(Struct, frozen=True, kw_only=True):
    """The metrics of runs over a range of steps (--steps)."""

    schema: Version = 1
    steps: tuple[int, int]
    """First and last step asked for."""
    runs: tuple[RunOverSteps, ...]


def run_over_steps(run: Run, steps: tuple[int, int], metrics: Container[str] | None = None) -> RunOverSteps:
    """Return a run over a range of steps. steps: first and last, both included. metrics: names; None for all."""
    names = [name for name in relevant_metrics(run) if metrics is None or name in metrics]
    parts = ((name, with_training_steps(run, name).in_steps(*steps)) for name in names)
    entries = tuple(summarise(run, name, part) for name, part in parts if len(part))
    return RunOverSteps(name=run.name, path=run.path, metrics=entries)


def summary_of(snapshot: Snapshot, now: float, show_secrets: bool = False) -> SummaryDocument:
    """Return the summary of a snapshot. now: wall time (s since epoch)."""
    return SummaryDocument(
        runs=tuple(run_entry(run, now, show_secrets) for run in snapshot.runs),
        alerts=tuple(alert_entry(alert, AlertEntry) for alert in snapshot.alerts),
        notices=tuple(filled(NoticeEntry, notice) for notice in snapshot.notices),
    )


def run_entry(run: Run, now: float, show_secrets: bool = False) -> RunEntry:
    """Return the summary of a run."""
    progress = progress_of(run, now)
    sources = (
        SourceEntry(
            source=stream.info.source,
            format=stream.info.format,
            points=stream.point_count,
            state=stream.status.state if stream.status else "waiting",
            damaged=stream.status.damaged if stream.status else 0,
        )
        for stream in run.streams
    )
    return filled(
        RunEntry,
        progress,
        id=run.id,
        name=run.name,
        path=run.path,
        note=note_entry(run.path),
        total_steps=progress.total,
        first_wall_time=known(run.first_wall_time),
        last_wall_time=known(run.last_wall_time),
        points=run.point_count,
        restarts=tuple(_restart(work) for work in lost_at_restarts(run)),
        about=without_secrets(facts_about(run), show_secrets),
        training=entries(run, "train"),
        validation=entries(run, "val"),
        config=without_secrets(run.config, show_secrets),
        best_checkpoint=without_secrets(run.best_checkpoint, show_secrets) if run.best_checkpoint else None,
        final_metrics=without_secrets(run.final_metrics, show_secrets),
        sources=tuple(sources),
        metrics=metric_summaries(run),
        ranks=UNSET if run.ranks is None else _ranks(run.ranks),
    )


def _ranks(ranks: JobRanks) -> RanksEntry:
    return filled(
        RanksEntry,
        ranks,
        count=len(ranks.rows),
        root_cause=_cause(ranks.root_cause) if ranks.root_cause else None,
        stragglers=tuple(straggler.rank for straggler in ranks.stragglers),
        straggler_evidence=ranks.stragglers,
        unreachable=tuple(UnreachableHost(host=host, reason=why) for host, why in ranks.unreachable),
    )


def _cause(cause: RootCause) -> CauseEntry:
    return filled(
        CauseEntry,
        cause,
        node=clean(cause.node) or None,
        text=redacted_text(clean(cause.text)),
        evidence=redacted_text(clean(cause.evidence)) or None,
        file=clean(cause.place.path) if cause.place else None,
        line=(cause.place.line or None) if cause.place else None,
        rule=cause.rule or None,
    )


def _restart(work: LostWork) -> RestartEntry:
    return RestartEntry(
        first_step=work.first_step,
        resumed_from=work.checkpoint,
        last_step_before=work.last_step,
        steps_lost=work.steps,
        superseded=work.superseded,
        resumed_time=known(work.resumed),
        seconds_without_point=known(work.seconds),
    )
