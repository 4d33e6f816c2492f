"""What `tuimon check` tells: the alerts that stand, as text or as JSON.

The JSON is one object: {"schema": 1, "severity": …, "standing": n, "runs": [...], "alerts": [...], "past": [...]}.
`standing` counts the alerts of at least that severity, which are those that decide the exit code; `alerts` are all that
stand, `past` those that are over. Fields are only added within a schema number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports._json import dumps
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.store import Snapshot
from tuimon.text import clean

SCHEMA = 1


def grave(snapshot: Snapshot, severity: str) -> tuple[Alert, ...]:
    """The standing alerts of at least that severity."""
    return tuple(a for a in snapshot.alerts if SEVERITIES.index(a.severity) >= SEVERITIES.index(severity))


def as_text(snapshot: Snapshot, severity: str, past: bool = False) -> Iterator[str]:
    """A line an alert, its hint below it; at the end one that counts."""
    standing = grave(snapshot, severity)
    several = len(snapshot.runs) > 1
    for alert in (*standing, *(snapshot.past if past else ())):
        run = f"{clean(snapshot.run(alert.run).name)}: " if several else ""
        yield f"{alert.severity if alert.standing else 'past':<8}  {run}{clean(alert.message)}"
        if alert.hint and alert.standing:
            yield f"{'':<8}  {clean(alert.hint)}"
    yield _counted(snapshot, len(standing), len(snapshot.alerts) - len(standing), past)


def _counted(snapshot: Snapshot, standing: int, milder: int, past: bool) -> str:
    runs = f"{len(snapshot.runs)} runs" if len(snapshot.runs) != 1 else "1 run"
    stand = "no alert stands" if standing == 0 else "1 alert stands" if standing == 1 else f"{standing} alerts stand"
    rest = [f"{milder} milder"] if milder else []
    rest += [f"{len(snapshot.past)} over (--past)"] if snapshot.past and not past else []
    return f"{stand} in {runs}" + (f"; {', '.join(rest)}" if rest else "")


def as_json(snapshot: Snapshot, severity: str, now: float) -> str:
    """One object; see the module's docstring. now: seconds since the epoch."""
    runs = []
    for run in snapshot.runs:
        said = progress_of(run, now)
        runs.append(
            {
                "id": run.id,
                "name": run.name,
                "path": run.path,
                "state": said.state,
                "evidence": said.evidence,
                "step": said.step,
            }
        )
    return dumps(
        {
            "schema": SCHEMA,
            "severity": severity,
            "standing": len(grave(snapshot, severity)),
            "runs": runs,
            "alerts": [document(alert) for alert in snapshot.alerts],
            "past": [document(alert) for alert in snapshot.past],
        }
    )


def document(alert: Alert) -> dict[str, Any]:
    """An alert as JSON has it."""
    return {
        "run": alert.run,
        "rule": alert.rule,
        "severity": alert.severity,
        "metric": alert.metric,
        "step": alert.step,
        "until": alert.until,
        "message": alert.message,
        "hint": alert.hint,
    }
