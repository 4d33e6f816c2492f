"""Telling a person who is not looking: one message an incident, from a thread of its own.

    [notify]
    severity = "warning"                # the mildest alert that is told: info | warning | critical
    bell = true                         # the terminal's bell
    terminal = "auto"                   # a notification of the terminal: auto | 9 | 777 | 99 (the OSC sequences)
    command = ["notify-send", "tuimon"] # a program, no shell; what happened is in its environment and standard input
    webhook = "https://example.org/x"   # a JSON object is sent there by POST

Nothing is told unless the user's own config.toml says so. What cannot be told becomes a notice on the screen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any, Protocol

from msgspec import Struct

from tuimon.errors import TuimonError, UsageError
from tuimon.model.alerts import SEVERITIES, Alert, AlertKey
from tuimon.model.events import Notice
from tuimon.notify.message import Message, message_of
from tuimon.store import Snapshot

__all__ = ["Channel", "Message", "Notifier", "channels_of"]

_TOLD_APART = 3
"""More new alerts at once than that are one message that counts the others."""


class Channel(Protocol):
    """A way to tell."""

    @property
    def name(self) -> str: ...

    def tell(self, message: Message) -> None:
        """May take its time; TuimonError says why it could not."""
        ...


class Channels(Struct, frozen=True):
    """What the user has chosen."""

    severity: str
    channels: tuple[Channel, ...]


def channels_of(options: Mapping[str, Any], write: Callable[[str], None], where: str = "config.toml") -> Channels:
    """From what stands in [notify]. write: to the terminal, from any thread. UsageError for what does not exist."""
    from tuimon.notify.command import Command
    from tuimon.notify.terminal import Bell, TerminalNotification
    from tuimon.notify.webhook import Webhook

    makers: dict[str, Callable[[Any], Channel | None]] = {
        "bell": lambda value: Bell.of(value, write),
        "terminal": lambda value: TerminalNotification.of(value, write),
        "command": Command.of,
        "webhook": Webhook.of,
    }
    severity = options.get("severity", "warning")
    if severity not in SEVERITIES:
        raise UsageError(f"{where}: [notify] severity is one of {', '.join(SEVERITIES)}, not {severity!r}")
    found = []
    for name, value in options.items():
        if name == "severity":
            continue
        if name not in makers:
            raise UsageError(f"{where}: [notify] has no {name!r}", f"it has: severity, {', '.join(makers)}")
        try:
            channel = makers[name](value)
        except ValueError as error:
            raise UsageError(f"{where}: [notify] {name} {error}") from error
        if channel is not None:
            found.append(channel)
    return Channels(severity, tuple(found))


class Notifier:
    """Tells every incident once. `update` and `close` may be called from any thread, and never wait."""

    def __init__(self, chosen: Channels, complain: Callable[[Notice], None]) -> None:
        """complain: what could not be told, on the notifier's thread."""
        self._severity = SEVERITIES.index(chosen.severity)
        self._channels = chosen.channels
        self._complain = complain
        self._known: set[AlertKey] = set()
        self._watching = False
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="notifier", daemon=True)
        if self._channels:
            self._thread.start()

    def update(self, snapshot: Snapshot) -> None:
        """What is new in a snapshot is told. What was there when the logs had first been read is no news."""
        if not self._channels:
            return
        with self._lock:
            new = [
                alert
                for alert in (*snapshot.alerts, *snapshot.past)
                if alert.key not in self._known and SEVERITIES.index(alert.severity) >= self._severity
            ]
            self._known.update(alert.key for alert in new)
            if self._watching:
                for message in _messages(snapshot, new):
                    self._queue.put(message)
            self._watching = self._watching or snapshot.progress.caught_up

    def close(self, timeout: float = 2.0) -> None:
        """What is on its way may still arrive, for so many seconds."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _work(self) -> None:
        while (message := self._queue.get()) is not None:
            for channel in self._channels:
                try:
                    channel.tell(message)
                except TuimonError as error:
                    self._complain(
                        Notice("warning", f"An alert was not told by {channel.name}: {error.message}", error.hint)
                    )


def _messages(snapshot: Snapshot, new: list[Alert]) -> list[Message]:
    if len(new) > _TOLD_APART:
        return [message_of(snapshot, new[0], len(new) - 1)]
    return [message_of(snapshot, alert) for alert in new]
