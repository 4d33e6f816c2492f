"""A comparison of runs as one HTML file: the tables of the text, and charts with the curves of all runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.seed_means import SEED_HEADS, mean_rows, seed_cells, seed_title
from tuimon.analysis.words import setting_text
from tuimon.exports._across_runs import MOST_LINES
from tuimon.exports.comparison import Comparison, MetricComparison, checkpoint_rows, last_values
from tuimon.exports.html import page
from tuimon.exports.html.across import chart_across
from tuimon.exports.html.figures import ChartFigure
from tuimon.run_notes import note_of
from tuimon.text import clean, shown_path

_MAX_CHARTS = 60
_LONGEST = 300
"""Maximum characters of a setting."""


def as_html(comparison: Comparison, now: float) -> str:
    """Return the page. now: wall time (s since epoch)."""
    names = [clean(label) for label in comparison.labels]
    runs = []
    all_reached = comparison.reached_texts or [""] * len(names)
    for run, name, failure, reached in zip(comparison.runs, names, comparison.failures, all_reached, strict=True):
        progress = progress_of(run, now)
        step = "" if progress.step is None else progress.step
        runs.append(
            {
                "name": name,
                "state": progress.state,
                "failure": failure,
                "step": step,
                "reached": reached,
                "path": shown_path(run.path),
                "note": note_of(run.path).line,
            }
        )
    metrics = comparison.metrics
    shared = [metric for metric in metrics if metric.shared > 1]
    return page(
        "comparison.html",
        now,
        title=f"Comparison of {len(names)} runs",
        **verdict_of(comparison),
        runs=runs,
        steps=common_step_name(comparison.runs),
        failed=any(comparison.failures),
        reaches=comparison.reaches,
        reached_in=common_step_name(comparison.runs) if comparison.axis.name == "step" else comparison.axis.noun,
        main=clean(comparison.main_metric.name) if comparison.main_metric is not None else "",
        noted=any(run["note"] for run in runs),
        differences=_texts(comparison.differences),
        about=_texts(comparison.about),
        same=len(comparison.same),
        charts=[_chart(comparison, metric, names, i == 0) for i, metric in enumerate(shared[:_MAX_CHARTS])],
        ranked=[(metric, metric.ranked(names)) for metric in shared if metric.better],
        last=[(clean(m.name), last_values(m)) for m in metrics],
        checkpoints=checkpoint_rows(comparison, _LONGEST),
    )


def verdict_of(comparison: Comparison) -> dict[str, Any]:
    """Return the values of the template verdict.html: the first sentences, and the effects of settings and seeds."""
    return {
        "verdict": comparison.verdict,
        "speed": comparison.speed,
        "axis": comparison.axis.sentence,
        "limits": comparison.limits,
        "at_equal_counter": comparison.at_equal_counter,
        "effects": comparison.effects,
        "seeds": _seeds(comparison),
    }


def _seeds(comparison: Comparison) -> dict[str, Any] | None:
    means = comparison.table
    if means is None:
        return None
    names = [clean(name) for name in means.settings]
    rows = [
        (row.name, seed_cells(row), [setting_text(value, _LONGEST) for value in row.group.settings], row.remark)
        for row in mean_rows(means, comparison.labels)
    ]
    title = seed_title(means, common_step_name(comparison.runs))
    return {"title": title, "heads": SEED_HEADS, "names": names, "rows": rows}


def _texts(rows: Iterable[tuple[str, Iterable[Any]]]) -> list[tuple[str, list[str]]]:
    return [(clean(name), [setting_text(value, _LONGEST) for value in values]) for name, values in rows]


def main_chart(comparison: Comparison) -> ChartFigure | None:
    """Return the chart of the most important metric that two runs have; None if there is none."""
    metric = next((metric for metric in comparison.metrics if metric.shared > 1), None)
    return _chart(comparison, metric, [clean(label) for label in comparison.labels], True) if metric else None


def _chart(comparison: Comparison, metric: MetricComparison, names: list[str], first: bool) -> ChartFigure:
    """Return the chart of a metric. If there are more runs than lines, it shows the best ones."""
    every = zip(comparison.runs, names, metric.entries, strict=True)
    pairs = [(run, name, entry) for run, name, entry in every if entry is not None]
    if len(pairs) > MOST_LINES:
        pairs.sort(key=lambda pair: pair[2].rank or len(pairs))
    series = [(run, name, entry.summary.meaning, entry.summary.curve) for run, name, entry in pairs]
    failed = {run.id for run, failure in zip(comparison.runs, comparison.failures, strict=True) if failure}
    return chart_across(comparison.runs, metric.name, series, first, failed)
