"""summary_of(): state and metrics of runs as one struct, which text, JSON and HTML show.

Secrets in settings are hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from tuimon.analysis.aligned_steps import with_training_steps
from tuimon.analysis.attempts import LostWork, lost_at_restarts
from tuimon.analysis.change import change
from tuimon.analysis.comparison_rows import BETTER
from tuimon.analysis.hidden_values import hidden_values
from tuimon.analysis.level import level
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.statistics import best, statistics
from tuimon.analysis.words import steps_text
from tuimon.draw.numbers import format_value
from tuimon.draw.table import TextColumn
from tuimon.exports.documents import (
    AlertEntry,
    Count,
    Direction,
    NoticeEntry,
    Number,
    RunState,
    Split,
    StepValue,
    Version,
    alert_entry,
    filled,
    known,
    note_entry,
    one_of,
)
from tuimon.model.points import Floats, Steps
from tuimon.model.ranks import JobRanks, RootCause, Straggler
from tuimon.panels import SECONDARY_PANELS, facts_about, relevant_metrics
from tuimon.redact import redacted, redacted_text
from tuimon.run_notes import RunNote
from tuimon.store import Curve, Run, Snapshot
from tuimon.store.arrays import distinct
from tuimon.text import clean
from tuimon.vocabulary import unit_text


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
    """Restarts of the run, the first one first, by the metric with the most points that is no counter."""
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


def summary_of(snapshot: Snapshot, now: float) -> SummaryDocument:
    """Return the summary of a snapshot. now: wall time (s since epoch)."""
    return SummaryDocument(
        runs=tuple(run_entry(run, now) for run in snapshot.runs),
        alerts=tuple(alert_entry(alert, AlertEntry) for alert in snapshot.alerts),
        notices=tuple(filled(NoticeEntry, notice) for notice in snapshot.notices),
    )


def run_entry(run: Run, now: float) -> RunEntry:
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
        about=redacted(facts_about(run)),
        training=entries(run, "train"),
        validation=entries(run, "val"),
        config=redacted(run.config),
        best_checkpoint=redacted(run.best_checkpoint) if run.best_checkpoint else None,
        final_metrics=redacted(run.final_metrics),
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


_ARROWS = {"rising": "↑", "falling": "↓"}


class TrendEntry(Struct, frozen=True, kw_only=True):
    """The change of the level of a metric from the first tenth of its points to the last one."""

    direction: Direction
    """flat if noise explains the change; unknown with too few points."""
    change: float | None = None
    error: float | None = None
    """Standard error of the change."""
    p_value: float | None = None
    """Probability with which noise alone makes such a change."""
    before: float | None = None
    """The first level."""
    after: float | None = None
    """The last level."""

    def text(self, brief: bool = False) -> str:
        """Return the direction and change, as "rising +0.5" or briefly "↑ 0.5", or "flat"; "" if neither fits."""
        if self.direction not in _ARROWS or self.change is None:
            return "flat" if self.direction == "flat" else ""
        if brief:
            return f"{_ARROWS[self.direction]} {format_value(abs(self.change))}"
        return f"{self.direction} {'+' * (self.change > 0)}{format_value(self.change)}"


class MetricEntry(Struct, frozen=True, kw_only=True):
    """A metric of a run."""

    name: str
    """As it was logged."""
    concept: str
    """What it means; other for an unknown name."""
    split: Split
    unit: str
    """Of the logged values: 1 (a plain number), frac (0 to 1), pct (percent), count, date (seconds since the epoch).

    Or as written: s, ms, tokens/s, GB."""
    points: Count
    last_step: int
    last: Number
    """A logged value."""
    min: StepValue | None
    max: StepValue | None
    best: StepValue | None
    """Null where neither more nor less is better."""
    mean: float | None
    """Of the finite values, as the next three."""
    deviation: float | None
    """Of the sample."""
    variance: float | None
    """Of the sample."""
    median: float | None
    level: float | None
    """Mean of the last tenth of the points, or of the last 5 if that is more (at most a quarter).

    Null if none of them is finite."""
    error: float | None
    """Standard error of the level; null if it is of one point."""
    level_points: int
    """Number of finite points of the level."""
    trend: TrendEntry
    """Over all points of the metric."""
    nan: Count
    """Points that are NaN, in any source."""
    infinite: Count
    """Points that are infinite, in any source."""
    superseded: Count
    """Points that a later attempt hides."""
    source: str | None
    """The source that is drawn."""
    remarks: str
    """Where points are not finite or superseded, as "3 NaN at 30 to 57, 1 NaN at 8 in other.csv"; may be empty."""

    @property
    def unit_text(self) -> str:
        """The unit as text, cleaned; "" for plain numbers, or if it is unknown."""
        return logged_unit_text(self.unit)


def summarise(run: Run, name: str) -> MetricEntry:
    """Summarise one metric of a run. Raise KeyError if the run has no such metric."""
    meaning, curve = meaning_of(run, name), with_training_steps(run, name)
    better = BETTER.get(meaning.direction)
    top = best(curve.steps, curve.values, better) if better else None
    hidden = tuple(hidden_values(run, name)) if len(curve.sources) > 1 else ()
    at_end, moved = level(curve.values), change(curve.values, whole=True)
    return filled(
        MetricEntry,
        statistics(curve.values),
        name=name,
        concept=meaning.concept,
        split=meaning.split,
        unit=meaning.logged_unit,
        points=len(curve),
        last_step=int(curve.steps[-1]),
        last=float(curve.values[-1]),
        min=filled(StepValue, curve.min) if curve.min else None,
        max=filled(StepValue, curve.max) if curve.max else None,
        best=StepValue(*top) if top else None,
        level=known(at_end.value),
        error=known(at_end.error),
        level_points=at_end.count,
        trend=filled(TrendEntry, moved) if moved else TrendEntry(direction="unknown"),
        nan=curve.nan_count + sum(other.nan_count for other in hidden),
        infinite=curve.infinity_count + sum(other.infinity_count for other in hidden),
        superseded=curve.superseded,
        source=curve.sources[0] if curve.sources else None,
        remarks=", ".join(
            [
                *_nonfinite(curve.values, curve.steps),
                *([f"{curve.superseded} superseded"] if curve.superseded else []),
                *(
                    f"{part} in {clean(other.source)}"
                    for other in hidden
                    for part in _nonfinite(other.curve.values[other.rows], other.curve.steps[other.rows])
                ),
            ]
        ),
    )


def metric_summaries(run: Run) -> tuple[MetricEntry, ...]:
    """Summarise every metric of a run, in the order of `relevant_metrics`."""
    return tuple(summarise(run, name) for name in relevant_metrics(run))


def _nonfinite(values: Floats, steps: Steps) -> Iterator[str]:
    """Yield "3 NaN at 30 to 57" and "1 infinite at 30", as far as there are such values."""
    for rows, kind in ((np.isnan(values), "NaN"), (np.isinf(values), "infinite")):
        if rows.any():
            yield f"{int(rows.sum())} {kind} at {steps_text(steps[rows])}"


def logged_unit_text(unit: str) -> str:
    """Return a logged unit as text, cleaned; "" for plain numbers, or if it is unknown."""
    return clean(unit_text(unit))


def unit_columns(units: Iterable[str], need: int = 1) -> list[TextColumn]:
    """Return the column of the logged units of metrics; [] if no unit is known."""
    texts = [logged_unit_text(unit) for unit in units]
    return [TextColumn("unit", texts, need=need, left=True)] if any(texts) else []


class Entries(Struct, frozen=True):
    """The amount that a run logged of one split."""

    entries: int
    """Steps at which something of it was logged."""
    last_step: int


def entries(run: Run, split: str) -> Entries | None:
    """Count the entries of a split ("train" or "val"); return None if nothing was logged."""
    logged = [
        run.curve(name)
        for name in run.metrics
        if (meaning := meaning_of(run, name)).split == split
        and meaning.panel not in SECONDARY_PANELS
        and name in run.main_metrics
    ]
    different: list[Curve] = []
    for curve in sorted(logged, key=len, reverse=True):
        if not any(np.array_equal(curve.steps, other.steps) for other in different):
            different.append(curve)
    if not different:
        return None
    if different[0].ordinal:
        return Entries(len(different[0]), int(different[0].steps[-1]))
    steps = distinct(np.concatenate([curve.steps for curve in different]))
    return Entries(len(steps), int(steps[-1]))
