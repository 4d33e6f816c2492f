"""A comparison of runs as one JSON object with "schema": 1.

"verdict", "speed" and "at_equal_counter" are one sentence each, or "". "axis" is that of --x; "x" and "level_x" are
positions on it. "seeds" has the mean, SD (standard deviation) and SE (standard error) of runs that differ only in their
seed, see exports.seed_table, or null. "effects" has the settings of a sweep, see analysis.setting_effects. "runs" has
the runs in order; "failure" is what casts doubt on the results of a run, such as a critical alert, or null.
Every list in "config", "about" (host, program, arguments, commit and versions) and "metrics" has one item per run, null
if the run has no such setting or metric.
Numbers are written as in summary_json. A rank of 1 is the best level, null if the noise of the level is unknown, as of
one point. "joint_rank" is the rank of the best run from which noise can explain the difference of this run, or its own
rank; "tied" is true if it is not its own rank. For level, error and noise see analysis.level. Fields are only added
within a schema number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuimon.analysis.comparing import MISSING
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.setting_effects import SettingEffect, SettingEffects
from tuimon.exports._shared import dumps, known, note_fields, without_secrets
from tuimon.exports.comparison import Comparison, Entry, MetricComparison
from tuimon.exports.seed_table import as_fields

SCHEMA = 1


def as_json(comparison: Comparison, now: float) -> str:
    """Return the JSON object. now: wall time (s since epoch)."""
    runs = [
        {
            "id": run.id,
            "name": label,
            "path": run.path,
            "note": note_fields(run.path),
            "state": progress_of(run, now).state,
            "failure": failure or None,
            "step": run.last_step,
            "best_checkpoint": without_secrets(run.best_checkpoint) if run.best_checkpoint else None,
            "final_metrics": without_secrets(run.final_metrics),
        }
        for run, label, failure in zip(comparison.runs, comparison.labels, comparison.failures, strict=True)
    ]
    effects = comparison.effects
    config = {"differences": _differences(comparison.differences, "setting"), "same": dict(comparison.same)}
    return dumps(
        {
            "schema": SCHEMA,
            "verdict": comparison.verdict,
            "speed": comparison.speed,
            "at_equal_counter": comparison.at_equal_counter,
            "axis": comparison.axis.name,
            "reaches": _reaches(comparison),
            "seeds": as_fields(seeds, comparison.labels) if (seeds := comparison.table) is not None else None,
            "effects": [_effect(effect, effects) for effect in effects.effects] if effects is not None else [],
            "runs": runs,
            "config": config,
            "about": {"differences": _differences(comparison.about, "name")},
            "metrics": [_metric(metric) for metric in comparison.metrics],
        }
    )


def _reaches(comparison: Comparison) -> dict[str, Any] | None:
    metric = comparison.main_metric
    if metric is None or comparison.reaches is None:
        return None
    steps = [None if own is None else own[0] for own in comparison.reached]
    places = [None if own is None else own[1] for own in comparison.reached]
    return {"metric": metric.name, "value": known(comparison.reaches), "steps": steps, "x": places}


def _differences(rows: Sequence[tuple[str, tuple[Any, ...]]], key: str) -> list[dict[str, Any]]:
    return [{key: name, "values": [None if value is MISSING else value for value in values]} for name, values in rows]


def _effect(effect: SettingEffect, effects: SettingEffects) -> dict[str, Any]:
    return {
        "setting": effect.name,
        "metric": effects.metric,
        "step": effects.step if isinstance(effects.step, int) else None,
        "x": effects.step,
        "values": [
            {"value": own.value, "level": known(own.level), "error": known(own.error), "runs": own.runs}
            for own in effect.values
        ],
        "correlation": known(effect.rank.rho) if effect.rank is not None and not effect.values else None,
        "runs": effect.runs,
        "share": effect.share,
        "beyond_noise": effect.is_beyond_noise,
        "noise": effect.noise or None,
        "varies_with": effect.varies_with,
    }


def _metric(metric: MetricComparison) -> dict[str, Any]:
    return {
        "name": metric.name,
        "concept": metric.meaning.concept,
        "split": metric.meaning.split,
        "unit": metric.logged_unit,
        "better": metric.better or None,
        "common_step": metric.common_step,
        "common_seconds": known(metric.common_seconds),
        "runs": [_entry(entry) if entry else None for entry in metric.entries],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    summary, top = entry.summary, entry.summary.best
    return {
        "name": summary.name,
        "unit": summary.meaning.logged_unit,
        "points": len(summary.curve),
        "last": summary.last,
        "last_step": summary.last_step,
        "best": {"step": top[0], "value": top[1]} if top else None,
        "at_common_step": known(entry.at_step),
        "at_common_seconds": known(entry.at_time),
        "mean": known(summary.numbers.mean),
        "deviation": known(summary.numbers.deviation),
        "level": known(entry.level.value),
        "error": known(entry.level.error),
        "noise": known(entry.level.noise),
        "level_step": entry.level_step,
        "level_x": entry.level_x,
        "level_points": entry.level.count,
        "trend": summary.trend.direction,
        "rank": entry.rank or None,
        "joint_rank": entry.joint_rank or None,
        "tied": entry.tied,
    }
