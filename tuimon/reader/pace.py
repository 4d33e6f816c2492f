"""How often a log is looked at that does not grow: a directory of old runs costs little, and what was logged to lately
is seen soon. Where the system tells of changes, a log that begins to grow again is read at once all the same."""

from __future__ import annotations

STILL, STILL_EVERY = 20.0, 3
"""A log unchanged for so many seconds is looked at in every third round, where there are many …"""
QUIET, QUIET_EVERY = 600.0, 10
"""… and one unchanged for so many in every tenth, always."""
MANY = 50
"""Logs; a look at fewer costs nothing worth saving."""


def is_due(turn: int, stream: int, age: float, logs: int) -> bool:
    """Is this round, number `turn`, one in which a log is looked at? The looks of many are spread over the rounds.

    age: seconds since its last change, NaN where it was never looked at. logs: how many are followed.
    """
    every = QUIET_EVERY if age > QUIET else STILL_EVERY if age > STILL and logs > MANY else 1
    return turn % every == stream % every
