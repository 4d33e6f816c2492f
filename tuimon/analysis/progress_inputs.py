"""What a run of the store knows about its progress."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tuimon.analysis.cadence import Cadence, cadence
from tuimon.analysis.progress import ProgressInputs
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_TOTAL_KEYS = (
    "max_steps",
    "total_steps",
    "total_training_steps",
    "num_training_steps",
    "num_train_steps",
    "max_train_steps",
    "train_iters",
    "max_iters",
    "max_iterations",
    "total_timesteps",
)
"""Names of the setting that says how many steps there will be, the plainest first."""
_DEPTH = 4
_CLOCKS = 12
"""Metrics that are looked at for a pace: the best source of some may have no wall times."""


def progress_inputs(run: Run, watched_since: float = math.nan) -> ProgressInputs:
    """Gathered from a run's busiest metrics, its progress and state facts and its config.

    `watched_since`: when the caller began to follow it, seconds since the epoch; NaN when nobody does.
    """
    told = dict(_progress(run))
    state = run.latest("state")
    curve, pace = _clock(run)
    step = _whole(told.get("step"))
    if run.last_step is not None and (step is None or run.last_step > step):
        step = run.last_step
    return ProgressInputs(
        points=run.point_count,
        step=step,
        first_step=int(curve.steps[0]) if curve is not None else None,
        total=_whole(told.get("total")) or _total(run.config),
        epoch=_epoch(run, _whole(told.get("step")), _number(told.get("epoch"))),
        total_epochs=_number(told.get("total_epochs")),
        cadence=pace,
        last_wall_time=run.last_wall_time,
        last_change=run.last_change,
        told_state=str(state.value.get("state", "")) if state else "",
        told_evidence=str(state.value.get("evidence", "")) if state else "",
        told_at=state.wall_time if state and state.wall_time is not None else math.nan,
        watched_since=watched_since,
    )


def _clock(run: Run) -> tuple[Curve | None, Cadence | None]:
    """The busiest curve that tells a pace, and that pace; where none does, the busiest."""
    busiest = [run.curve(metric) for metric in run.busiest_metrics[:_CLOCKS]]
    for curve in busiest:
        pace = cadence(curve.steps, curve.wall_times, curve.restarts)
        if pace is not None:
            return curve, pace
    return (busiest[0] if busiest else None), None


def _epoch(run: Run, told_step: int | None, told: float) -> float:
    """The epoch as last logged, unless a later step comes with one that was told (a trainer's saved state)."""
    latest = told_step if told_step is not None else -1
    for metric in run.metrics:
        if classify(metric).concept == "progress.epoch":
            last = run.curve(metric).last
            if last is not None and last.step > latest:
                latest, told = last.step, last.value
    return told


def _progress(run: Run) -> Iterator[tuple[str, Any]]:
    """Each item as last told; a later fact may name only some of them."""
    for fact in run.facts("progress"):
        for key, value in fact.value.items():
            if value is not None:
                yield key, value


def _total(config: Mapping[str, Any]) -> int | None:
    for key in _TOTAL_KEYS:
        found = [number for value in _settings(config, key, _DEPTH) if (number := _whole(value)) and number > 0]
        if found:
            return found[0]
    return None


def _settings(config: Mapping[str, Any], key: str, depth: int) -> Iterator[Any]:
    """Values of a key at any level, the upper ones first; "a/b/key" and "a.b.key" are that key too."""
    for name, value in config.items():
        if name.replace(".", "/").rsplit("/", 1)[-1] == key:
            yield value
    if depth:
        for value in config.values():
            if isinstance(value, Mapping):
                yield from _settings(value, key, depth - 1)


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
