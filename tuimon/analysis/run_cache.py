"""cached_per_run: cache the result of a function of a Run for as long as the Run exists."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from tuimon.store import Run

Result = TypeVar("Result")


def cached_per_run(function: Callable[[Run], Result]) -> Callable[[Run], Result]:
    """Cache the results of a function of a run, which is immutable. A result must not reference its run."""
    results: WeakKeyDictionary[Run, Result] = WeakKeyDictionary()

    @wraps(function)
    def cached(run: Run) -> Result:
        try:
            return results[run]
        except KeyError:
            result = results[run] = function(run)
            return result

    return cached
