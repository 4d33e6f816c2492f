"""What runs have come to, for programs.

One object: {"schema": 1, "runs": [...], "alerts": [...], "notices": [...]}; its JSON Schema is summary.schema.json
beside this file (`tuimon summary --schema` prints it). A value that is not finite is the string "NaN", "Infinity" or
"-Infinity"; what is unknown is null. Times are seconds since the epoch or seconds. Fields are only added within a
schema number. Secrets in a config are hidden unless they are asked for.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._json import dumps, known
from tuimon.exports._metrics import Entries, MetricSummary, entries, metric_summaries
from tuimon.exports._settings import opened
from tuimon.store import Run, Snapshot

SCHEMA = 1


def schema_text() -> str:
    """The JSON Schema of the document."""
    return files("tuimon.exports").joinpath("summary.schema.json").read_text("utf-8")


def as_json(snapshot: Snapshot, now: float, show_secrets: bool = False, compact: bool = False) -> str:
    """The whole snapshot as one JSON object; see the module's docstring. compact: on one line."""
    document = {
        "schema": SCHEMA,
        "runs": [_run(run, now, show_secrets) for run in snapshot.runs],
        "alerts": [
            {
                "run": alert.run,
                "rule": alert.rule,
                "severity": alert.severity,
                "metric": alert.metric,
                "step": alert.step,
                "message": alert.message,
            }
            for alert in snapshot.alerts
        ],
        "notices": [{"level": n.level, "message": n.message, "hint": n.hint} for n in snapshot.notices],
    }
    return dumps(document, compact)


def _run(run: Run, now: float, show_secrets: bool) -> dict[str, Any]:
    progress = progress_of(run, now)
    return {
        "id": run.id,
        "name": run.name,
        "path": run.path,
        "state": progress.state,
        "evidence": progress.evidence,
        "step": progress.step,
        "total_steps": progress.total,
        "epoch": known(progress.epoch),
        "seconds_per_step": known(progress.seconds_per_step),
        "eta_seconds": known(progress.eta_seconds),
        "first_wall_time": known(run.first_wall_time),
        "last_wall_time": known(run.last_wall_time),
        "points": run.point_count,
        "training": _entries(entries(run, "train")),
        "validation": _entries(entries(run, "val")),
        "config": opened(run.config, show_secrets),
        "best_checkpoint": opened(run.best_checkpoint, show_secrets) if run.best_checkpoint else None,
        "final_metrics": opened(run.final_metrics, show_secrets),
        "sources": [
            {
                "source": stream.found.source,
                "format": stream.found.format,
                "points": stream.point_count,
                "state": stream.status.state if stream.status else "waiting",
                "damaged": stream.status.damaged if stream.status else 0,
            }
            for stream in run.streams
        ],
        "metrics": [_metric(metric) for metric in metric_summaries(run)],
    }


def _entries(found: Entries | None) -> dict[str, int] | None:
    return {"entries": found.count, "last_step": found.last_step} if found else None


def _metric(metric: MetricSummary) -> dict[str, Any]:
    curve, numbers, trend = metric.curve, metric.numbers, metric.trend
    low, high = curve.min, curve.max
    return {
        "name": metric.name,
        "concept": metric.meaning.concept,
        "split": metric.meaning.split,
        "unit": metric.meaning.unit,
        "points": len(curve),
        "last_step": metric.last_step,
        "last": metric.last,
        "min": {"step": low.step, "value": low.value} if low else None,
        "max": {"step": high.step, "value": high.value} if high else None,
        "best": {"step": metric.best[0], "value": metric.best[1]} if metric.best else None,
        "mean": known(numbers.mean),
        "deviation": known(numbers.deviation),
        "variance": known(numbers.variance),
        "median": known(numbers.median),
        "trend": {
            "direction": trend.direction,
            "change": known(trend.change),
            "slope": known(trend.slope),
            "slope_low": known(trend.slope_low),
            "slope_high": known(trend.slope_high),
            "p_value": known(trend.p_value),
        },
        "nan": curve.nan_count,
        "infinite": curve.infinity_count,
        "superseded": curve.superseded,
        "source": curve.sources[0] if curve.sources else None,
    }
