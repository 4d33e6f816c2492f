"""Caches of functions of a Run or a Curve: for as long as it exists, or until its log has grown much."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from tuimon.store import Curve, Run

Owner = TypeVar("Owner", Run, Curve)
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def cached_per_run(function: Callable[[Owner], Result]) -> Callable[[Owner], Result]:
    """Cache the results of a function of a run or a curve, which are immutable. A result must not reference it."""
    results: WeakKeyDictionary[Owner, Result] = WeakKeyDictionary()

    @wraps(function)
    def cached(owner: Owner) -> Result:
        try:
            return results[owner]
        except KeyError:
            result = results[owner] = function(owner)
            return result

    return cached


def cached_until_doubled(
    function: Callable[Concatenate[Run, Arguments], Result],
) -> Callable[Concatenate[Run, Arguments], Result]:
    """Cache the results of a function of a run, also for later snapshots of it, until metrics appear or the number of
    points doubles. Further arguments must follow from the run. A result must not reference its run.

    The last two versions are kept: the snapshot that is shown, and the one that a thread prepares to be shown next.
    """
    results: WeakKeyDictionary[object, dict[tuple[object, ...], Result]] = WeakKeyDictionary()
    """Data of a run's first stream -> results by metrics and magnitude of the number of points."""

    @wraps(function)
    def cached(run: Run, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if not run.streams:
            return function(run, *args, **kwargs)
        owner, version = run.streams[0].data, (run.metrics, run.point_count.bit_length())
        known = results.setdefault(owner, {})
        if version not in known:
            result = function(run, *args, **kwargs)
            for old in list(known)[:-1]:
                known.pop(old, None)
            known[version] = result
        return known[version]

    return cached
