"""verdict(): which of some runs is ahead, and what else is very different between it and the next, in one sentence.

    lr1e-3 is ahead: reward +0.51 ± 0.08; KL to reference 17 times higher; learning_rate 10 times higher

A run is ahead if its level of the most important metric is better than that of every other run by more than the noise
explains. The rest of the sentence says what is different, not what is the cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from tuimon.analysis.level import Level
from tuimon.draw.numbers import format_value
from tuimon.text import clean
from tuimon.vocabulary import Meaning

_BETTER = {"up": True, "down": False}
_DECIDING = ("reward.train", "success.train", "reward.val", "success.val", "success.accuracy", "loss.val", "loss.total")
"""Concepts that decide, the most important first; without any of them, the first metric with a better direction."""
_NOTABLE = ("kl", "entropy", "grad_norm", "length", "clip_frac", "lr", "phase", "throughput")
"""Concepts, up to the first dot, whose ratio may be a part of the verdict."""
_LEARNING_RATES = ("lr", "learning_rate")
_OUTPUTS = ("run_name", "output_dir", "exp_name", "experiment_name", "logging_dir")
"""Settings that differ between all runs and explain nothing."""
_RATIO = 2.0
"""Least ratio of two levels that is mentioned."""
_MOST = 2
"""Maximum number of metrics, and of settings, that are mentioned."""


class ComparedMetric(Struct, frozen=True):
    """A metric of several runs."""

    name: str
    meaning: Meaning
    levels: tuple[Level | None, ...]
    """One for each run; None if it has no such metric."""
    until: int | None = None
    """Step up to which the levels are taken if a run has gone further, or None."""


def verdict(
    labels: Sequence[str], metrics: Sequence[ComparedMetric], settings: Sequence[tuple[str, tuple[Any, ...]]]
) -> str:
    """Return the sentence; "" if no metric with a better direction is known of two runs.

    labels: names of the runs. metrics: the most important first. settings: (name, value in each run) that differ.
    """
    deciding = _deciding(metrics)
    if deciding is None:
        return ""
    higher = _BETTER[deciding.meaning.direction]
    known = [(index, level) for index, level in enumerate(deciding.levels) if level and level.is_known]
    known.sort(key=lambda pair: pair[1].value, reverse=higher)
    (best, first), (next_best, second) = known[:2]
    what = clean(deciding.meaning.label or deciding.name)
    error = math.hypot(first.error, second.error)
    noise = f" ± {format_value(error)}" if error else ""
    apart = format_value(abs(first.value - second.value))
    sign = "+" if first.value >= second.value else "-"
    until = f" up to step {deciding.until}" if deciding.until is not None else ""
    names = clean(labels[best]), clean(labels[next_best])
    both = " and ".join(names)
    if first.value == second.value:
        return f"No run is ahead{until}: {what} of {both} is {format_value(first.value)}"
    if not first.differs_from(second):
        return f"No run is ahead{until}: {what} of {both} differs by {apart}{noise}, which noise explains"
    others = [metric for metric in metrics if metric is not deciding]
    if any(name.rpartition(".")[2].lower() in _LEARNING_RATES for name, _ in settings):
        others = [metric for metric in others if metric.meaning.concept != "lr"]
    more = [*_metrics(others, best, next_best), *_settings(settings, best, next_best)]
    of = f" of {names[1]}, the next of {len(known)} runs" if len(known) > 2 else ""
    return "; ".join([f"{names[0]} is ahead{of}{until}: {what} {sign}{apart}{noise}", *more])


def beyond(step: int | None, last_steps: Iterable[int]) -> int | None:
    """Return the common step if a run has gone further, else None."""
    return step if step is not None and any(last > step for last in last_steps) else None


def _deciding(metrics: Sequence[ComparedMetric]) -> ComparedMetric | None:
    comparable = [
        metric
        for metric in metrics
        if metric.meaning.direction in _BETTER
        and sum(level is not None and level.is_known for level in metric.levels) > 1
    ]
    ranks = {concept: rank for rank, concept in enumerate(_DECIDING)}
    return min(comparable, key=lambda metric: ranks.get(metric.meaning.concept or "", len(ranks)), default=None)


def _metrics(metrics: Sequence[ComparedMetric], best: int, other: int) -> Iterator[str]:
    """Yield the metrics whose levels differ most as ratios, beyond noise."""
    ratios: dict[str, float] = {}
    for metric in metrics:
        concept, (own, base) = metric.meaning.concept or "", (metric.levels[best], metric.levels[other])
        if concept.partition(".")[0] not in _NOTABLE or own is None or base is None:
            continue
        if own.value > 0 and base.value > 0 and math.isfinite(own.value / base.value) and own.differs_from(base):
            ratios.setdefault(clean(metric.meaning.label or metric.name), own.value / base.value)
    most = sorted(ratios, key=lambda name: -abs(math.log(ratios[name])))[:_MOST]
    yield from (f"{name} {times}" for name in most if (times := _times(ratios[name])))


def _settings(settings: Sequence[tuple[str, tuple[Any, ...]]], best: int, other: int) -> Iterator[str]:
    """Yield the settings that differ between two runs: numbers as ratios, others with both values."""
    count = 0
    for name, values in settings:
        own, base = values[best], values[other]
        if own == base or name.rpartition(".")[2].lower() in _OUTPUTS:
            continue
        numbers = [float(v) for v in (own, base) if isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0]
        if len(numbers) == 2 and (times := _times(numbers[0] / numbers[1])):
            yield f"{clean(name)} {times}"
        elif isinstance(own, (bool, int, float, str)) and isinstance(base, (bool, int, float, str)):
            yield f"{clean(name)} {clean(str(own), 24)} instead of {clean(str(base), 24)}"
        else:
            continue
        count += 1
        if count == _MOST:
            return


def _times(ratio: float) -> str:
    """Return "17 times higher" or "10 times lower"; "" for a ratio that is not worth it."""
    factor = max(ratio, 1 / ratio)
    if not _RATIO <= factor < math.inf:
        return ""
    number = f"{round(factor):,}" if factor >= 10 else f"{factor:.2g}"
    return f"{number} times {'higher' if ratio > 1 else 'lower'}"
