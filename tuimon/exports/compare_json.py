"""Runs side by side for programs: one object with "schema": 1.

"runs" are the runs in order; every list inside "config" and "metrics" has a place for each of them, null where a run
has no such setting or metric. Numbers, null and names of what is not finite are as in summary_json. A rank of 1 is the
best level; "tied" says that noise explains why the run before it is better; level, error and noise are those of
analysis.level. Fields are only added within a schema number.
"""

from __future__ import annotations

from typing import Any

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._comparison import MISSING, Comparison, Entry, MetricComparison
from tuimon.exports._json import dumps, known
from tuimon.exports._settings import opened

SCHEMA = 1


def as_json(found: Comparison, now: float) -> str:
    """The comparison as one JSON object."""
    runs = [
        {
            "id": run.id,
            "name": label,
            "path": run.path,
            "state": progress_of(run, now).state,
            "step": run.last_step,
            "best_checkpoint": opened(run.best_checkpoint) if run.best_checkpoint else None,
            "final_metrics": opened(run.final_metrics),
        }
        for run, label in zip(found.runs, found.labels, strict=True)
    ]
    differences = [
        {"setting": name, "values": [None if value is MISSING else value for value in values]}
        for name, values in found.differences
    ]
    config = {"differences": differences, "same": dict(found.same)}
    return dumps(
        {"schema": SCHEMA, "runs": runs, "config": config, "metrics": [_metric(metric) for metric in found.metrics]}
    )


def _metric(metric: MetricComparison) -> dict[str, Any]:
    return {
        "name": metric.name,
        "concept": metric.meaning.concept,
        "split": metric.meaning.split,
        "better": metric.better or None,
        "common_step": metric.common_step,
        "common_seconds": known(metric.common_seconds),
        "runs": [_entry(entry, metric) if entry else None for entry in metric.entries],
    }


def _entry(entry: Entry, metric: MetricComparison) -> dict[str, Any]:
    one, top = entry.summary, entry.summary.best
    return {
        "name": one.name,
        "points": len(one.curve),
        "last": one.last,
        "last_step": one.last_step,
        "best": {"step": top[0], "value": top[1]} if top else None,
        "at_common_step": known(entry.at_step),
        "at_common_seconds": known(entry.at_time),
        "mean": known(one.numbers.mean),
        "deviation": known(one.numbers.deviation),
        "level": known(entry.level.value),
        "error": known(entry.level.error),
        "noise": known(entry.level.noise),
        "trend": one.trend.direction,
        "rank": entry.rank or None,
        "tied": entry.tied,
    }
