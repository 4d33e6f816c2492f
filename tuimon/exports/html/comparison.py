"""A comparison of runs as one HTML file: the tables of the text, and charts with the curves of all runs."""

from __future__ import annotations

from typing import Any

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.comparison_rows import MetricRows
from tuimon.exports.html import page
from tuimon.exports.html.plot import columns_for
from tuimon.exports.pictures import MOST_LINES, chart_across
from tuimon.model.views import ChartView
from tuimon.panels import DEFAULTS
from tuimon.panels.lists.comparison import Comparison
from tuimon.panels.lists.comparison_tables import comparison_tables, metric_table

_MAX_CHARTS = 60
_COLUMNS = 320
"""Columns of a chart of long curves."""


def as_html(comparison: Comparison, now: float) -> str:
    """Return the page. now: wall time (s since epoch)."""
    shared = [metric for metric in comparison.metrics if metric.count > 1]
    tables = list(comparison_tables(comparison, now))
    ranked = [metric_table(comparison, m) for m in shared if m.better and m is not comparison.main]
    return page(
        "comparison.html",
        now,
        title=f"Comparison of {len(comparison.runs)} runs",
        sentences=list(comparison.sentences),
        tables=tables,
        more=ranked,
        charts=[_chart(comparison, metric) for metric in shared[:_MAX_CHARTS]],
        steps=common_step_name(comparison.runs),
    )


def seeds_summary(comparison: Comparison) -> dict[str, Any]:
    """Return the first sentences, and the table of the seeds if there are some, for the template of a report."""
    main = comparison.main if comparison.has_groups else None
    return {
        "sentences": list(comparison.sentences),
        "tables": [metric_table(comparison, main)] if main is not None else [],
    }


def main_chart(comparison: Comparison) -> ChartView | None:
    """Return the chart of the most important metric that two runs have; None if there is none."""
    metric = next((metric for metric in comparison.metrics if metric.count > 1), None)
    return _chart(comparison, metric) if metric else None


def _chart(comparison: Comparison, metric: MetricRows) -> ChartView:
    """Return the chart of a metric. If there are more runs than lines, it shows the best ones."""
    order = dict.fromkeys([*(run for row in metric.ranked for run in row.runs), *range(len(comparison.runs))])
    chosen = list(order) if metric.count > MOST_LINES else range(len(comparison.runs))
    runs = [comparison.runs[run] for run in chosen]
    both = zip(comparison.runs, metric.runs, strict=True)
    curves = {run.id: own.curve.metric for run, own in both if own is not None}
    failed = {run.id for run, failure in zip(comparison.runs, comparison.failures, strict=True) if failure}
    columns = columns_for(runs, _COLUMNS)
    return chart_across(runs, metric.name, curves, DEFAULTS, columns, failed=failed)
