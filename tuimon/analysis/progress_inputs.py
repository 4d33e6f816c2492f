"""What a run of the store knows about its progress."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.cadence import Cadence, cadence
from tuimon.analysis.global_step import global_step
from tuimon.analysis.kept import kept
from tuimon.analysis.progress import ProgressInputs, ProgressReport, report, total_steps
from tuimon.analysis.updates import Updates, updates_a_step
from tuimon.model.points import Fact, Steps
from tuimon.store import Curve, Run
from tuimon.store.compare import usual_stride
from tuimon.store.distinct import distinct
from tuimon.vocabulary import classify, phase_of

_TOTAL_KEYS = (
    "total_training_steps",
    "num_training_steps",
    "num_train_steps",
    "max_train_steps",
    "train_iters",
    "total_timesteps",
)
"""Names of the setting that says how many steps there will be …"""
_TOTAL_KEYS_OF_ANYTHING = ("max_steps", "total_steps", "max_iters", "max_iterations")
"""… and those that may also bound something else, unless what they are settings of is named so."""
_BOUNDED_ITSELF = re.compile(
    r"(?<![a-z])(?:rollouts?|sampling|generation|inference|turn|tools?|interaction|workflow|agents?|env(?:ironment)?s?|"
    r"game|episode|eval(?:uation)?|val(?:idation)?|test)(?![a-z])",
    re.IGNORECASE,
)
_DEPTH = 4
_EVALUATIONS = 1 << 12
"""The newest that are looked at."""
_LINE = 80
"""Characters of a console's last line."""
_CLOCKS = 12
"""Metrics that are looked at for a pace: the best source of some may have no wall times."""


def progress_of(run: Run, now: float) -> ProgressReport:
    """How the run stands at `now`, seconds since the epoch."""
    return report(progress_inputs(run), now)


def steps_left(run: Run) -> int | None:
    """Until the end of the run, in steps as its metrics are logged; None unknown."""
    known = progress_inputs(run)
    total = total_steps(known)
    return None if known.step is None or total is None else round(max(total - known.step, 0) * known.rows_a_step)


@kept
def progress_inputs(run: Run) -> ProgressInputs:
    """Gathered from a run's busiest metrics, its progress and state facts and its config."""
    told, by = _progress(run)
    state, told_at = _state(run)
    busiest = _busiest(run)
    standing = _standing(run, busiest, by)
    last_step = standing.step
    step = _whole(told.get("step"))
    if last_step is not None and (step is None or last_step > step):
        step = last_step
    return ProgressInputs(
        points=run.point_count,
        step=step,
        first_step=standing.first_step,
        total=_whole(told.get("total")) or _total(run.config),
        updates=standing.updates,
        stride=standing.stride,
        rows_a_step=standing.rows_a_step,
        epoch=_epoch(run, _whole(told.get("step")), _number(told.get("epoch"))),
        total_epochs=_number(told.get("total_epochs")),
        cadence=standing.pace,
        last_wall_time=_last_time(run),
        last_change=_last_change(run),
        last_growth=run.last_change,
        last_phase=_last_phase(run),
        last_line=_last_line(run),
        told_state=str(state.value.get("state", "")) if state else "",
        told_evidence=_evidence(state) if state else "",
        told_at=told_at,
        told_step=state.step if state else None,
        watched_since=run.watched_since,
        input_ended=run.latest("input") is not None,
    )


class _Standing(Struct, frozen=True):
    """Where the training stands, and how fast it goes, in the steps that its total counts."""

    step: int | None
    first_step: int | None
    pace: Cadence | None
    stride: int = 1
    """See ProgressInputs; so are the next two."""
    updates: int = 1
    rows_a_step: float = 1.0


def _standing(run: Run, busiest: Sequence[str], by: str) -> _Standing:
    """busiest: see _busiest. by: the source that tells the total."""
    step, told_step = _last_step(run, busiest), run.last_step_of(by)
    alike = told_step is None or run.counts_alike(by)
    if alike and (counted := global_step(run)) is not None:
        evaluated = counted.of(_evaluated(run))
        pace = cadence(counted.at, counted.wall_times, counted.restarts, evaluated)
        stride = max(usual_stride(counted.at), 1)
        return _Standing(int(counted.at[-1]), counted.first, pace, stride, rows_a_step=counted.rows_a_step)
    updates = updates_a_step(run, busiest)
    if told_step is not None and alike:
        updates = Updates()  # the total is one of what is logged
    if step is not None and updates.each > 1:
        step = step // updates.each + 1
    if not alike:  # only its own steps are of its total
        step, updates = told_step, replace(updates, each=max(updates.each, 1))
    counting = busiest if alike or updates.each > 1 else _metrics_of(run, by)
    curve, pace = _clock(run, counting, updates)
    first = int(curve.steps[0]) + (updates.each > 1) if curve is not None else None
    each = max(updates.each, 1)
    stride = max(usual_stride(curve.steps) // each, 1) if curve is not None else 1
    return _Standing(step, first, pace, stride, updates.each, each)


def _metrics_of(run: Run, source: str) -> tuple[str, ...]:
    """Some metrics that are drawn from a source, those of the longest series first."""
    ours = (name for name in run.busiest_metrics if run.provenance(name)[0][0] == source)
    return tuple(islice(ours, _CLOCKS))


def _last_time(run: Run) -> float:
    """When the newest point of the training was logged: what a tracker measures of the machine is none."""
    busiest = _busiest(run)
    if len(busiest) == len(_main(run)):
        return run.last_wall_time
    times = [run.curve(metric).wall_times[-1] for metric in busiest]
    return float(np.fmax.reduce(times, initial=np.nan))


def _last_change(run: Run) -> float:
    """When a file that grows with the steps was last changed: not one of console text, unless there is nothing else;
    and none where a tracker measures the machine, which it does into the same file."""
    if len(_busiest(run)) < len(_main(run)) and math.isfinite(_last_time(run)):
        return math.nan
    told = [s.status.modified for s in run.streams if s.status and s.point_count and s.found.format != "console"]
    known = [time for time in told if math.isfinite(time)]
    return max(known) if known else run.last_change


def _last_phase(run: Run) -> str:
    """Of a step that is not whole yet, the part that was logged last: "" elsewhere."""
    timers = [(run.curve(metric), phase) for metric in run.metrics if (phase := phase_of(metric)) is not None]
    timers = [(curve, phase) for curve, phase in timers if len(curve) > 1 and phase.part == "total"]
    if not timers:
        return ""
    newest = max(int(curve.steps[-1]) for curve, _ in timers)
    begun = [(float(curve.wall_times[-1]), phase.name) for curve, phase in timers if curve.steps[-1] == newest]
    waited = ((newest - int(curve.steps[-1]), int(curve.steps[-1] - curve.steps[-2])) for curve, _ in timers)
    return max(begun)[1] if any(0 < gap <= since < 2 * gap for since, gap in waited) else ""


def _last_line(run: Run) -> str:
    """The end of its console; "" without one."""
    told = run.latest("console")
    lines = [line for line in (told.value.get("lines") or [] if told else []) if isinstance(line, str) and line.strip()]
    return " ".join(lines[-1].split())[:_LINE] if lines else ""


def _state(run: Run) -> tuple[Fact | None, float]:
    """What its logs say of its end: the newest word, from the source that knows the cause. And when it was said, at the
    latest: where no time is told, the file's own, and not before its points."""
    newest = run.latest_from("state")
    if newest is None:
        return None, math.nan
    fact, stream = newest
    modified = stream.status.modified if stream.status else math.nan
    at = fact.wall_time if fact.wall_time is not None else float(np.fmax(modified, stream.last_wall_time))
    if fact.value.get("cause"):
        return fact, at
    best_first = reversed(dict(run.told("state")).values())
    alike = (one for one in best_first if one.value.get("state") == fact.value.get("state") and one.value.get("cause"))
    return next(alike, fact), at


def _evidence(told: Fact) -> str:
    """ "GPU out of memory after step 41: torch.OutOfMemoryError: CUDA out of memory …": the cause by its name, where in
    the run, then the line that says it."""
    cause, line = (str(told.value.get(key) or "") for key in ("cause", "evidence"))
    after = f"after step {told.step}" if told.step is not None and told.value.get("state") == "crashed" else ""
    return ": ".join(filter(None, (" ".join(filter(None, (cause, after))), line)))


@kept
def _busiest(run: Run) -> tuple[str, ...]:
    """The metrics of the longest series, the first of all, of those that tell of the training: what a tracker measures
    of the machine has a clock of its own, and goes on when the training does not."""
    told = {
        metric
        for fact in run.facts("metrics")
        for metric, known in fact.value.items()
        if isinstance(known, Mapping) and known.get("system")
    }
    return tuple(metric for metric in _main(run) if metric not in told and classify(metric).panel != "machine")


@kept
def _main(run: Run) -> tuple[str, ...]:
    return tuple(metric for metric in run.busiest_metrics if metric in run.main_metrics)


def _last_step(run: Run, busiest: Sequence[str]) -> int | None:
    """Where the training stands: Run.last_step, but of the metrics that tell of the training."""
    if len(busiest) == len(_main(run)):
        return run.last_step
    curves = [run.curve(metric) for metric in busiest[:_CLOCKS]]
    return max((int(curve.steps[-1]) for curve in curves if len(curve) * 4 >= len(curves[0])), default=None)


def _clock(run: Run, busiest: Sequence[str], updates: Updates) -> tuple[Curve | None, Cadence | None]:
    """The busiest curve that tells a pace, and that pace; where none does, the busiest.

    Of a run that logs updates, a curve with one point for each step: its updates come in bursts.
    """
    metrics = busiest if updates.each == 1 else (*updates.sparse, *busiest)
    each = max(updates.each, 1)
    evaluated = _evaluated(run) // each
    for metric in metrics[:_CLOCKS]:
        curve = run.curve(metric)
        pace = cadence(curve.steps, curve.wall_times, curve.restarts, evaluated, each)
        if pace is not None:
            return curve, pace
    return (run.curve(metrics[0]) if metrics else None), None


def _evaluated(run: Run) -> Steps:
    """The steps at which something was validated, by the busiest of such metrics that count steps as the run does."""
    metric = next((one for one in _main(run) if classify(one).split == "val"), None)
    return distinct(run.curve(metric).steps[-_EVALUATIONS:]) if metric else np.empty(0, np.int64)


def _epoch(run: Run, told_step: int | None, told: float) -> float:
    """The epoch as last logged, unless a later step comes with one that was told (a trainer's saved state)."""
    latest = told_step if told_step is not None else -1
    for metric in run.metrics:
        if classify(metric).concept == "progress.epoch":
            last = run.curve(metric).last
            if last is not None and last.step > latest:
                latest, told = last.step, last.value
    return told


def _progress(run: Run) -> tuple[dict[str, Any], str]:
    """Each item as the best source that tells it told it last (a later fact may name only some of them), where the
    training stands as told by the source that is the farthest; and who told the total, "" for nobody."""
    by_source: dict[str, dict[str, Any]] = {}
    for source, fact in run.told("progress"):
        known = by_source.setdefault(source, {})
        known |= {key: value for key, value in fact.value.items() if value is not None}
    told: dict[str, Any] = {}
    by = ""
    for source, known in by_source.items():
        told |= known
        by = source if "total" in known else by
    farthest = max(by_source.values(), key=lambda known: _whole(known.get("step")) or 0, default={})
    return told | {key: farthest[key] for key in ("step", "epoch") if key in farthest}, by


def _total(config: Mapping[str, Any]) -> int | None:
    for key in (*_TOTAL_KEYS, *_TOTAL_KEYS_OF_ANYTHING):
        found = [number for value in _settings(config, key, _DEPTH) if (number := _whole(value)) and number > 0]
        if found:
            return found[0]
    return None


def _settings(config: Mapping[str, Any], key: str, depth: int) -> Iterator[Any]:
    """Values of a key at any level, the upper ones first; "a/b/key" and "a.b.key" are that key too."""
    for name, value in config.items():
        *above, last = name.replace(".", "/").split("/")
        if last == key and not _bounds_itself(key, above):
            yield value
    if depth:
        for name, value in config.items():
            if isinstance(value, Mapping) and not _bounds_itself(key, [name]):
                yield from _settings(value, key, depth - 1)


def _bounds_itself(key: str, above: Iterable[str]) -> bool:
    """Whether the setting is one of an environment or of a rollout, by the names that it stands below."""
    return key in _TOTAL_KEYS_OF_ANYTHING and any(map(_BOUNDED_ITSELF.search, above))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except ValueError:
        return math.nan


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if math.isfinite(number) else None
