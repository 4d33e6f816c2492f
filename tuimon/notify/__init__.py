"""Notifications for a user who is not watching: one message per incident, and one if it gets more severe.

They are sent from a thread of each channel; outbox.py repeats those that a webhook did not get.

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
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES, Alert, AlertKey
from tuimon.model.events import Notice
from tuimon.notify.message import Message, message_of
from tuimon.notify.outbox import PAUSES, Channel, Outbox
from tuimon.store import Snapshot

__all__ = ["Channel", "Message", "Notifier", "channels_of"]

_MAX_SEPARATE = 3
"""More new alerts than this at once are sent as one message with a count."""


class Channels(Struct, frozen=True):
    """Channels that the user has configured, and the mildest severity that is sent."""

    severity: str
    channels: tuple[Channel, ...]


def channels_of(options: Mapping[str, Any], write: Callable[[str], None]) -> Channels:
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
        raise UsageError(f"config.toml: [notify] severity must be one of {', '.join(SEVERITIES)}, not {severity!r}")
    channels = []
    for name, value in options.items():
        if name == "severity":
            continue
        if name not in factories:
            raise UsageError(f"config.toml: [notify] has no key {name!r}", f"keys: severity, {', '.join(factories)}")
        try:
            channel = factories[name](value)
        except ValueError as error:
            raise UsageError(f"config.toml: [notify] {name} {error}") from error
        if channel is not None:
            channels.append(channel)
    return Channels(severity, tuple(channels))


class Notifier:
    """Sends one message per incident, and one for each severity that it rises to.

    `update` and `close` may be called from any thread; `update` never blocks.
    """

    def __init__(self, chosen: Channels, on_notice: Callable[[Notice], None], pauses: Sequence[float] = PAUSES) -> None:
        """Start the threads. on_notice: called there when a channel fails and when it works again.

        pauses: seconds after the first, second, … failed attempt; the last one is repeated.
        """
        self._severity = SEVERITIES.index(chosen.severity)
        self._known: dict[AlertKey, int] = {}
        """Highest severity of each incident so far, as an index into SEVERITIES."""
        self._caught_up = False
        self._lock = threading.Lock()
        self._resolved: tuple[Alert, ...] = ()
        self._outboxes = [Outbox(channel, on_notice, self._resolved_at, pauses) for channel in chosen.channels]

    def update(self, snapshot: Snapshot) -> None:
        """Send the new alerts of a snapshot; alerts of the initial read of the logs are not sent."""
        if not self._outboxes:
            return
        with self._lock:
            self._resolved = snapshot.resolved
            new = [
                alert
                for alert in (*snapshot.alerts, *snapshot.resolved)
                if SEVERITIES.index(alert.severity) > self._known.get(alert.key, self._severity - 1)
            ]
            self._known.update((alert.key, SEVERITIES.index(alert.severity)) for alert in new)
            if self._caught_up:
                for message, key in _messages(snapshot, new):
                    for outbox in self._outboxes:
                        outbox.put(message, key)
            self._caught_up = self._caught_up or snapshot.progress.caught_up

    def close(self, timeout: float = 0.5) -> dict[str, list[str]]:
        """Stop after an attempt to send each queued message; wait at most `timeout` seconds for that.

        Returns the texts of the messages that were not sent, by the name of the channel.
        """
        for outbox in self._outboxes:
            outbox.close()
        until = time.monotonic() + timeout
        unsent = {outbox.name: outbox.join(max(0.0, until - time.monotonic())) for outbox in self._outboxes}
        return {name: texts for name, texts in unsent.items() if texts}

    def _resolved_at(self, key: AlertKey) -> int | None:
        """Return the last step of an incident; None while it is active."""
        return next((alert.until for alert in self._resolved if alert.key == key), None)


def _messages(snapshot: Snapshot, new: list[Alert]) -> list[tuple[Message, AlertKey]]:
    if len(new) > _MAX_SEPARATE:
        return [(message_of(snapshot, new[0], len(new) - 1), new[0].key)]
    return [(message_of(snapshot, alert), alert.key) for alert in new]
