"""Summary of runs as one JSON object: {"schema": 1, "runs": [...], "alerts": [...], "notices": [...]}.

Its JSON Schema is schemas/summary.json (`tuimon schema summary` prints it). Non-finite values are
the strings "NaN", "Infinity" and "-Infinity"; null is unknown. Points in time are seconds since the epoch, durations
seconds. Fields are only added within a schema number. Secrets in a config are hidden unless requested.
"""

from __future__ import annotations

from typing import Any

from tuimon.analysis.attempts import LostWork, lost_at_restarts
from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._shared import alert_fields, dumps, fields, known, note_fields, without_secrets
from tuimon.exports.metrics import Entries, MetricSummary, entries, metric_summaries
from tuimon.model.ranks import JobRanks
from tuimon.panels import facts_about
from tuimon.redact import redacted_text
from tuimon.store import Run, Snapshot
from tuimon.text import clean

SCHEMA = 1


def as_json(snapshot: Snapshot, now: float, show_secrets: bool = False, compact: bool = False) -> str:
    """Return the JSON object of a snapshot. now: wall time (s since epoch). compact: on one line."""
    document = {
        "schema": SCHEMA,
        "runs": [_run(run, now, show_secrets) | _ranks(run.ranks) for run in snapshot.runs],
        "alerts": [alert_fields(alert) for alert in snapshot.alerts],
        "notices": [fields(notice, "level", "message", "hint") for notice in snapshot.notices],
    }
    return dumps(document, compact)


def _run(run: Run, now: float, show_secrets: bool) -> dict[str, Any]:
    progress = progress_of(run, now)
    return {
        "id": run.id,
        "name": run.name,
        "path": run.path,
        "note": note_fields(run.path),
        "state": progress.state,
        "evidence": progress.evidence,
        "step": progress.step,
        "total_steps": progress.total,
        **{name: known(getattr(progress, name)) for name in ("epoch", "seconds_per_step", "eta_seconds")},
        **{name: known(getattr(run, name)) for name in ("first_wall_time", "last_wall_time")},
        "points": run.point_count,
        "restarts": [_restart(work) for work in lost_at_restarts(run)],
        "about": without_secrets(facts_about(run), show_secrets),
        "training": _entries(entries(run, "train")),
        "validation": _entries(entries(run, "val")),
        "config": without_secrets(run.config, show_secrets),
        "best_checkpoint": without_secrets(run.best_checkpoint, show_secrets) if run.best_checkpoint else None,
        "final_metrics": without_secrets(run.final_metrics, show_secrets),
        "sources": [
            {
                "source": stream.info.source,
                "format": stream.info.format,
                "points": stream.point_count,
                "state": stream.status.state if stream.status else "waiting",
                "damaged": stream.status.damaged if stream.status else 0,
            }
            for stream in run.streams
        ],
        "metrics": [_metric(metric) for metric in metric_summaries(run)],
    }


def _ranks(ranks: JobRanks | None) -> dict[str, Any]:
    """Return the field "ranks" of a run that several processes wrote."""
    if ranks is None:
        return {}
    cause = ranks.root_cause
    return {
        "ranks": {
            "count": len(ranks.rows),
            "verdict": ranks.verdict,
            "root_cause": {
                "rank": cause.rank,
                "node": clean(cause.node) or None,
                "text": redacted_text(clean(cause.text)),
                "evidence": redacted_text(clean(cause.evidence)) or None,
                "file": clean(cause.place.path) if cause.place else None,
                "line": (cause.place.line or None) if cause.place else None,
                "rule": cause.rule or None,
                "resolved": cause.resolved,
                "step": cause.step,
                "resumed_step": cause.resumed_step,
                "steps_lost": cause.steps_lost if cause.resolved else None,
            }
            if cause
            else None,
            "stragglers": [straggler.rank for straggler in ranks.stragglers],
            "straggler_evidence": [
                fields(straggler, "rank", "excess", "z", "since", "own", "others", "hours_lost")
                for straggler in ranks.stragglers
            ],
            "silent": list(ranks.silent),
            "unreachable": [{"host": host, "reason": why} for host, why in ranks.unreachable],
        }
    }


def _restart(work: LostWork) -> dict[str, Any]:
    return {
        "first_step": work.first_step,
        "resumed_from": work.checkpoint,
        "last_step_before": work.last_step,
        "steps_lost": work.steps,
        "superseded": work.superseded,
        "resumed_time": known(work.resumed),
        "seconds_without_point": known(work.seconds),
    }


def _entries(logged: Entries | None) -> dict[str, int] | None:
    return {"entries": logged.count, "last_step": logged.last_step} if logged else None


def _metric(metric: MetricSummary) -> dict[str, Any]:
    curve, numbers, trend = metric.curve, metric.numbers, metric.trend
    low, high, level = curve.min, curve.max, metric.level
    return {
        "name": metric.name,
        "concept": metric.meaning.concept,
        "split": metric.meaning.split,
        "unit": metric.meaning.logged_unit,
        "points": len(curve),
        "last_step": metric.last_step,
        "last": metric.last,
        "min": {"step": low.step, "value": low.value} if low else None,
        "max": {"step": high.step, "value": high.value} if high else None,
        "best": {"step": metric.best[0], "value": metric.best[1]} if metric.best else None,
        **{name: known(getattr(numbers, name)) for name in ("mean", "deviation", "variance", "median")},
        "level": known(level.value),
        "error": known(level.error),
        "level_points": level.count,
        "trend": {"direction": trend.direction}
        | {name: known(getattr(trend, name)) for name in ("change", "slope", "slope_low", "slope_high", "p_value")}
        | {"jump": _jump(metric)},
        "nan": metric.nan_count,
        "infinite": metric.infinity_count,
        "superseded": curve.superseded,
        "source": curve.sources[0] if curve.sources else None,
    }


def _jump(metric: MetricSummary) -> dict[str, Any] | None:
    jump = metric.jump
    if jump is None:
        return None
    return {"step": int(metric.curve.steps[jump.index]), "before": jump.before, "after": jump.after}
