"""What is told: an alert in words that are safe anywhere, and as data."""

from __future__ import annotations

from msgspec import Struct

from tuimon.model.alerts import Alert
from tuimon.store import Snapshot
from tuimon.text import clean, shown_path

SCHEMA = 1


class Message(Struct, frozen=True):
    """All texts are free of control characters."""

    run: str
    path: str
    rule: str
    severity: str
    metric: str
    step: int | None
    message: str
    hint: str
    more: int = 0
    """Other alerts that were raised at the same moment."""

    @property
    def text(self) -> str:
        """The whole in a line: "grpo-1.5b: grad_norm is NaN since step 36 (and 2 more)"."""
        return f"{self.run}: {self.message}" + (f" (and {self.more} more)" if self.more else "")

    def document(self) -> dict[str, str | int | None]:
        """As a JSON object has it; `text` is what chat services show."""
        return {
            "schema": SCHEMA,
            "text": self.text,
            "run": self.run,
            "path": self.path,
            "rule": self.rule,
            "severity": self.severity,
            "metric": self.metric,
            "step": self.step,
            "message": self.message,
            "hint": self.hint,
            "more": self.more,
        }


def message_of(snapshot: Snapshot, alert: Alert, more: int = 0) -> Message:
    """The message of an alert."""
    run = snapshot.run(alert.run)
    return Message(
        clean(run.name),
        shown_path(run.path),
        clean(alert.rule),
        alert.severity,
        clean(alert.metric),
        alert.step,
        clean(alert.message),
        clean(alert.hint),
        more,
    )
