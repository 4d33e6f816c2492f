"""Message of an alert, as text without control characters and as data."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict

from tuimon.model.alerts import Alert
from tuimon.store import Snapshot
from tuimon.text import clean, shown_path

SCHEMA = 1


class Message(Struct, frozen=True):
    """Message of an alert. Texts contain no control characters."""

    run: str
    path: str
    rule: str
    severity: str
    metric: str
    step: int | None
    message: str
    hint: str
    more: int = 0
    """Number of other alerts that were raised at the same time."""
    until: int | None = None
    """Last step of the incident if it was resolved before the message could be sent."""

    @property
    def text(self) -> str:
        """Whole message in one line: "grpo-1.5b: grad_norm is NaN since step 36 (and 2 more)"."""
        more = f" (and {self.more} more)" if self.more else ""
        resolved = "" if self.until is None else f" (resolved at step {self.until})"
        return f"{self.run}: {self.message}{resolved}{more}"

    def document(self) -> dict[str, str | int | None]:
        """Return the message as a JSON object; `text` is the key that chat services display."""
        return {"schema": SCHEMA, "text": self.text, **asdict(self)}


def message_of(snapshot: Snapshot, alert: Alert, more: int = 0) -> Message:
    """Build the message of an alert. more: number of other alerts raised at the same time."""
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
