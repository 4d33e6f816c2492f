"""Runs as OpenMetrics text: their state, and the last value of every metric.

The text is valid both as OpenMetrics 1.0 and in the older format of Prometheus, which node_exporter's textfile
collector reads: only gauges, no timestamps, and no info or stateset, which the older format does not know.
Source: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tuimon.analysis.aligned_steps import with_training_steps
from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._shared import known
from tuimon.model.alerts import SEVERITIES
from tuimon.panels import by_relevance
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.vocabulary import meaning_in


class _Family:
    """A metric family: all its samples must follow one another, and no two may have the same labels."""

    def __init__(self, name: str, text: str, unit: str = "") -> None:
        """unit: the last part of the name, if it is a unit."""
        self.name, self._text, self._unit = name, text, unit
        self._samples: dict[str, float] = {}

    def add(self, labels: Mapping[str, str], value: float | None) -> None:
        """Add a sample; None adds none. Of equal labels the first counts."""
        if value is not None:
            names = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            self._samples.setdefault(names, value)

    def lines(self) -> Iterator[str]:
        if not self._samples:
            return
        yield f"# HELP {self.name} {self._text}"
        yield f"# TYPE {self.name} gauge"
        if self._unit:
            yield f"# UNIT {self.name} {self._unit}"
        for labels, value in self._samples.items():
            yield f"{self.name}{{{labels}}} {_number(value)}"


def as_text(snapshot: Snapshot, now: float) -> Iterator[str]:
    """Yield the lines, the last of which is "# EOF". now: wall time (s since epoch)."""
    families = {
        family.name: family
        for family in (
            _Family("tuimon_run_state", "1 for the state of the run"),
            _Family("tuimon_run_step", "Last step"),
            _Family("tuimon_run_total_steps", "Step at which the run ends"),
            _Family("tuimon_run_eta_seconds", "Estimated time until the end", "seconds"),
            _Family("tuimon_run_step_duration_seconds", "Usual time of a step", "seconds"),
            _Family("tuimon_run_last_point_timestamp_seconds", "Time of the newest point since the epoch", "seconds"),
            _Family("tuimon_run_points", "Points as logged"),
            _Family("tuimon_run_alerts", "Active alerts"),
            _Family("tuimon_metric", "Last logged value"),
            _Family("tuimon_metric_step", "Step of the last logged value"),
        )
    }
    for run in snapshot.runs:
        _add(run, snapshot, now, families)
    for family in families.values():
        yield from family.lines()
    yield "# EOF"


def _add(run: Run, snapshot: Snapshot, now: float, families: Mapping[str, _Family]) -> None:
    """Add the samples of a run."""
    labels = {"run": run.name}
    progress = progress_of(run, now)
    values = {
        "step": progress.step,
        "total_steps": progress.total,
        "eta_seconds": known(progress.eta_seconds),
        "step_duration_seconds": known(progress.seconds_per_step),
        "last_point_timestamp_seconds": known(run.last_wall_time),
        "points": run.point_count,
    }
    families["tuimon_run_state"].add({**labels, "state": progress.state}, 1)
    for name, value in values.items():
        families[f"tuimon_run_{name}"].add(labels, value)
    active = [alert.severity for alert in snapshot.alerts if alert.run == run.id]
    for severity in SEVERITIES:
        families["tuimon_run_alerts"].add({**labels, "severity": severity}, active.count(severity))
    for name in by_relevance(run.metrics):
        meaning, curve = meaning_in(run.metrics, name), with_training_steps(run, name)
        described = {**labels, "metric": name, "concept": meaning.concept, "split": meaning.split}
        families["tuimon_metric"].add(described, float(curve.values[-1]))
        families["tuimon_metric_step"].add({**labels, "metric": name}, int(curve.steps[-1]))


def _escaped(text: str) -> str:
    """Return a label value without control characters, with the escapes of the format."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    """Return a number with all its digits: 12, 0.5, NaN, +Inf, -Inf."""
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
