"""Sign and words for the state of a run, the same on screens, in text and in reports."""

from __future__ import annotations

from collections.abc import Iterable

from tuimon.model.alerts import Alert

SIGNS = {
    "running": ("●", "*"),
    "finished": ("✓", "+"),
    "pruned": ("–", "-"),
    "stalled": ("!", "!"),
    "stopped": ("!", "!"),
    "crashed": ("✗", "x"),
    "ended": ("–", "-"),
    "quiet": ("·", "."),
    "deleted": ("✗", "x"),
    "reading": ("○", "o"),
    "waiting": ("○", "o"),
    "not understood": ("?", "?"),
    "unknown": ("?", "?"),
}
"""State -> (sign, sign in ASCII), in sort order. "ended" has no tick: whether the run was complete is not known."""
_FAILED = "crashed"


def state_sign(state: str, ascii_only: bool, critical: int = 0) -> str:
    """Return the sign of a state; that of a crash for a run with critical alerts, be it finished or not."""
    return SIGNS.get(_FAILED if critical else state, SIGNS["unknown"])[ascii_only]


def state_words(state: str, critical: int) -> str:
    """Return the state with the number of critical alerts: "ended, 1 critical alert"."""
    return f"{state}, {critical} critical alert{'s' if critical != 1 else ''}" if critical else state


def critical_count(alerts: Iterable[Alert], run: int) -> int:
    """Return the number of active critical alerts of a run. run: its id."""
    return sum(alert.run == run and alert.severity == "critical" and alert.active for alert in alerts)
