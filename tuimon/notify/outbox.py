"""Queue of the news of one channel, sent from a thread of its own.

While the channel is unreachable, the news are kept, and the oldest are sent again after growing pauses. Of an incident
only the newest state is kept, so one that has ended meanwhile is one message with the step of its end.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from tuimon.errors import TuimonError
from tuimon.model.events import Notice
from tuimon.notify.message import Message, News, combined

PAUSES = (5.0, 15.0, 30.0, 60.0)
"""Pauses (s) after the first, second, … of the failed attempts in a row; the last one is repeated."""
_MAX_QUEUED = 100
"""Number of messages kept; the oldest are dropped."""
_MAX_SEPARATE = 3
"""More news than this at once are sent as one message with a count."""


class Unreachable(TuimonError):
    """A message was not sent because the channel does not work at present; a later attempt may succeed."""


class Channel(Protocol):
    """Channel that sends messages."""

    @property
    def name(self) -> str: ...

    def send(self, message: Message) -> None:
        """Send a message; may block. Raises Unreachable if it may be sent later, another TuimonError if not."""
        ...


class _Queued(Struct, frozen=True, eq=False):
    message: Message
    stages: Mapping[str, int]
    """What the channel knows once the message was sent: stages of news, by their ids."""


class Outbox:
    """Queue of the messages of one channel, and the thread that sends them."""

    def __init__(
        self,
        channel: Channel,
        on_notice: Callable[[Notice], None],
        on_sent: Callable[[Mapping[str, int]], None] = lambda stages: None,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """Start the thread. on_notice: called there when sending fails and when it works again.

        on_sent: called there with the stages of the news that the channel has got; may raise OSError.
        """
        self._channel, self._on_notice, self._on_sent, self._pauses = channel, on_notice, on_sent, pauses
        self._queue: deque[_Queued] = deque(maxlen=_MAX_QUEUED)
        self._known: dict[str, int] = {}
        """Highest stage of each of the news that are queued, or that the channel has got."""
        self._changed = threading.Condition()
        self._closing = False
        self._attempts = 0
        """Number of failed attempts since a message was sent."""
        self._lost = 0
        """Number of messages that were dropped since a message was sent."""
        self._refused: list[Message] = []
        """Messages that the channel refused after `close`."""
        self._thread = threading.Thread(target=self._work, name=f"notify {channel.name}", daemon=True)
        self._thread.start()

    def learn(self, stages: Mapping[str, int]) -> None:
        """Take note of news that need not be sent."""
        self._known.update(stages)

    def offer(self, news: Sequence[News]) -> None:
        """Queue what the channel does not know; never blocks. Many news at once are one message."""
        new = [one for one in news if one.stage > self._known.get(one.id, -1 if not one.is_mild else one.stage)]
        self.learn({one.id: one.stage for one in new})
        if len(new) > _MAX_SEPARATE:
            self._put(combined(new), {one.id: one.stage for one in new})
        else:
            for one in new:
                self._put(one.message, {one.id: one.stage})

    def _put(self, message: Message, stages: Mapping[str, int]) -> None:
        """Append a message, or replace one about the same incident that waits."""
        with self._changed:
            added = _Queued(message, stages)
            for place, waiting in enumerate(self._queue):
                if waiting.stages.keys() == stages.keys():
                    self._queue[place] = added
                    return
            self._lost += len(self._queue) == _MAX_QUEUED
            self._queue.append(added)
            self._changed.notify()

    def close(self) -> None:
        """Let the thread end after an attempt to send each queued message."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def join(self, timeout: float) -> list[str]:
        """Wait until the thread has ended, at most `timeout` seconds. Return the texts of the messages not sent."""
        self._thread.join(timeout)
        with self._changed:
            dropped = self._lost - len(self._refused)
            older = [f"{_count(dropped)} before these"] if dropped > 0 and self._queue else []
            messages = (*self._refused, *(queued.message for queued in self._queue))
            return [*(message.text for message in messages), *older]

    @property
    def name(self) -> str:
        """Name of the channel."""
        return self._channel.name

    def _work(self) -> None:
        while (queued := self._next()) is not None:
            try:
                self._channel.send(queued.message)
            except Unreachable as error:
                if self._closing:
                    return
                self._wait(error)
            except TuimonError as error:
                self._remove(queued)
                if self._closing:
                    self._refused.append(queued.message)
                self._attempts, self._lost = self._attempts + 1, self._lost + 1
                self._notify("failed", f"{error.message}; {_count(self._lost)} not sent", error.hint)
            else:
                self._remove(queued)
                self._note_sent(queued)
                self._report_success()

    def _note_sent(self, queued: _Queued) -> None:
        try:
            self._on_sent(queued.stages)
        except OSError as error:
            message = f"{self.name}: a restart will send this again, as it cannot be noted: {error.strerror}"
            self._on_notice(Notice("warning", message, about=self._subject))

    def _next(self) -> _Queued | None:
        """Return the oldest message, as soon as there is one; None if the outbox was closed and is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            return self._queue[0] if self._queue else None

    def _remove(self, queued: _Queued) -> None:
        with self._changed:
            if self._queue and self._queue[0] is queued:  # otherwise newer messages have displaced it
                self._queue.popleft()

    def _wait(self, error: Unreachable) -> None:
        """Report a failed attempt, and wait before the next one."""
        pause = self._pauses[min(self._attempts, len(self._pauses) - 1)]
        self._attempts += 1
        tried = "tried once" if self._attempts == 1 else f"tried {self._attempts} times"
        dropped = f", {self._lost} older not sent" if self._lost else ""
        when = time.strftime("%H:%M:%S", time.localtime(time.time() + pause))
        state = f"{tried}, {_count(len(self._queue))} queued{dropped}, next try at {when}"
        self._notify("down", f"{error.message}; {state}", error.hint)
        with self._changed:
            self._changed.wait_for(lambda: self._closing, pause)

    def _notify(self, state: str, message: str, hint: str) -> None:
        mark = f"{self._channel.name} {state}"
        self._on_notice(Notice("warning", f"{mark}: {message}", hint, self._subject, mark))

    def _report_success(self) -> None:
        if self._attempts:
            times = "1 failed attempt" if self._attempts == 1 else f"{self._attempts} failed attempts"
            self._on_notice(Notice("info", f"{self._channel.name} works again after {times}", about=self._subject))
        self._attempts = self._lost = 0

    @property
    def _subject(self) -> str:
        return f"notify {self._channel.name}"


def _count(alerts: int) -> str:
    return "1 alert" if alerts == 1 else f"{alerts} alerts"
