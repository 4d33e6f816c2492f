"""Runs side by side: which of their metrics are the same, how each run did on them, and where their configs differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.comparing import MISSING, aligned, common_step, compared_settings, first_name
from tuimon.analysis.level import Level, level
from tuimon.exports._metrics import BETTER, MetricSummary, summarise
from tuimon.exports._settings import opened
from tuimon.panels import telling
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning


class Entry(Struct, frozen=True):
    """One run on one metric."""

    summary: MetricSummary
    level: Level
    at_step: float
    """Its value at the common step; NaN where there is none. So is the next."""
    at_time: float
    rank: int
    """1 is the best level; 0 where neither more nor less is better, or it has no finite value."""
    tied: bool
    """Whether noise explains why the run before it is better."""


class MetricComparison(Struct, frozen=True):
    """One metric in all runs."""

    name: str
    """As the first run that has it logged it."""
    meaning: Meaning
    common_step: int | None
    """The last step that all have reached."""
    common_seconds: float
    """The longest time since their starts that all have been running; NaN unknown."""
    entries: tuple[Entry | None, ...]
    """In the order of the runs; None where a run has no such metric."""

    @property
    def better(self) -> str:
        """higher | lower | "" where neither is better."""
        return BETTER.get(self.meaning.direction, "")

    @property
    def shared(self) -> int:
        """How many runs have it."""
        return sum(entry is not None for entry in self.entries)


class Comparison(Struct, frozen=True):
    """Everything that is compared."""

    runs: tuple[Run, ...]
    labels: tuple[str, ...]
    """Names of the runs, no two alike."""
    differences: tuple[tuple[str, tuple[Any, ...]], ...]
    """(setting, its value in each run, MISSING where it has none) of what is not the same everywhere."""
    same: tuple[tuple[str, Any], ...]
    metrics: tuple[MetricComparison, ...]
    """The most telling first."""


def compare(runs: Sequence[Run], patterns: Sequence[str] = (), show_secrets: bool = False) -> Comparison:
    """patterns: shell patterns of the metrics that are wanted; none: all."""
    wanted: Callable[[str], bool] = (
        (lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)) if patterns else lambda name: True
    )
    differences, same = compared_settings([opened(run.config, show_secrets) for run in runs])
    rows = aligned([run.metrics for run in runs], telling)
    metrics = tuple(_metric(runs, names) for names in rows if any(map(wanted, filter(None, names))))
    return Comparison(tuple(runs), _labels(runs), differences, same, metrics)


def _labels(runs: Sequence[Run]) -> tuple[str, ...]:
    found: list[str] = []
    for run in runs:
        found.append(run.name if run.name not in found else f"{run.name} ({run.id})")
    return tuple(found)


# ---------------------------------------------------------------------- metrics


def _metric(runs: Sequence[Run], names: Sequence[str | None]) -> MetricComparison:
    summaries = [summarise(run, name) if name else None for run, name in zip(runs, names, strict=True)]
    found = [one for one in summaries if one is not None]
    meaning = next((one.meaning for one in found if one.best), found[0].meaning)
    step = common_step([one.curve for one in found]) if len(found) > 1 else None
    seconds = _common_seconds([one.curve for one in found])
    levels = [level(one.curve.values) if one else None for one in summaries]
    ranks = _ranks(levels, BETTER.get(meaning.direction))
    entries = [
        Entry(
            one,
            at,
            one.curve.value_at(step) if step is not None else math.nan,
            _value_after(one.curve, seconds) if math.isfinite(seconds) else math.nan,
            *rank,
        )
        if one is not None and at is not None
        else None
        for one, at, rank in zip(summaries, levels, ranks, strict=True)
    ]
    return MetricComparison(first_name(names), meaning, step, seconds, tuple(entries))


def _ranks(levels: Sequence[Level | None], better: str | None) -> list[tuple[int, bool]]:
    """(rank, whether noise explains the distance to the one before) of each."""
    ranks = [(0, False)] * len(levels)
    known = [(at, one) for at, one in enumerate(levels) if one is not None and math.isfinite(one.value)]
    if better is None or len(known) < 2:
        return ranks
    known.sort(key=lambda pair: pair[1].value, reverse=better == "higher")
    for rank, (at, one) in enumerate(known):
        tied = rank > 0 and not one.differs_from(known[rank - 1][1])
        ranks[at] = (rank + 1, tied)
    return ranks


def _common_seconds(curves: Sequence[Curve]) -> float:
    spans = [curve.limits("duration") for curve in curves]
    if len(curves) < 2 or any(span is None for span in spans):
        return math.nan
    known = [span for span in spans if span is not None]
    last = min(high for _, high in known)
    return last if last >= max(low for low, _ in known) and last > 0 else math.nan


def _value_after(curve: Curve, seconds: float) -> float:
    """The value that stood so long after the run's start."""
    times = curve.wall_times - curve.origin
    before = np.flatnonzero(times <= seconds)
    return float(curve.values[before[np.argmax(times[before])]]) if len(before) else math.nan


__all__ = ["MISSING", "Comparison", "Entry", "MetricComparison", "compare"]
