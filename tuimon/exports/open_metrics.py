"""Runs as OpenMetrics text: their state, and the last value of every metric.

The text is valid both as OpenMetrics 1.0 and in the older format of Prometheus, which node_exporter's textfile
collector reads: only gauges, no timestamps, and no info or stateset, which the older format does not know.
Source: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuimon.analysis.aligned_steps import with_training_steps
from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.documents import known
from tuimon.model.alerts import SEVERITIES
from tuimon.panels import by_relevance
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.vocabulary import meaning_in

_FAMILIES = (
    ("tuimon_run_state", "1 for the state of the run", ""),
    ("tuimon_run_step", "Last step", ""),
    ("tuimon_run_total_steps", "Step at which the run ends", ""),
    ("tuimon_run_eta_seconds", "Estimated time until the end", "seconds"),
    ("tuimon_run_step_duration_seconds", "Usual time of a step", "seconds"),
    ("tuimon_run_last_point_timestamp_seconds", "Time of the newest point since the epoch", "seconds"),
    ("tuimon_run_points", "Points as logged", ""),
    ("tuimon_run_alerts", "Active alerts", ""),
    ("tuimon_metric", "Last logged value", ""),
    ("tuimon_metric_step", "Step of the last logged value", ""),
)
"""(name, text, unit if the name ends with one) of each metric family, whose samples must follow one another."""


def as_text(snapshot: Snapshot, now: float) -> Iterator[str]:
    """Yield the lines, the last of which is "# EOF". now: wall time (s since epoch)."""
    families: dict[str, dict[str, float]] = {name: {} for name, *_ in _FAMILIES}
    for run in snapshot.runs:
        for name, labels, value in _samples(run, snapshot, now):
            if value is not None:  # no two samples of a family may have the same labels: the first counts
                families[name].setdefault(",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items()), value)
    for name, text, unit in _FAMILIES:
        if families[name]:
            yield f"# HELP {name} {text}"
            yield f"# TYPE {name} gauge"
            if unit:
                yield f"# UNIT {name} {unit}"
        for pairs, sample in families[name].items():
            yield f"{name}{{{pairs}}} {_number(sample)}"
    yield "# EOF"


def _samples(run: Run, snapshot: Snapshot, now: float) -> Iterator[tuple[str, dict[str, str], float | None]]:
    """Yield (family, labels, value) of the samples of a run; None for an unknown value."""
    labels = {"run": run.name}
    progress = progress_of(run, now)
    yield "tuimon_run_state", {**labels, "state": progress.state}, 1
    yield "tuimon_run_step", labels, progress.step
    yield "tuimon_run_total_steps", labels, progress.total
    yield "tuimon_run_eta_seconds", labels, known(progress.eta_seconds)
    yield "tuimon_run_step_duration_seconds", labels, known(progress.seconds_per_step)
    yield "tuimon_run_last_point_timestamp_seconds", labels, known(run.last_wall_time)
    yield "tuimon_run_points", labels, run.point_count
    active = [alert.severity for alert in snapshot.alerts if alert.run == run.id]
    for severity in SEVERITIES:
        yield "tuimon_run_alerts", {**labels, "severity": severity}, active.count(severity)
    for name in by_relevance(run.metrics):
        meaning, curve = meaning_in(run.metrics, name), with_training_steps(run, name)
        described = {**labels, "metric": name, "concept": meaning.concept, "split": meaning.split}
        yield "tuimon_metric", described, float(curve.values[-1])
        yield "tuimon_metric_step", {**labels, "metric": name}, int(curve.steps[-1])


def _escaped(text: str) -> str:
    """Return a label value without control characters, with the escapes of the format."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    """Return a number with all its digits: 12, 0.5, NaN, +Inf, -Inf."""
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
