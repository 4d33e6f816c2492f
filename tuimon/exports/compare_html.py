"""Runs side by side as one HTML file: what the text says, and the curves of all runs over each other."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration
from tuimon.draw.numbers import format_value
from tuimon.exports._comparison import Comparison, Entry, MetricComparison
from tuimon.exports._figures import ChartFigure, chart_figure, chart_size
from tuimon.exports._html import page
from tuimon.exports._settings import flat, opened, shown
from tuimon.model.views import SERIES_ROLES, Symbols
from tuimon.panels import chart_of
from tuimon.text import clean, shown_path

_CHARTS = 60
_COLUMNS = 320
_LONGEST = 300
_FEW = 12


def as_html(found: Comparison, now: float) -> str:
    """The page. now: seconds since the epoch."""
    names = [clean(label) for label in found.labels]
    runs = []
    for run, name in zip(found.runs, names, strict=True):
        told = progress_of(run, now)
        step = "" if told.step is None else told.step
        runs.append({"name": name, "state": told.state, "step": step, "path": shown_path(run.path)})
    shared = [metric for metric in found.metrics if metric.shared > 1]
    checkpoints = [dict(flat(opened(run.best_checkpoint or run.final_metrics))) for run in found.runs]
    return page(
        "comparison.html",
        now,
        title=f"Comparison of {len(names)} runs",
        runs=runs,
        differences=[(clean(name), [shown(v, _LONGEST) for v in values]) for name, values in found.differences],
        same=len(found.same),
        charts=[_chart(found, metric, names, at == 0) for at, metric in enumerate(shared[:_CHARTS])],
        ranked=[_ranked(metric, names) for metric in shared if metric.better],
        last=[(clean(m.name), [format_value(e.summary.last) if e else "" for e in m.entries]) for m in found.metrics],
        checkpoints=[
            (clean(key), [shown(one[key], _LONGEST) if key in one else "" for one in checkpoints])
            for key in dict.fromkeys(key for one in checkpoints for key in one)
        ],
    )


def _chart(found: Comparison, metric: MetricComparison, names: list[str], first: bool) -> ChartFigure:
    """The best first, as there is a colour for each of the first runs only."""
    pairs = [(name, entry) for name, entry in zip(names, metric.entries, strict=True) if entry is not None]
    left = max(len(pairs) - len(SERIES_ROLES), 0)
    if left:
        pairs.sort(key=lambda pair: pair[1].rank or len(pairs))
    curves = [(name, entry.summary.meaning, entry.summary.curve) for name, entry in pairs[: len(SERIES_ROLES)]]
    size = chart_size(_COLUMNS)
    view = chart_of(found.runs[0], metric.name, curves, size, Symbols.BRAILLE, left=left, label=lambda name: name)
    # No headline, which would be of the first run alone; dots only where a curve has few.
    few = [curve.finite_count <= _FEW for *_, curve in curves if len(curve)]
    lines = tuple(replace(line, markers=mark) for line, mark in zip(view.lines, few, strict=False))
    return chart_figure(replace(view, headline=(), lines=lines), first)


def _ranked(metric: MetricComparison, names: list[str]) -> dict[str, Any]:
    pairs = [(name, entry) for name, entry in zip(names, metric.entries, strict=True) if entry is not None]
    pairs.sort(key=lambda pair: pair[1].rank or len(pairs) + 1)
    seconds = metric.common_seconds
    return {
        "name": clean(metric.name),
        "better": metric.better,
        "step": metric.common_step,
        "after": duration(seconds) if math.isfinite(seconds) else "",
        "rows": [_row(name, entry) for name, entry in pairs],
    }


def _row(name: str, entry: Entry) -> dict[str, Any]:
    one, top = entry.summary, entry.summary.best
    return {
        "run": name,
        "rank": f"{entry.rank}{'=' * entry.tied}" if entry.rank else "",
        "last": format_value(one.last),
        "best": format_value(top[1]) if top else "",
        "best_step": top[0] if top else "",
        "level": format_value(entry.level.value),
        "error": format_value(entry.level.error) if math.isfinite(entry.level.error) else "",
        "at_step": format_value(entry.at_step),
        "at_time": format_value(entry.at_time),
        "mean": format_value(one.numbers.mean),
        "deviation": format_value(one.numbers.deviation),
        "trend": one.trend.direction,
    }
