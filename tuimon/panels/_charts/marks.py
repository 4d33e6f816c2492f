"""Marks on a chart: non-finite values, restarts, alerts, the best checkpoint, checkpoints and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tuimon import lazy_re as re
from tuimon.analysis.attempts import attempts_metric, restart_name
from tuimon.analysis.metric_filter import chosen as matching
from tuimon.draw.marks import glyph_of
from tuimon.draw.numbers import format_exact
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats, Steps
from tuimon.model.views import Envelope, Line, Mark, Role, Row
from tuimon.panels._charts.options import ChartOptions
from tuimon.panels._charts.plot import Plot
from tuimon.panels._charts.traces import Bins, Trace
from tuimon.panels._metrics import by_concept, curve_or_none, panel_concepts
from tuimon.panels._text import plural
from tuimon.store import Curve, Run, Scale
from tuimon.store.arrays import distinct
from tuimon.text import clean
from tuimon.vocabulary import Meaning, classify

_FEW_RESTARTS = 2
_CHECKPOINT_STEP = re.compile(r"(?:checkpoint|global_step|step)[-_](?:samples-)?(\d+)[/\\]?$")
_MOST_NOTES = 3
"""Rows below a full-screen chart for the texts of notes."""
STEP_KEYS = ("step", "global_step", "best_global_step")
"""Keys of the description of a checkpoint that have its step."""


def chart_marks(plot: Plot, concepts: Sequence[str], undrawn: Sequence[str]) -> tuple[Mark, ...]:
    """Return the marks of a chart: events, alerts and notes of the displayed run, and restarts of the base run; at most
    one of a kind per column, and one for each restart."""
    run, own, options, bins = plot.run, plot.own, plot.options, plot.bins
    marks: list[Mark] = []
    if own:
        if options.fullscreen:
            marks += _milestones(run, [trace.metric for trace in own], own[0].scale, bins)
        curves, scale = [trace.curve for trace in own], own[0].scale
        for curve in curves:
            marks += _nonfinite_marks(curve, scale, bins)
        marks += _restart_marks(run, curves, scale, bins)
        if (best := best_step(run, concepts)) is not None:
            marks.append(Mark(max(curves, key=len).x_of_step(best, scale), "best", f"best {best}"))
        marks += _alert_marks(run, own, undrawn, options.alerts)
        marks += [Mark(curves[0].x_of_step(at, scale), "note", sign) for sign, at, _ in options.note.signed_steps]
    base = options.base
    for trace in plot.traces:
        if options.overlay and base is not None and trace.run.id == base.id != run.id:
            marks += _restart_marks(base, [trace.curve], trace.scale, bins, prefix="base ")
    return tuple(dict.fromkeys(mark for mark in marks if bins.has(mark.x)))


def _restart_marks(run: Run, curves: Sequence[Curve], scale: Scale, bins: Bins, prefix: str = "") -> list[Mark]:
    """Return a mark for each restart that is shown, with a label if there are at most two."""
    if not any(len(curve.restarts) for curve in curves):
        return []
    densest = max(curves, key=len)
    steps = distinct(np.concatenate([restart_steps(run, curve) for curve in curves]))
    labelled = len(steps) <= _FEW_RESTARTS
    xs = densest.x_of_steps(steps, scale)
    inside = (xs >= bins.low) & (xs <= bins.high)
    return [
        Mark(x, "restart", f"{prefix}{restart_name(run, step)}" if labelled else "")
        for x, step in zip(xs[inside].tolist(), steps[inside].tolist(), strict=True)
    ]


def _alert_marks(run: Run, own: Sequence[Trace], undrawn: Sequence[str], alerts: Sequence[Alert]) -> Iterator[Mark]:
    """Yield a mark at the beginning of each alert about one of the metrics, be they drawn or not."""
    traces = dict.fromkeys(undrawn, own[0]) | {trace.metric: trace for trace in own}
    for alert in alerts:
        if alert.run == run.id and alert.step is not None and (trace := traces.get(alert.metric)) is not None:
            logged, drawn = run.curve(alert.metric), trace.curve
            is_own = drawn is logged or trace.metric != alert.metric
            step = alert.step if is_own else int(drawn.steps[logged.row_near(alert.step)])
            yield Mark(drawn.x_of_step(step, trace.scale), "alert", alert.rule)


def undrawn_alerts(run: Run, undrawn: Sequence[str], alerts: Sequence[Alert]) -> list[str]:
    """Return "⚑ loss" for each metric without a line that has an alert."""
    names = dict.fromkeys(alert.metric for alert in alerts if alert.run == run.id and alert.metric in undrawn)
    return [f"{glyph_of('alert')} {clean(name)}" for name in names]


def note_rows(plot: Plot) -> list[Row]:
    """Return the texts of the first notes at steps that are shown, for the table of a full-screen chart."""
    if not (own := plot.own):
        return []
    notes, x_of_step = plot.options.note.signed_steps, own[0].curve.x_of_step
    shown = [(sign, step, text) for sign, step, text in notes if plot.bins.has(x_of_step(step, own[0].scale))]
    rows: list[Row] = [
        ((f"note {sign}: step {step}: {text}", Role.ACCENT),) for sign, step, text in shown[:_MOST_NOTES]
    ]
    if len(shown) > _MOST_NOTES:
        rows[-1] = ((f"{plural(len(shown) - _MOST_NOTES + 1, 'more note')}: C", Role.ACCENT),)
    return rows


def _nonfinite_marks(curve: Curve, scale: Scale, bins: Bins) -> Iterator[Mark]:
    """Yield a mark for each column with a NaN, and for each with an infinity.

    Consecutive non-finite values count as the kind of the first, so the cost depends on the number of such groups.
    """
    starts, ends = curve.tally.bad_starts, curve.tally.bad_ends
    if not len(starts):
        return
    begin, end = curve.x_of_rows(starts, scale), curve.x_of_rows(ends - 1, scale)
    is_nan = np.isnan(curve.values[starts])
    for kind, chosen in (("nan", is_nan), ("infinity", ~is_nan)):
        first, last = np.minimum(begin, end)[chosen], np.maximum(begin, end)[chosen]
        yield from _column_marks(kind, first, last, bins)


def _column_marks(kind: str, begin: Floats, end: Floats, bins: Bins) -> Iterator[Mark]:
    """Yield a mark for each column that a stretch touches. Begin and end are included."""
    low, width, columns = bins.low, bins.width, bins.columns
    inside = (end >= low) & (begin <= bins.high)
    first, last = (np.clip((x[inside] - low) / width, 0, columns - 1).astype(np.int64) for x in (begin, end))
    covered = np.zeros(columns + 1, np.int64)
    np.add.at(covered, first, 1)
    np.add.at(covered, last + 1, -1)
    for column in np.flatnonzero(np.cumsum(covered[:-1])).tolist():
        yield Mark(low + (column + 0.5) * width, kind)


def restart_steps(run: Run, curve: Curve) -> Steps:
    """Return the steps at which training was restarted, ascending, as far as the curve shows it.

    A rarely logged metric has its first point some steps after a restart; the step is then taken from
    `attempts_metric`.
    """
    restarts = curve.restarts
    if curve.ordinal or not len(restarts):
        return np.empty(0, np.int64)
    own = distinct(curve.steps[restarts])
    if (metric := attempts_metric(run)) is None:
        return own
    leading = run.curve(metric)
    steps = distinct(leading.steps[leading.restarts])
    index = np.searchsorted(steps, own, "right") - 1
    before = np.where(index >= 0, steps[np.maximum(index, 0)], own) if len(steps) else own
    unlogged = np.searchsorted(curve.steps, before, "left") == np.searchsorted(curve.steps, own, "left")
    return np.where(unlogged, before, own)


# ---------------------------------------------------------------------- best checkpoint


def best_step(run: Run, concepts: Sequence[str]) -> int | None:
    """Return the step of the best checkpoint if it was chosen by a metric of these concepts.

    A checkpoint without the metric it was chosen by belongs to the reward chart, or the loss chart if there is no
    reward.
    """
    best = run.best_checkpoint or run.final_metrics
    if not best or not concepts:
        return None
    chosen_by = {classify(key).concept for key in _metrics_in(best)} - {"other"}
    if not chosen_by:
        rewarded = any(classify(name).concept in ("reward.train", "reward.val") for name in run.metrics)
        chosen_by = {"reward.train" if rewarded else "loss.total"}
    return checkpoint_step(best) if chosen_by & set(concepts) else None


def _metrics_in(best: Mapping[str, Any]) -> Iterator[str]:
    for key, value in best.items():
        if isinstance(value, int | float) and classify(key).panel != "progress" and key not in STEP_KEYS:
            yield key
        elif key in ("metric", "metric_for_best_model") and isinstance(value, str):
            yield value


def checkpoint_step(best: Mapping[str, Any]) -> int | None:
    """Return the step in the description of a checkpoint: its own field, or part of a path; None if it has neither."""
    for key in STEP_KEYS:
        value = best.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    for value in best.values():
        match = _CHECKPOINT_STEP.search(value) if isinstance(value, str) else None
        if match and len(match[1]) < 16:
            return int(match[1])
    return None


# ---------------------------------------------------------------------- checkpoints and evaluations


def _milestones(run: Run, names: Sequence[str], scale: Scale, bins: Bins) -> Iterator[Mark]:
    """Yield marks of checkpoints and evaluations for a chart of these metrics.

    A column has at most one of a kind. Evaluations are left out if the chart shows a validation metric itself.
    """
    if names[0] in run.main_metrics:
        leading = run.curve(names[0])
        xs = np.array([leading.x_of_step(step, scale) for step in run.checkpoints])
        yield from _column_marks("checkpoint", xs, xs, bins)
    evaluation = None if any(classify(name).split == "val" for name in names) else _evaluation(run)
    if evaluation is not None:
        filled = np.flatnonzero(np.isfinite(evaluation.envelope(bins.low, bins.high, bins.columns, scale).low))
        centres = np.array(bins.low + (filled + 0.5) * bins.width, np.float64)
        yield from _column_marks("evaluation", centres, centres, bins)


def milestone_legend(run: Run) -> Row:
    """Return the legend of these marks with the last one; () without marks."""
    evaluation = _evaluation(run)
    steps = {"checkpoint": run.checkpoints, "evaluation": evaluation.steps.tolist() if evaluation is not None else ()}
    texts = [
        f"{glyph_of(kind)} {plural(len(known), kind)}, the last at {known[-1]}"
        for kind, known in steps.items()
        if known
    ]
    return (("   ".join(texts), Role.MUTED),) if texts else ()


def _evaluation(run: Run) -> Curve | None:
    """Return the curve of a metric that was logged at every evaluation."""
    metric = _validation_metric(run.metrics)
    return curve_or_none(run, metric) if metric is not None and metric in run.main_metrics else None


@lru_cache(maxsize=32)
def _validation_metric(metrics: tuple[str, ...]) -> str | None:
    """Return the most relevant validation metric: a reward, else a loss, else any."""
    known = by_concept(metrics)
    for names in (known.get("reward.val", ()), known.get("loss.total", ()), metrics):
        metric = next((name for name in names if classify(name).split == "val"), None)
        if metric is not None:
            return metric
    return None


_DASH = 4
"""Dots of a dash and of the gap after it."""


def thresholds_of(
    panel: str, metric: str, meaning: Meaning, metrics: Sequence[str], options: ChartOptions
) -> tuple[float, ...]:
    """Return the thresholds of a chart, ascending. The parameters are those of `has_threshold`."""
    values: set[float] = set()
    for name, limits in options.thresholds:
        if has_threshold(name, panel, metric, meaning, metrics):
            values.update(limits)
    return tuple(sorted(values))


def has_threshold(name: str, panel: str, metric: str, meaning: Meaning, metrics: Sequence[str]) -> bool:
    """Whether the thresholds under a name belong to a chart.

    The name is the id of a panel, for all charts of its concepts, a metric of the run, a concept, or a pattern.
    panel: id of the chart's panel. metric, meaning: the first metric of the chart. metrics: all metrics of the run.
    """
    if name in (panel, metric):
        return True
    concepts = panel_concepts().get(name)
    if concepts is not None:
        return meaning.concept in concepts
    if name in metrics:
        return False
    return f"{meaning.concept}.".startswith(f"{name}.") or bool(matching((metric,), (name,))[0])


def threshold_lines(values: Sequence[float], columns: int) -> list[Line]:
    """Return a dashed line for each threshold, labelled with its value."""
    on = np.arange(columns) // _DASH % 2 == 0
    gaps = np.where(on & ~np.append(on[1:], False), 1.0, 0.0)
    lines = []
    for value in values:
        flat = np.where(on, value, np.nan)
        lines.append(Line(format_exact(value), Role.WARNING, Envelope(flat, flat, flat, flat, gaps), behind=True))
    return lines


def outside_notes(values: Sequence[float], low: float, high: float) -> list[str]:
    """Return "↑ 5, 6" for the thresholds above the limits, and "↓ -2" for those below."""
    above, below = [value for value in values if value > high], [value for value in values if value < low]
    sides = ("↑", above), ("↓", below)
    return [f"threshold {arrow} {', '.join(map(format_exact, outside))}" for arrow, outside in sides if outside]


def threshold_limits(values: Sequence[float], columns: int) -> list[Envelope]:
    """Return an envelope from the lowest to the highest threshold, for the limits of the y axis; [] without any."""
    if not values:
        return []
    low, high = np.full(columns, min(values)), np.full(columns, max(values))
    return [Envelope(low, high, low, high, np.zeros(columns))]
