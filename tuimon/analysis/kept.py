"""What is worked out of a run once: the Run of a snapshot does not change, and many ask for the same of it, lists at
every row."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from tuimon.store import Run

Found = TypeVar("Found")


def kept(function: Callable[[Run], Found]) -> Callable[[Run], Found]:
    """The function, asked once a Run; what it found goes when the Run does, which it must not hold."""
    known: WeakKeyDictionary[Run, Found] = WeakKeyDictionary()

    @wraps(function)
    def found(run: Run) -> Found:
        try:
            return known[run]
        except KeyError:
            value = known[run] = function(run)
            return value

    return found
