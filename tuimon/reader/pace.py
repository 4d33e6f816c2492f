"""How often a log is looked at that does not grow: a directory of old runs costs little, and what was logged to lately
is seen soon. Where the system tells of changes, a log that begins to grow again is read at once all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

STILL, STILL_EVERY = 20.0, 3
"""A log unchanged for so many seconds is looked at in every third round, where there are many …"""
QUIET, QUIET_EVERY = 600.0, 9
"""… and one unchanged for so many in every ninth, always."""
MANY = 50
"""Logs; a look at fewer costs nothing worth saving."""


class Log(Protocol):
    """What decides how often it is looked at."""

    @property
    def modified(self) -> float:
        """Time of the last change, seconds since the epoch; NaN where it was never looked at."""

    @property
    def remaining(self) -> int:
        """Bytes that are known of and not read yet."""


L = TypeVar("L", bound=Log)


class Rounds(Generic[L]):
    """Which logs are looked at in a round. A round costs the logs that grow and a third of the others, of many."""

    def __init__(self) -> None:
        self._number = 0
        self._known = 0
        self._lively: list[L] = []

    def next(self, logs: Sequence[L], now: float) -> list[L]:
        """Those of the next round. logs: all there are, each at the place where it was before, new ones at the end."""
        self._number += 1
        many = len(logs) > MANY
        turn, every = (self._number % STILL_EVERY, STILL_EVERY) if many else (0, 1)
        chosen = dict.fromkeys([*self._lively, *logs[self._known :]])
        for at in range(turn, len(logs), every):
            if self._number % QUIET_EVERY == at % QUIET_EVERY or logs[at].remaining or not _old(logs[at], now, QUIET):
                chosen[logs[at]] = None
        self._known = len(logs)
        self._lively = [log for log in chosen if log.remaining or not _old(log, now, STILL)] if many else []
        return list(chosen)


def _old(log: Log, now: float, age: float) -> bool:
    return now - log.modified > age
