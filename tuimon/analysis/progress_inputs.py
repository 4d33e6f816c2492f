"""progress_inputs(): gather the facts about the progress of a run from its metrics, facts and config."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from tuimon.analysis.configured_length import configured_epochs, configured_steps, number, whole
from tuimon.analysis.log_files import (
    growth_seen,
    is_deleted,
    run_is_copied,
    unread_reason,
    unread_whole,
    writer_of,
)
from tuimon.analysis.pace import Pace, pace_of
from tuimon.analysis.progress import ProgressInputs, ProgressReport, report, tolerated_silence, total_steps
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.system_metrics import system_metrics
from tuimon.analysis.training_steps import global_step
from tuimon.model.points import Fact, Steps, Topic
from tuimon.model.severity import severity
from tuimon.store import Curve, Run, Snapshot, StreamView
from tuimon.store.arrays import distinct, usual_stride
from tuimon.vocabulary import classify, understood_metrics

_FEWEST = 4
"""Points from which a metric has a usual stride."""
_MAX_EVALUATIONS = 1 << 12
"""Number of newest evaluations that are examined."""
_LINE_LENGTH = 80
"""Maximum length of the last line of a console."""
_FINAL_METRICS = ("train_runtime", "train_samples_per_second", "train_steps_per_second")
"""Metrics that a trainer logs once, at the end of the training."""
_GLOBAL_STEP = "global step"
"""Name of training steps where the charts count rows or updates of the model."""
_MAX_METRICS = 12
"""Number of metrics that are searched for a pace: the best source of some may have no wall times."""


def progress_of(run: Run, now: float) -> ProgressReport:
    """Return the progress of the run at `now`, seconds since the epoch.

    Until the history of the runs has been read, and copied from another machine, the state is "reading". While the link
    to another machine is lost, the progress is that of the time at which the machine was last heard.
    """
    progress = report(progress_inputs(run), run.last_heard(now))
    if run.is_reading:
        return _while_reading(progress, "its history is being read")
    if (link := run.link) is not None and link.state == "copying" and not link.complete:
        return _while_reading(progress, "its history is being copied")
    return progress


def _while_reading(progress: ProgressReport, evidence: str) -> ProgressReport:
    unknown = {"place": "", "age": math.nan, "gap": math.nan, "eta_seconds": math.nan}
    return replace(progress, state="reading", reason="reading", fact=evidence, **unknown)


def state_at(run: Run, now: float) -> str:
    """Return the state of the run at `now`, see `progress_of`; without a look at its points until its history has been
    read, because thousands of runs whose points arrive would have to be examined again and again."""
    return "reading" if run.is_reading else progress_of(run, now).state


def not_understood(snapshot: Snapshot, now: float) -> Mapping[int, str]:
    """Return run id -> reason for the runs whose files give no point although they are complete."""
    reports = {run.id: progress_of(run, now) for run in snapshot.runs if not run.point_count}
    return {id: report.evidence for id, report in reports.items() if report.reason == "not understood"}


def steps_left(run: Run) -> int | None:
    """Return the number of steps until the end of the run, counted as its metrics are logged; None if unknown."""
    known = progress_inputs(run)
    total = total_steps(known)
    if known.position is None or total is None:
        return None
    return round(max(total - known.position, 0) * known.rows_per_step)


@cached_per_run
def progress_inputs(run: Run) -> ProgressInputs:
    """Gather the inputs from a run's busiest metrics, its progress and state facts and its config."""
    logged, total_source = _logged_progress(run)
    state = _logged_state(run)
    busiest = _busiest(run)
    position = _position(run, busiest, total_source)
    step = whole(logged.get("step"))
    if position["step"] is not None and (step is None or position["step"] > step):
        step = position["step"]
    name, counted = _step_name(run, busiest), str(logged.get("counted", ""))
    logged_state = str(state.value.get("state", "")) if state else ""
    evidence = _evidence(state) if state else ""
    if not logged_state and (final := _final_metric(run, position["step"])):
        logged_state, evidence = "finished", f"{final} is logged at the end"
    if logged_state == "crashed" and (cause := failed_rank(run)):
        evidence = cause
    writer, growth = writer_of(run), growth_seen(run)
    is_copied = run_is_copied(run) and writer["writer"] != "open" and math.isnan(growth)
    return ProgressInputs(
        **position | writer | {"step": step},
        points=run.point_count,
        total=whole(logged.get("total")) or configured_steps(run.config),
        step_name="step" if name == counted else name,  # the logged numbers differ from those of the console
        counted=counted,
        epoch=_epoch(run, whole(logged.get("step")), number(logged.get("epoch"))),
        total_epochs=number(logged.get("total_epochs")),
        configured_epochs=configured_epochs(run.config),
        bar_seconds=math.nan if run.facts(Topic.RESUMED) else number(logged.get("seconds_per_step")),
        last_wall_time=_last_wall_time(run),
        last_change=math.nan if is_copied else _last_change(run),
        last_growth=math.nan if is_copied else _last_growth(run),
        growth_seen=growth,
        last_error=_last_error(run),
        logged_state=logged_state,
        logged_evidence=evidence,
        logged_cause=str(state.value.get("cause") or "") if state else "",
        input_ended=run.latest_fact(Topic.INPUT) is not None,
        deleted=is_deleted(run),
        unread=unread_reason(run),
        unread_whole=unread_whole(run),
    )


def failed_rank(run: Run) -> str:
    """Return the sentence about the rank that ended the job, or about what else did; "" if none is known."""
    job = run.ranks
    is_known = job is not None and job.root_cause is not None and not job.root_cause.resolved
    return job.verdict if job is not None and is_known else ""


def _position(run: Run, busiest: Sequence[str], total_source: str) -> dict[str, Any]:
    """Return step, first_step, pace, stride, rows_per_step and own_unit, in the steps that the total counts.

    busiest: see `_busiest`. total_source: the source that logs the total.
    """
    source_step = run.last_step_of(total_source)
    counts_alike = source_step is None or run.has_main_steps(total_source)
    evaluated = _evaluated(run)
    if counts_alike and (counted := global_step(run)) is not None:
        steps, evaluated = counted.training_steps, counted.training_steps_at(evaluated)
        return {
            "step": int(steps[-1]),
            "first_step": counted.first,
            "pace": pace_of(steps, counted.wall_times, counted.restarts, evaluated),
            "stride": max(usual_stride(steps), round(_longest_stride(run, busiest) / max(counted.rows_per_step, 1))),
            "rows_per_step": counted.rows_per_step,
            "own_unit": _GLOBAL_STEP,
        }
    counting = busiest if counts_alike else _metrics_of_source(run, total_source)
    first = run.curve(counting[0]) if counting else None
    curve, pace = _first_pace(run, counting, evaluated) or (first, None)
    rows_per_step, advance = 1.0, 0 if curve is None or source_step is None else source_step - int(curve.steps[0])
    if pace is None and advance >= _FEWEST and (own := _first_pace(run, busiest, evaluated)):
        # a console without times counts steps of which a tracker logs several rows, as RLinf's for its minibatches
        rows_per_step = int(own[0].steps[-1] - own[0].steps[0] + 1) / (advance + 1)
        pace = own[1].of_steps(rows_per_step)
    watched = _watched_pace(run, evaluated) if pace is None else None
    return {
        "step": _last_step(run, busiest) if counts_alike else source_step,
        "first_step": int(curve.steps[0]) if curve is not None else None,
        "pace": pace or watched,
        "pace_watched": watched is not None,
        "stride": max(usual_stride(curve.steps) if curve is not None else 1, _longest_stride(run, busiest)),
        "rows_per_step": rows_per_step,
        "own_unit": "" if counts_alike else _units(run).get(total_source) or _GLOBAL_STEP,
    }


def _first_pace(run: Run, metrics: Sequence[str], evaluated: Steps) -> tuple[Curve, Pace] | None:
    """Return the first of these metrics whose times show a pace, and its pace."""
    for curve in map(run.curve, metrics[:_MAX_METRICS]):
        if (pace := _pace_of_curve(curve, evaluated)) is not None:
            return curve, pace
    return None


def _pace_of_curve(curve: Curve, evaluated: Steps) -> Pace | None:
    return pace_of(curve.steps, curve.wall_times, curve.restarts, evaluated)


def _longest_stride(run: Run, busiest: Sequence[str]) -> int:
    """Return the largest usual stride of the training metrics: a trainer that counts single environment steps may end
    most of an update before its total."""
    curves = [run.curve(name) for name in busiest[:_MAX_METRICS] if classify(name).split == "train"]
    return max((usual_stride(curve.steps) for curve in curves if len(curve) > _FEWEST), default=1)


def _metrics_of_source(run: Run, source: str) -> tuple[str, ...]:
    """Return some metrics that are drawn from a source, those of the longest series first."""
    return tuple(name for name in run.busiest_metrics if run.provenance(name)[0][0] == source)[:_MAX_METRICS]


def _last_wall_time(run: Run) -> float:
    """Return the time of the newest point of a training metric; machine metrics of trackers do not count."""
    busiest = _busiest(run)
    if len(busiest) == len(_main(run)):
        return run.last_wall_time
    times = [run.curve(metric).wall_times[-1] for metric in busiest]
    return float(np.fmax.reduce(times, initial=np.nan))


def _last_change(run: Run) -> float:
    """Return the last change of a file that grows with the steps; console logs count only if there are no others.

    NaN if a tracker writes machine metrics into the same file.
    """
    if len(_busiest(run)) < len(_main(run)) and math.isfinite(_last_wall_time(run)):
        return math.nan
    return _newest_change(run, [s for s in run.streams if s.point_count and s.info.format != "console"])


def _last_growth(run: Run) -> float:
    """Return the last change of a log: of a file with points or of console text, not of a configuration."""
    return _newest_change(run, [s for s in run.streams if s.point_count or s.info.format == "console"])


def _newest_change(run: Run, streams: Iterable[StreamView]) -> float:
    """Return the last change of the files of some streams; that of any file of the run if theirs is unknown."""
    times = [stream.status.changed for stream in streams if stream.status]
    return max((time for time in times if math.isfinite(time)), default=run.last_change)


def _final_metric(run: Run, step: int | None) -> str:
    """Return a metric that is logged once at the end, if its last point is not before `step`; else ""."""
    for metric in run.metrics:
        if metric.rpartition("/")[2] in _FINAL_METRICS:
            last = run.curve(metric).last
            if last is not None and (step is None or last.step >= step):
                return metric
    return ""


def _last_error(run: Run) -> str:
    """Return the last line of the console if it reports an error, without lines of dashes; else ""."""
    fact = run.latest_fact(Topic.CONSOLE)
    lines = (line for line in reversed(fact.value.get("lines") or [] if fact else []) if isinstance(line, str))
    last = next((" ".join(line.split()) for line in lines if any(map(str.isalnum, line))), "")
    return last[:_LINE_LENGTH] if severity(last) == "error" else ""


def _logged_state(run: Run) -> Fact | None:
    """Return the newest state in the logs of the present attempt, from a source that has its cause if any."""
    newest = run.latest_fact_with_stream(Topic.STATE)
    if newest is None or _is_of_earlier_attempt(run, *newest):
        return None
    fact = newest[0]
    best_first = reversed(dict(run.facts_by_source(Topic.STATE)).values())
    state = fact.value.get("state")
    with_cause = (other for other in best_first if other.value.get("state") == state and other.value.get("cause"))
    return fact if fact.value.get("cause") else next(with_cause, fact)


def _is_of_earlier_attempt(run: Run, fact: Fact, view: StreamView) -> bool:
    """Return whether the training went on after a state was logged.

    By the times of the points; where they have none, another log with points was changed later.
    """
    modified = view.status.modified if view.status else math.nan
    logged = fact.wall_time if fact.wall_time is not None else float(np.fmax(modified, view.last_wall_time))
    last = _last_wall_time(run)
    if math.isnan(last):
        others = (own.status.modified for own in run.streams if own.point_count and own.status and own is not view)
        last = max(others, default=math.nan)
    return last > logged + tolerated_silence(_position(run, _busiest(run), "")["pace"])


def _evidence(state: Fact) -> str:
    """Return cause, step and log line: "GPU out of memory after step 41: torch.OutOfMemoryError: CUDA out of …"."""
    cause, line = (str(state.value.get(key) or "") for key in ("cause", "evidence"))
    after = f"after step {state.step}" if state.step is not None and state.value.get("state") == "crashed" else ""
    return ": ".join(filter(None, (" ".join(filter(None, (cause, after))), line)))


@cached_per_run
def _busiest(run: Run) -> tuple[str, ...]:
    """Return the training metrics, those of the longest series first.

    Machine metrics of trackers are left out: they have their own clock and continue when the training does not.
    """
    machine = system_metrics(run)
    return tuple(metric for metric in _main(run) if metric not in machine)


@cached_per_run
def _main(run: Run) -> tuple[str, ...]:
    return tuple(metric for metric in run.busiest_metrics if metric in run.main_metrics)


def _last_step(run: Run, busiest: Sequence[str]) -> int | None:
    """Return Run.last_step, computed from training metrics only."""
    if len(busiest) == len(_main(run)):
        return run.last_step
    curves = [run.curve(metric) for metric in busiest[:_MAX_METRICS]]
    return max((int(curve.steps[-1]) for curve in curves if len(curve) * 4 >= len(curves[0])), default=None)


def _watched_pace(run: Run, evaluated: Steps) -> Pace | None:
    """Return the pace at which the points of a log without wall times were seen to arrive; None if that is unknown."""
    timeless = [view for view in run.streams if view.arrivals and not math.isfinite(view.last_wall_time)]
    view = max(timeless, key=lambda view: view.arrivals[-1], default=None)
    if view is None or not run.has_main_steps(view.info.source):
        return None
    steps, times = zip(*view.arrivals, strict=True)
    return pace_of(np.array(steps, np.int64), np.array(times), evaluated=evaluated)


def _evaluated(run: Run) -> Steps:
    """Return the steps of evaluations, from the busiest validation metric."""
    understood = understood_metrics(run.metrics)
    metric = next((name for name in _main(run) if name in understood and classify(name).split == "val"), None)
    return distinct(run.curve(metric).steps[-_MAX_EVALUATIONS:]) if metric else np.empty(0, np.int64)


def _epoch(run: Run, fact_step: int | None, epoch: float) -> float:
    """Return the epoch of the latest step: that of a metric, or `epoch` from a fact (a trainer's saved state)."""
    latest = fact_step if fact_step is not None else -1
    understood = understood_metrics(run.metrics)
    for metric in run.metrics:
        if metric in understood and classify(metric).concept == "progress.epoch":
            last = run.curve(metric).last
            if last is not None and last.step > latest:
                latest, epoch = last.step, last.value
    return epoch


def _logged_progress(run: Run) -> tuple[dict[str, Any], str]:
    """Return (items of the progress facts, source of the total or "").

    Each item is the last value of the best source that has it (a later fact may contain only some items), but step and
    epoch are those of the source that is farthest, and what is counted is that of the source of the total.
    """
    by_source: dict[str, dict[str, Any]] = {}
    for source, fact in run.facts_by_source(Topic.PROGRESS):
        known = by_source.setdefault(source, {})
        known |= {key: value for key, value in fact.value.items() if value is not None}
    items: dict[str, Any] = {}
    total_source = ""
    for source, known in by_source.items():
        items |= known
        total_source = source if "total" in known else total_source
    items["counted"] = by_source.get(total_source, {}).get("counted", "")
    farthest = max(by_source.values(), key=lambda known: whole(known.get("step")) or 0, default={})
    return items | {key: farthest[key] for key in ("step", "epoch") if key in farthest}, total_source


def _step_name(run: Run, busiest: Sequence[str]) -> str:
    """Return the unit of the steps in the log of the busiest metric, unless a metric has that name; else "step"."""
    units = _units(run)
    sources = run.curve(busiest[0]).sources[:1] if units and busiest else ()
    unit = units.get(sources[0], "") if sources else ""
    return "step" if not unit or unit in run.metrics else unit


def _units(run: Run) -> dict[str, str]:
    """Return what the steps of each source count; "" for plain steps."""
    facts = run.facts_by_source(Topic.PROGRESS)
    units = {source: str(unit) for source, fact in facts if (unit := fact.value.get("unit"))}
    return {source: "" if unit == "step" else unit for source, unit in units.items()}
