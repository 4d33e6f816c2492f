"""record(): what tuimon says of the logs at a path, as JSON; changes(): the lines in which two records differ."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.corpus.cases import NOW
from tuimon.analysis.attempts import attempts_of
from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.alerts import Alert
from tuimon.monitor.local import LocalMonitor
from tuimon.redact import redacted
from tuimon.store import Curve, Run

Record = dict[str, Any]

OF_MACHINE = ("disk_full",)
"""Detectors whose result depends on the machine."""


def record(path: Path) -> Record:
    """Read the logs at a path and return the record of each run by its name."""
    monitor = LocalMonitor([path], clock=lambda: NOW)
    monitor.update()
    snapshot = monitor.snapshot()
    alerts = [alert for alert in (*snapshot.alerts, *snapshot.resolved) if alert.rule not in OF_MACHINE]
    return {run.name: _of_run(run, [alert for alert in alerts if alert.run == run.id]) for run in snapshot.runs}


def changes(before: Record, after: Record) -> Iterator[str]:
    """Yield the lines of `as_text` that differ, each with the name of its run: 'run: -   "loss": [9, 1, 9, 0, "…"]'."""
    for name in sorted(before.keys() | after.keys()):
        old, new = (as_text({name: own[name]}).splitlines() if name in own else [] for own in (before, after))
        lines = difflib.unified_diff(old, new, n=0, lineterm="")
        yield from (f"{name}: {line}" for line in lines if not line.startswith(("---", "+++", "@@")))


def as_text(record: Record) -> str:
    """Return the record as JSON with a line for each log, curve and alert."""
    runs = []
    for name, run in sorted(record.items()):
        fields = [f"  {json.dumps(field)}: {_lines(value)}" for field, value in run.items()]
        runs.append(f" {json.dumps(name)}: {{\n" + ",\n".join(fields) + "\n }")
    return "{\n" + ",\n".join(runs) + "\n}\n"


def _lines(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n   " + ",\n   ".join(map(json.dumps, value)) + "\n  ]"
    if isinstance(value, dict) and value:
        return "{\n   " + ",\n   ".join(f"{json.dumps(key)}: {json.dumps(of)}" for key, of in value.items()) + "\n  }"
    return json.dumps(value)


def _of_run(run: Run, alerts: list[Alert]) -> Record:
    progress = progress_of(run, NOW)
    return {
        "logs": sorted([view.info.source, view.info.format, view.info.prefix] for view in run.streams),
        "attempts": [[a.name, a.first_step, a.last_step, a.superseded] for a in attempts_of(run)],
        "state": progress.state,
        "step": progress.step,
        "total": progress.total,
        "pace": None if math.isnan(progress.seconds_per_step) else float(f"{progress.seconds_per_step:.3g}"),
        "settings": [len(run.config), _digest(json.dumps(redacted(run.config), sort_keys=True, default=str).encode())],
        "alerts": sorted([a.rule, a.metric, a.step, a.until, a.severity] for a in alerts),
        "curves": {metric: _of_curve(run.curve(metric)) for metric in sorted(run.metrics)},
    }


def _of_curve(curve: Curve) -> list[Any]:
    if not len(curve):
        return [0, None, None, curve.superseded, ""]
    steps, values = np.ascontiguousarray(curve.steps), np.ascontiguousarray(curve.values)
    digest = _digest(steps.tobytes() + np.where(np.isnan(values), np.nan, values).tobytes())
    return [len(curve), int(steps[0]), int(steps[-1]), curve.superseded, digest]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:10]
