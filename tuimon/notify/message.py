"""Messages of alerts, as text without control characters and as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from tuimon.model.alerts import SEVERITIES, Alert, AlertKey, incident_id
from tuimon.store import Snapshot
from tuimon.text import clean, shown_path

SCHEMA = 1
ENDED = len(SEVERITIES)
"""Stage of news about something that has ended; before, the stage is the index of the severity."""


class Message(Struct, frozen=True):
    """Message of an alert. Texts contain no control characters."""

    run: str
    path: str
    rule: str
    """Id of the detector; "finished" and "summary" for what is no alert."""
    severity: str
    metric: str
    step: int | None
    message: str
    hint: str
    more: int = 0
    """Number of other alerts that were raised at the same time."""
    until: int | None = None
    """Last step of an incident that has ended."""
    draw: Callable[[], bytes] | None = None
    """Returns a picture of the curve (PNG); b"" if there is none."""

    @property
    def text(self) -> str:
        """Whole message in one line: "grpo-1.5b: grad_norm is NaN since step 36 (and 2 more)"."""
        more = f" (and {self.more} more)" if self.more else ""
        resolved = "" if self.until is None else f" (resolved at step {self.until})"
        return f"{self.run}: {self.message}{resolved}{more}"

    def document(self) -> dict[str, str | int | None]:
        """Return the message as a JSON object; `text` is the key that chat services display."""
        fields = asdict(self)
        del fields["draw"]
        return {"schema": SCHEMA, "text": self.text, **fields}


class News(Struct, frozen=True, eq=False):
    """Something that each channel is told once at each stage."""

    id: str
    """The same in every process."""
    stage: int
    """Index of the severity, or ENDED."""
    message: Message
    is_mild: bool = False
    """Whether it goes only to channels that got an earlier stage. True for an end that is milder than the beginning."""


def alert_news(snapshot: Snapshot, alert: Alert, is_mild: bool, draw: Callable[[], bytes] | None) -> News:
    """Return the present stage of an incident. draw: returns a picture of its curve."""
    run = snapshot.run(alert.run)
    message = Message(
        clean(run.name),
        shown_path(run.path),
        clean(alert.rule),
        alert.severity,
        clean(alert.metric),
        alert.step,
        clean(alert.message),
        clean(alert.hint),
        until=alert.until,
        draw=draw,
    )
    return News(incident_id(run.path, alert.key), stage_of(alert), message, is_mild)


def stage_of(alert: Alert) -> int:
    """Return the index of the severity of an incident, or ENDED."""
    return SEVERITIES.index(alert.severity) if alert.active else ENDED


def finished_news(path: str, name: str, step: int | None, message: str) -> News:
    """Return the news that a run has finished. message: what it has reached."""
    key = AlertKey(0, "finished", "", step)
    told = Message(clean(name), shown_path(path), key.rule, "info", "", step, clean(message), "")
    return News(incident_id(path, key), ENDED, told)


def combined(news: Sequence[News]) -> Message:
    """Return one message for several: the most severe one, with the number of others."""
    worst = max(news, key=lambda one: SEVERITIES.index(one.message.severity) - ENDED * (one.stage == ENDED))
    return replace(worst.message, more=len(news) - 1)
