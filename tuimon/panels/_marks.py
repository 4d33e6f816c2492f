"""What happened on a chart: values that are not finite, restarts, the best checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from tuimon.model.alerts import Alert
from tuimon.model.points import Steps
from tuimon.model.views import ChartView, Mark
from tuimon.panels._look import Look
from tuimon.store import Curve, Run, Scale
from tuimon.store.distinct import distinct
from tuimon.vocabulary import classify

_FEW_RESTARTS = 2
_CHECKPOINT_STEP = re.compile(r"(?:checkpoint|global_step|step)[-_](?:samples-)?(\d+)[/\\]?$")
_STEP_KEYS = ("step", "global_step", "best_global_step")


def marks_of(
    run: Run, curves: Sequence[Curve], scale: Scale, low: float, high: float, columns: int, concepts: Sequence[str]
) -> tuple[Mark, ...]:
    """The marks of a chart from x = low to x = high: at most one of a kind in a column, one for each restart."""
    marks: list[Mark] = []
    for curve in curves:
        marks += _not_finite(curve, scale, low, high, columns)
    marks += restarts_of(run, curves, scale, low, high)
    best = best_step(run, concepts)
    if best is not None:
        marks.append(Mark(max(curves, key=len).x_at(best, scale), "best", f"best {best}"))
    return tuple(dict.fromkeys(mark for mark in marks if low <= mark.x <= high))


def restarts_of(
    run: Run, curves: Sequence[Curve], scale: Scale, low: float, high: float, whose: str = ""
) -> list[Mark]:
    """A mark for each restart between low and high, named where they are few. whose: said before the name."""
    if not any(len(curve.restarts) for curve in curves):
        return []
    densest = max(curves, key=len)
    steps = distinct(np.concatenate([restart_steps(run, curve) for curve in curves]))
    named = len(steps) <= _FEW_RESTARTS
    places = densest.xs_at(steps, scale)
    inside = (places >= low) & (places <= high)
    return [
        Mark(x, "restart", f"{whose}restart {step}" if named else "")
        for x, step in zip(places[inside].tolist(), steps[inside].tolist(), strict=True)
    ]


def alerted(view: ChartView, run: Run, alerts: Sequence[Alert], look: Look) -> ChartView:
    """The chart with a mark where each of the alerts about one of its metrics began."""
    axis = look.axis_of(run)
    marks = []
    for alert in alerts:
        shown = any(line.metric == alert.metric and not line.behind for line in view.lines)
        if alert.run == run.id and alert.metric and alert.step is not None and shown:  # lines of no metric have ""
            x = run.curve(alert.metric).x_at(alert.step, run.scale(axis))
            if view.x.low <= x <= view.x.high:
                marks.append(Mark(x, "alert", alert.rule))
    return replace(view, marks=(*view.marks, *marks)) if marks else view


def _not_finite(curve: Curve, scale: Scale, low: float, high: float, columns: int) -> Iterator[Mark]:
    """A mark for each column with a NaN, and for each with an infinity.

    A run of values that are not finite is of the kind of its first, so the cost is that of the runs, not of the points.
    """
    starts, ends = curve.tally.bad_starts, curve.tally.bad_ends
    if not len(starts):
        return
    begin, end = curve.x_of(starts, scale), curve.x_of(ends - 1, scale)
    of_nan = np.isnan(curve.values[starts])
    known = np.isfinite(begin) & np.isfinite(end)
    begin, end, of_nan = begin[known], end[known], of_nan[known]
    width = (high - low) / columns
    first = np.clip((np.minimum(begin, end) - low) / width, 0, columns - 1).astype(np.int64)
    last = np.clip((np.maximum(begin, end) - low) / width, 0, columns - 1).astype(np.int64)
    for kind, chosen in (("nan", of_nan), ("infinity", ~of_nan)):
        covered = np.zeros(columns + 1, np.int64)
        np.add.at(covered, first[chosen], 1)
        np.add.at(covered, last[chosen] + 1, -1)
        for column in np.flatnonzero(np.cumsum(covered[:-1])).tolist():
            yield Mark(low + (column + 0.5) * width, kind)


def restart_steps(run: Run, curve: Curve) -> Steps:
    """The steps at which the training began again, ascending, as far as the curve shows it.

    A metric that is seldom logged has its first point some steps after a restart: then the metric that is logged most
    often tells where it was.
    """
    restarts = curve.restarts[curve.restarts != curve.gap]
    if curve.ordinal or not len(restarts):
        return np.empty(0, np.int64)
    own = distinct(curve.steps[restarts])
    if run.busiest_metric is None:
        return own
    busiest = run.curve(run.busiest_metric)
    told = distinct(busiest.steps[busiest.restarts[busiest.restarts != busiest.gap]])
    place = np.searchsorted(told, own, "right") - 1
    before = np.where(place >= 0, told[np.maximum(place, 0)], own) if len(told) else own
    unlogged = np.searchsorted(curve.steps, before, "left") == np.searchsorted(curve.steps, own, "left")
    return np.where(unlogged, before, own)


def best_step(run: Run, concepts: Sequence[str]) -> int | None:
    """The step of the best checkpoint, where it was chosen by a metric of these concepts.

    One that does not say by which metric it was chosen stands on the leading chart: reward, and loss without a reward.
    """
    best = run.best_checkpoint or run.final_metrics
    if not best or not concepts:
        return None
    chosen_by = {classify(key).concept for key in _metrics_in(best)} - {"other"}
    if chosen_by:
        if not chosen_by & set(concepts):
            return None
    elif "reward.train" not in concepts:
        rewarded = any(classify(name).concept in ("reward.train", "reward.val") for name in run.metrics)
        if rewarded or "loss.total" not in concepts:
            return None
    return checkpoint_step(best)


def _metrics_in(best: Mapping[str, Any]) -> Iterator[str]:
    for key, value in best.items():
        if isinstance(value, int | float) and classify(key).panel != "progress" and key not in _STEP_KEYS:
            yield key
        elif key in ("metric", "metric_for_best_model") and isinstance(value, str):
            yield value


def checkpoint_step(best: Mapping[str, Any]) -> int | None:
    """The step that a description of a checkpoint names, by itself or in its path."""
    for key in _STEP_KEYS:
        value = best.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    for value in best.values():
        found = _CHECKPOINT_STEP.search(value) if isinstance(value, str) else None
        if found and len(found[1]) < 16:
            return int(found[1])
    return None
