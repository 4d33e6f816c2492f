"""The alerts of `tuimon check`, as text or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.documents import AlertEntry, Count, RunState, Severity, Version, alert_entry, filled
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.store import Snapshot
from tuimon.text import clean


class CheckDocument(Struct, frozen=True, kw_only=True):
    """Alerts of runs."""

    schema: Version = 1
    severity: Severity
    standing: Count
    """Active alerts of at least this severity; the exit code is 4 if there are any."""
    runs: tuple[RunState, ...]
    alerts: tuple[AlertEntry, ...]
    """Active."""
    past: tuple[AlertEntry, ...]
    """Resolved."""


def active_alerts(snapshot: Snapshot, severity: str) -> tuple[Alert, ...]:
    """Return the active alerts of at least this severity."""
    return tuple(a for a in snapshot.alerts if SEVERITIES.index(a.severity) >= SEVERITIES.index(severity))


def as_text(snapshot: Snapshot, severity: str, past: bool = False) -> Iterator[str]:
    """Yield a line per active alert with its hint below, and a line with the counts. past: add resolved alerts.

    Information is not counted as an alert, as on the screen.
    """
    active = active_alerts(snapshot, severity)
    for alert in (*active, *(snapshot.resolved if past else ())):
        run = clean(snapshot.run(alert.run).name)
        yield f"{alert.severity if alert.active else 'resolved':<8}  {run}: {clean(alert.message)}"
        if alert.hint and alert.active:
            yield f"{'':<8}  {clean(alert.hint)}"
    runs = f"{len(snapshot.runs)} runs" if len(snapshot.runs) != 1 else "1 run"
    counts = Counter(alert.severity for alert in snapshot.alerts)
    kind, milder = ("critical", ("warning", "info")) if severity == "critical" else ("active", ("info",))
    count = sum(counts.values()) - sum(counts[name] for name in milder)
    rest = "".join(f"; {counts[name]} {name}" for name in milder if counts[name])
    rest += f"; {len(snapshot.resolved)} resolved (--past)" if snapshot.resolved and not past else ""
    yield f"{count or 'no'} {kind} alert{'s' * (count != 1)} in {runs}{rest}"


def check_document(snapshot: Snapshot, severity: str, now: float) -> CheckDocument:
    """Return the document. now: wall time (s since epoch)."""
    runs = (filled(RunState, progress_of(run, now), id=run.id, name=run.name, path=run.path) for run in snapshot.runs)
    return CheckDocument(
        severity=severity,
        standing=len(active_alerts(snapshot, severity)),
        runs=tuple(runs),
        alerts=tuple(alert_entry(alert, AlertEntry) for alert in snapshot.alerts),
        past=tuple(alert_entry(alert, AlertEntry) for alert in snapshot.resolved),
    )
