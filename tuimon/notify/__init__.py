"""Notifications for a user who is not watching: one message per incident, and one if it gets more severe.

They are sent from a thread.

    [notify]
    severity = "warning"                # the mildest alert that is sent: info | warning | critical
    bell = true                         # the terminal's bell
    terminal = "auto"                   # a notification of the terminal: auto | 9 | 777 | 99 (the OSC sequences)
    command = ["notify-send", "tuimon"] # a program, started without a shell; see command.py
    webhook = "https://example.org/x"   # a JSON object is sent there by POST

Nothing is sent unless the user's own config.toml says so. A message that cannot be sent becomes a notice on the screen.
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

_MAX_SEPARATE = 3
"""More new alerts than this at once are sent as one message with a count."""


class Channel(Protocol):
    """Channel that sends messages."""

    @property
    def name(self) -> str: ...

    def send(self, message: Message) -> None:
        """Send a message; may block. Raises TuimonError on failure."""
        ...


class Channels(Struct, frozen=True):
    """Channels that the user has configured, and the mildest severity that is sent."""

    severity: str
    channels: tuple[Channel, ...]


def channels_of(options: Mapping[str, Any], write: Callable[[str], None], where: str = "config.toml") -> Channels:
    """Build the channels of the table [notify]. write: writes to the terminal, from any thread.

    UsageError for an unknown channel or an invalid value.
    """
    if not options:
        return Channels("warning", ())
    from tuimon.notify.command import Command
    from tuimon.notify.terminal import Bell, TerminalNotification
    from tuimon.notify.webhook import Webhook

    factories: dict[str, Callable[[Any], Channel | None]] = {
        "bell": lambda value: Bell.of(value, write),
        "terminal": lambda value: TerminalNotification.of(value, write),
        "command": Command.of,
        "webhook": Webhook.of,
    }
    severity = options.get("severity", "warning")
    if severity not in SEVERITIES:
        raise UsageError(f"{where}: [notify] severity must be one of {', '.join(SEVERITIES)}, not {severity!r}")
    channels = []
    for name, value in options.items():
        if name == "severity":
            continue
        if name not in factories:
            raise UsageError(f"{where}: [notify] has no key {name!r}", f"keys: severity, {', '.join(factories)}")
        try:
            channel = factories[name](value)
        except ValueError as error:
            raise UsageError(f"{where}: [notify] {name} {error}") from error
        if channel is not None:
            channels.append(channel)
    return Channels(severity, tuple(channels))


class Notifier:
    """Sends one message per incident, and one for each severity that it rises to.

    `update` and `close` may be called from any thread; `update` never blocks.
    """

    def __init__(self, chosen: Channels, on_error: Callable[[Notice], None]) -> None:
        """Start the thread. on_error is called there for each message that could not be sent."""
        self._severity = SEVERITIES.index(chosen.severity)
        self._channels = chosen.channels
        self._on_error = on_error
        self._known: dict[AlertKey, int] = {}
        """Highest severity of each incident so far, as an index into SEVERITIES."""
        self._caught_up = False
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="notifier", daemon=True)
        if self._channels:
            self._thread.start()

    def update(self, snapshot: Snapshot) -> None:
        """Send the new alerts of a snapshot; alerts of the initial read of the logs are not sent."""
        if not self._channels:
            return
        with self._lock:
            new = [
                alert
                for alert in (*snapshot.alerts, *snapshot.resolved)
                if SEVERITIES.index(alert.severity) > self._known.get(alert.key, self._severity - 1)
            ]
            self._known.update((alert.key, SEVERITIES.index(alert.severity)) for alert in new)
            if self._caught_up:
                for message in _messages(snapshot, new):
                    self._queue.put(message)
            self._caught_up = self._caught_up or snapshot.progress.caught_up

    def close(self, timeout: float = 2.0) -> None:
        """Stop after sending queued messages; wait at most `timeout` seconds for that."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _work(self) -> None:
        while (message := self._queue.get()) is not None:
            for channel in self._channels:
                try:
                    channel.send(message)
                except TuimonError as error:
                    text = f"Could not send an alert by {channel.name}: {error.message}"
                    self._on_error(Notice("warning", text, error.hint))


def _messages(snapshot: Snapshot, new: list[Alert]) -> list[Message]:
    if len(new) > _MAX_SEPARATE:
        return [message_of(snapshot, new[0], len(new) - 1)]
    return [message_of(snapshot, alert) for alert in new]
