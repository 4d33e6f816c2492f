"""The alerts of `tuimon check`, as text or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import onset_time
from tuimon.errors import UsageError
from tuimon.exports.documents import AlertEntry, Count, RunState, Severity, Version, alert_entry, filled, known
from tuimon.model.alerts import SEVERITIES, Alert, incident_id
from tuimon.store import Snapshot
from tuimon.text import clean


class CheckedAlert(AlertEntry, frozen=True, kw_only=True):
    """An alert of a run, with what names it in the next call."""

    id: str
    """The same in every call, for --since."""
    time: float | None
    """When it began, in seconds since the epoch."""


class CheckDocument(Struct, frozen=True, kw_only=True):
    """Alerts of runs."""

    schema: Version = 1
    severity: Severity
    standing: Count
    """Active alerts of at least this severity; the exit code is 4 if there are any."""
    runs: tuple[RunState, ...]
    alerts: tuple[CheckedAlert, ...]
    """Active."""
    past: tuple[CheckedAlert, ...]
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
        alerts=tuple(_entry(snapshot, alert) for alert in snapshot.alerts),
        past=tuple(_entry(snapshot, alert) for alert in snapshot.resolved),
    )


def since(snapshot: Snapshot, start: float | str) -> Snapshot:
    """Return a snapshot with only the alerts that began after a time (s since the epoch), or after an alert by its id.

    Those of which the log does not say when they began stay. Raises UsageError for an unknown id.
    """
    times = {_id(snapshot, alert): _onset(snapshot, alert) for alert in (*snapshot.alerts, *snapshot.resolved)}
    if isinstance(start, str) and start not in times:
        raise UsageError(f"--since: no alert has the id {clean(start)}", "A time is 2h, 3d or 2026-11-28T22:00.")
    begin = times[start] if isinstance(start, str) else start

    def is_new(alert: Alert) -> bool:
        return _id(snapshot, alert) != start and not _onset(snapshot, alert) < begin

    return replace(
        snapshot, alerts=tuple(filter(is_new, snapshot.alerts)), resolved=tuple(filter(is_new, snapshot.resolved))
    )


def _entry(snapshot: Snapshot, alert: Alert) -> CheckedAlert:
    return alert_entry(alert, CheckedAlert, id=_id(snapshot, alert), time=known(_onset(snapshot, alert)))


def _id(snapshot: Snapshot, alert: Alert) -> str:
    return incident_id(snapshot.run(alert.run).path, alert.key)


def _onset(snapshot: Snapshot, alert: Alert) -> float:
    return onset_time(snapshot.run(alert.run), alert)
