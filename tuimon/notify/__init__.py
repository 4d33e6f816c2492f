"""Notifications for a user who is not watching. One message per incident, one if it gets more severe, one at its end.

They are sent from a thread of each channel; outbox.py repeats those that a channel did not get. The dashboard sends
what is new while it is open; `tuimon check --follow` remembers in a file what each channel was told (ledger.py).

    [notify]
    severity = "warning"                # the mildest alert that is sent: info | warning | critical
    bell = true                         # the terminal's bell
    terminal = "auto"                   # a notification of the terminal: auto | 9 | 777 | 99 (the OSC sequences)
    command = ["notify-send", "tuimon"] # a program, started without a shell; see channels.py
    webhook = "https://example.org/x"   # a JSON object is sent there by POST
    urls = ["ntfy://ntfy.sh/my-runs"]   # services, by their URL of apprise; see services.py
    quiet = "22:00-07:00"               # only critical alerts are sent then; the others are sent afterwards
    summary, alive                      # only for `tuimon check --follow`, see commands/_follow.py

Nothing is sent unless the user's own config.toml says so. A message that cannot be sent becomes a notice on the screen.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES, Alert, AlertKey
from tuimon.model.events import Notice
from tuimon.notify.ledger import Ledger, is_watched
from tuimon.notify.message import ENDED, Message, News, alert_news, finished_news, stage_of
from tuimon.notify.outbox import PAUSES, Channel, Outbox
from tuimon.store import Snapshot

__all__ = ["Channel", "Channels", "Ledger", "Message", "News", "Notifier", "channels_of", "finished_news", "is_watched"]

_HERE = ("bell", "terminal")
"""Channels of the terminal that the program runs in."""
_TIME = r"([01]?\d|2[0-3]):([0-5]\d)"


class Channels(Struct, frozen=True):
    """Channels that the user has configured, and what is sent when."""

    severity: str
    channels: tuple[Channel, ...]
    quiet: tuple[int, int] = (0, 0)
    """First and last minute of the day in which only critical alerts are sent; equal: always all."""

    def is_mild(self, alert: Alert, now: float) -> bool:
        """Return whether an alert is not sent at a time (s since the epoch)."""
        is_below = SEVERITIES.index(alert.severity) < SEVERITIES.index(self.severity)
        return is_below or (alert.severity != "critical" and self.is_quiet(now))

    def is_quiet(self, now: float) -> bool:
        """Return whether only critical alerts are sent at a time (s since the epoch)."""
        local = time.localtime(now)
        first, last = self.quiet
        return (local.tm_hour * 60 + local.tm_min - first) % 1440 < (last - first) % 1440


class _Setting(NamedTuple):
    """A key of [notify]."""

    is_valid: Callable[[Any], bool]
    expected: str
    channels: Callable[[Any], Sequence[Channel]] = lambda value: ()
    """Return the channels of a valid value."""


def channels_of(options: Mapping[str, Any], write: Callable[[str], None]) -> Channels:
    """Build the channels of the table [notify]. write: writes to the terminal, from any thread.

    UsageError for an unknown channel or an invalid value.
    """
    channels: list[Channel] = []
    known = _channel_settings(write) if options else {}
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"config.toml: [notify] has no key {name!r}", f"keys: {', '.join(known)}")
        try:
            if not known[name].is_valid(value):
                raise ValueError(f"must be {known[name].expected}, not {value!r}")
            channels += known[name].channels(value)
        except ValueError as error:
            raise UsageError(f"config.toml: [notify] {name} {error}") from error
    return Channels(options.get("severity", "warning"), tuple(channels), _minutes(options.get("quiet", "0:00-0:00")))


def _channel_settings(write: Callable[[str], None]) -> dict[str, _Setting]:
    """Return the keys of [notify]. An empty value turns a channel off."""
    from tuimon.notify import channels as own
    from tuimon.notify.services import Service

    def terminal(value: Any) -> Sequence[Channel]:
        kind = own.terminal_kind(os.environ) if value in (True, "auto") else str(value)
        return [own.TerminalNotification(kind, write)] if value else ()

    def are_words(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(word, str) and "\0" not in word for word in value)

    address = "an address that begins with https:// or http://"
    return {
        "severity": _Setting(SEVERITIES.__contains__, f"one of {', '.join(SEVERITIES)}"),
        "quiet": _Setting(
            lambda value: re.fullmatch(f"{_TIME}-{_TIME}", str(value)) is not None,
            'two times of the day like "22:00-07:00"',
        ),
        "summary": _Setting(
            lambda value: re.fullmatch(_TIME, str(value)) is not None, 'a time of the day like "08:00"'
        ),
        "alive": _Setting(own.is_address, address),
        "bell": _Setting(
            lambda value: isinstance(value, bool), "true or false", lambda value: [own.Bell(write)] if value else ()
        ),
        "terminal": _Setting(
            lambda value: isinstance(value, bool) or str(value) in own.TERMINALS,
            f"one of {', '.join(own.TERMINALS)}",
            terminal,
        ),
        "command": _Setting(
            are_words,
            'a list of texts like ["notify-send", "tuimon"]',
            lambda value: [own.CommandChannel(tuple(value))] if value else (),
        ),
        "webhook": _Setting(
            lambda value: value == "" or own.is_address(value),
            address,
            lambda value: [own.Webhook(value)] if value else (),
        ),
        "urls": _Setting(
            lambda value: isinstance(value, list),
            'a list of addresses like ["ntfy://ntfy.sh/my-runs"]',
            lambda value: [Service.of(url) for url in value],
        ),
    }


def _minutes(quiet: str) -> tuple[int, int]:
    first, last = (int(hour) * 60 + int(minute) for hour, minute in re.findall(_TIME, quiet))
    return first, last


class Notifier:
    """Send each channel its news: incidents, rises of their severity, ends, and other news.

    `update` and `close` may be called from any thread; `update` never blocks.

    - Without a ledger, the incidents of the initial read of the logs are not sent.
    - With one, a channel is told what it was not told by an earlier process; a new channel only what goes on.
    """

    def __init__(
        self,
        chosen: Channels,
        on_notice: Callable[[Notice], None],
        pauses: Sequence[float] = PAUSES,
        ledger: Ledger | None = None,
        draw: Callable[[Snapshot, Alert], bytes] | None = None,
        is_told: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start the threads. on_notice: called there when a channel fails and when it works again.

        - pauses: seconds after the first, second, … failed attempt; the last one is repeated.
        - draw: returns a picture of the curve of an alert; called on the thread of a channel that can show it.
        - is_told: returns whether another process sends the same; then only this terminal gets it.
        """
        self._chosen, self._ledger, self._draw, self._is_told = chosen, ledger, draw, is_told
        self._seen: dict[AlertKey, tuple[int, bool]] = {}
        """Stage of each incident that was offered, and whether it was mild then."""
        self._caught_up = False
        self._lock = threading.Lock()
        self._outboxes: list[Outbox] = []
        for channel in chosen.channels:
            told = (lambda stages: None) if ledger is None else partial(ledger.add, channel)
            self._outboxes.append(Outbox(channel, on_notice, told, pauses))

    def update(self, snapshot: Snapshot, more: Iterable[News] = (), now: float | None = None) -> None:
        """Send what is new in a snapshot. more: other news. now: wall time (s since the epoch), for the quiet hours."""
        if not self._outboxes:
            return
        if self._ledger is not None and not snapshot.progress.caught_up:
            return
        now = time.time() if now is None else now
        with self._lock:
            news = [*self._alert_news(snapshot, now), *(() if self._chosen.is_quiet(now) else more)]
            is_told = bool(news) and self._is_told()
            for channel, outbox in zip(self._chosen.channels, self._outboxes, strict=True):
                if not self._caught_up and self._ledger is not None:
                    self._recall(channel, outbox, news)
                if (not self._caught_up and self._ledger is None) or (is_told and outbox.name not in _HERE):
                    outbox.learn({one.id: one.stage for one in news})
                else:
                    outbox.offer(news)
            self._caught_up = self._caught_up or snapshot.progress.caught_up

    def _recall(self, channel: Channel, outbox: Outbox, news: Sequence[News]) -> None:
        """Let an outbox know what its channel was told before; of a new channel, all that has ended counts as told."""
        assert self._ledger is not None
        told = self._ledger.told(channel)
        if told is None:
            told = {one.id: ENDED for one in news if one.stage == ENDED}
            self._ledger.add(channel, told)
        outbox.learn(told)

    def _alert_news(self, snapshot: Snapshot, now: float) -> Iterator[News]:
        """Yield the incidents that have changed since the last call. A mild one has no news but its end."""
        for alert in (*snapshot.alerts, *snapshot.resolved):
            stage, is_mild = stage_of(alert), self._chosen.is_mild(alert, now)
            if self._seen.get(alert.key) == (stage, is_mild) or (is_mild and stage != ENDED):
                continue
            self._seen[alert.key] = stage, is_mild
            draw = cache(partial(self._draw, snapshot, alert)) if self._draw is not None and alert.metric else None
            yield alert_news(snapshot, alert, is_mild, draw)

    def close(self, timeout: float = 0.5) -> dict[str, list[str]]:
        """Stop after an attempt to send each queued message; wait at most `timeout` seconds for that.

        Returns the texts of the messages that were not sent, by the name of the channel.
        """
        for outbox in self._outboxes:
            outbox.close()
        until = time.monotonic() + timeout
        unsent = {outbox.name: outbox.join(max(0.0, until - time.monotonic())) for outbox in self._outboxes}
        return {name: texts for name, texts in unsent.items() if texts}
