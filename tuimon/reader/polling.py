"""Decide how often a log that does not grow is polled, so that a directory of old runs costs little.

Where file system events are available, a log that begins to grow again is read at once in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.reader.follow import Followed

STILL, STILL_EVERY = 20.0, 3
"""A log unchanged for STILL seconds is polled in every STILL_EVERY-th round if there are more than MANY logs."""
QUIET, QUIET_EVERY = 600.0, 9
"""A log unchanged for QUIET seconds is polled in every QUIET_EVERY-th round."""
MANY = 50
"""Number of logs up to which all are polled in every round."""


class PollSchedule:
    """Chooses the logs to poll in each round: those that grow, and if there are many logs a third of the others."""

    def __init__(self) -> None:
        self._round = 0
        self._known = 0
        """Number of logs in the previous round."""
        self._active: list[Followed] = []

    def next(self, logs: Sequence[Followed], now: float) -> list[Followed]:
        """The logs of the next round. logs: all logs; new ones are at the end, the others keep their indices."""
        self._round += 1
        many = len(logs) > MANY
        first, every = (self._round % STILL_EVERY, STILL_EVERY) if many else (0, 1)
        chosen = dict.fromkeys([*self._active, *logs[self._known :]])
        for index in range(first, len(logs), every):
            log = logs[index]
            if self._round % QUIET_EVERY == index % QUIET_EVERY or log.remaining or not _older(log, now, QUIET):
                chosen[log] = None
        self._known = len(logs)
        self._active = [log for log in chosen if log.remaining or not _older(log, now, STILL)] if many else []
        return list(chosen)


def _older(log: Followed, now: float, age: float) -> bool:
    return now - log.modified > age
