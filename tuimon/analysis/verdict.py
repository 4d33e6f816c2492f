"""verdict(): which of some runs is ahead, and what else is very different between it and the next, in one sentence.

    lr1e-3 is ahead: reward +0.51 ± 0.08 (15 points each); KL to reference 17 times higher; lr 10 times higher

A run is ahead if its level of the most important metric is better than that of the next run by more than the noise
explains, up to the last step that both have reached. Runs that differ only in their seed are compared by their mean
(`best_of_seeds`). The rest of the sentence says what is different, not what is the
cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparing import is_output, is_seed, seedless_name
from tuimon.analysis.level import Level
from tuimon.analysis.seed_means import SeedMeans, best_of_seeds
from tuimon.draw.numbers import format_value
from tuimon.text import clean

_BETTER = {"up": True, "down": False}
_DECIDING = ("reward.train", "success.train", "reward.val", "success.val", "success.accuracy", "loss.val", "loss.total")
"""Concepts that decide, the most important first; without any of them, the first metric with a better direction."""
_NOTABLE = ("kl", "entropy", "grad_norm", "length", "clip_frac", "lr", "phase", "throughput")
"""Concepts, up to the first dot, whose ratio may be a part of the verdict."""
_LEARNING_RATES = ("lr", "learning_rate")
_RATIO = 2.0
"""Least ratio of two levels that is mentioned."""
_MOST_NAMED = 3
"""Maximum number of runs that are named because they ended early."""
_MOST = 2
"""Maximum number of metrics, and of settings, that are mentioned."""


def verdict(
    labels: Sequence[str],
    metrics: Sequence[ComparedMetric],
    settings: Sequence[tuple[str, tuple[Any, ...]]],
    word: str = "step",
    projects: Sequence[str] = (),
    failures: Sequence[str] = (),
) -> str:
    """Return the sentence; "" if no metric with a better direction is known of two runs.

    labels: names of the runs. metrics: the most important first. settings: (name, value in each run) that differ.
    word: what the steps of the runs count. projects: project of each run, see `best_of_seeds`.
    failures: what casts doubt on each run (`failures_of`); that of the runs that are compared ends the sentence.
    """
    said, compared = _comparison(labels, metrics, settings, word, projects)
    doubts = (
        [f"{clean(labels[index])} is not healthy: {failures[index]}" for index in compared if failures[index]]
        if failures
        else []
    )
    more = [f"{len(doubts) - _MOST_NAMED} more of these runs are not healthy"] if len(doubts) > _MOST_NAMED else []
    return "; ".join([said, *doubts[:_MOST_NAMED], *more])


def _comparison(
    labels: Sequence[str],
    metrics: Sequence[ComparedMetric],
    settings: Sequence[tuple[str, tuple[Any, ...]]],
    word: str,
    projects: Sequence[str],
) -> tuple[str, tuple[int, ...]]:
    """Return the sentence without failures, and the positions of the runs that it compares."""
    deciding = deciding_metric(metrics)
    if deciding is None:
        return "", ()
    what = clean(deciding.meaning.label or deciding.name)
    if (means := best_of_seeds(deciding, settings, projects)) is not None:
        return _verdict_of_seeds(labels, means, what, settings, word), (*means.best, *means.next)
    higher = _BETTER[deciding.meaning.direction]
    known = [(index, level) for index, level in enumerate(deciding.levels) if level and level.is_known]
    known.sort(key=lambda pair: pair[1].value, reverse=higher)
    (best, _), (next_best, _) = known[:2]
    first, second, step = deciding.pair(best, next_best)
    if (second.value > first.value) is higher and first.value != second.value:
        (best, first), (next_best, second) = (next_best, second), (best, first)
    compared = best, next_best
    error = math.hypot(first.error, second.error)
    noise = f" ± {format_value(error)} ({_counts(first, second)})"
    apart = format_value(abs(first.value - second.value))
    sign = "+" if first.value >= second.value else "-"
    until = f" up to {word} {step}" if step is not None else ""
    names = clean(labels[best]), clean(labels[next_best])
    both = " and ".join(names)
    if first.value == second.value:
        return f"No run is ahead{until}: {what} of {both} is {format_value(first.value)}", compared
    if not (first.is_known and second.is_known):
        return f"No run is ahead{until}: {what} of {both} has too few points ({_counts(first, second)})", compared
    rest = [index for index, _ in known if index not in (best, next_best)]
    early = _early_leader(labels, deciding, best, rest, word)
    if not first.differs_from(second):
        tie = f"No run is ahead{until}: {what} of {both} differs by {apart}{noise}, which noise explains"
        return "; ".join([tie, *early]), compared
    others = [metric for metric in metrics if metric is not deciding]
    if any(name.rpartition(".")[2].lower() in _LEARNING_RATES for name, _ in settings):
        others = [metric for metric in others if metric.meaning.concept != "lr"]
    more = [*early, *_metrics(others, best, next_best), *_settings(settings, best, next_best)]
    of = f" of {names[1]}, the next of {len(known)} runs" if len(known) > 2 else ""
    return "; ".join([f"{names[0]} is ahead{of}{until}: {what} {sign}{apart}{noise}", *more]), compared


def _verdict_of_seeds(
    labels: Sequence[str],
    means: SeedMeans,
    what: str,
    settings: Sequence[tuple[str, tuple[Any, ...]]],
    word: str,
) -> str:
    """Return the sentence about groups of runs that differ only in their seed.

    lr3e-6 (3 seeds) is ahead of lr1e-6 (3 seeds): mean reward +0.21 ± 0.02; lr 3 times higher
    """
    first, second = (_name_of_seeds(labels, group) for group in (means.best, means.next))
    until = f" up to {word} {means.step}" if means.step is not None else ""
    apart, noise = format_value(abs(means.difference)), f" ± {format_value(means.error)}"
    if not means.is_beyond_noise:
        differs = f"mean {what} of {first} and {second} differs by {apart}{noise}, which noise explains"
        return f"No combination of settings is ahead{until}: {differs}"
    of = f", the next of {means.groups} combinations of settings" if means.groups > 2 else ""
    sign = "+" if means.difference >= 0 else "-"
    others = [(name, values) for name, values in settings if not is_seed(name)]
    more = _settings(others, means.best[0], means.next[0])
    return "; ".join([f"{first} is ahead of {second}{of}{until}: mean {what} {sign}{apart}{noise}", *more])


def _name_of_seeds(labels: Sequence[str], group: Sequence[int]) -> str:
    """Return "lr3e-6 (3 seeds)", or "run4 with 2 other seeds" if the names have more in them than seeds."""
    name, count = labels[group[0]], len(group)
    if count == 1:
        return clean(name)
    common = {seedless_name(labels[index]) for index in group}
    if len(common) == 1:
        return f"{clean(common.pop())} ({count} seeds)"
    return f"{clean(name)} with {count - 1} other seed{'s' * (count > 2)}"


def _early_leader(
    labels: Sequence[str], metric: ComparedMetric, best: int, others: Sequence[int], word: str
) -> Iterator[str]:
    """Yield the first of the other runs that was ahead of the best run at its last step, beyond noise, if there is one.

    Its level at its own end can be lower than those that longer runs reached later.
    """
    higher = _BETTER[metric.meaning.direction]
    for index in others:
        own, base, step = metric.pair(index, best)
        is_early = step is not None and metric.ends[index] == step
        if is_early and (own.value > base.value) is higher and own.differs_from(base):
            yield f"{clean(labels[index])} was ahead of {clean(labels[best])} at its last {word} {step}"
            return


def limits(
    labels: Sequence[str], metrics: Sequence[ComparedMetric], base: int | None = None, word: str = "step"
) -> str:
    """Return up to which steps the runs are compared on the deciding metric, or on the first one; "" if to their ends.

    dead ends at step 39 and is compared up to there; the others up to step 90, where short ends (long reaches 100)

    base: position of the run that each of the others is compared with (`ComparedMetric.pair`); None if there is none.
    """
    metric = deciding_metric(metrics) or next((m for m in metrics if sum(end is not None for end in m.ends) > 1), None)
    if metric is None or not metric.curves:
        return ""
    pairs = zip(labels, metric.curves, metric.ends, strict=True)
    runs = [(clean(label), int(curve.steps[-1]), end) for label, curve, end in pairs if curve and end is not None]
    base_end = metric.ends[base] if base is not None else None
    step = base_end if base_end is not None else max((end for *_, end in runs), default=0)
    early = [(name, end) for name, _, end in runs if end < step]
    longer = [(name, last) for name, last, end in runs if last > step]
    parts = []
    if early:
        names = ", ".join(f"{name} ends at {word} {end}" for name, end in early[:_MOST_NAMED])
        more = f" and {len(early) - _MOST_NAMED} more end before {word} {step}" if len(early) > _MOST_NAMED else ""
        parts.append(f"{names}{more} and {'are' if len(early) > 1 else 'is'} compared up to there")
    if longer:
        shortest = next(name for name, last, _ in runs if last == step)
        others = " the others" if early else " compared"
        parts.append(
            f"{others.strip()} up to {word} {step}, where {shortest} ends; {longer[0][0]} reaches {longer[0][1]}"
        )
    return "; ".join(parts)


def _counts(first: Level, second: Level) -> str:
    """Return "15 points each", or "15 and 5 points"."""
    if first.count == second.count:
        return f"{first.count} point{'s' * (first.count != 1)} each"
    return f"{first.count} and {second.count} points"


def deciding_metric(metrics: Sequence[ComparedMetric]) -> ComparedMetric | None:
    """Return the most important metric with a better direction that two runs have; None if there is none."""
    comparable = [
        metric
        for metric in metrics
        if metric.in_steps
        and metric.meaning.direction in _BETTER
        and sum(level is not None and level.is_known for level in metric.levels) > 1
    ]
    ranks = {concept: rank for rank, concept in enumerate(_DECIDING)}
    return min(comparable, key=lambda metric: ranks.get(metric.meaning.concept or "", len(ranks)), default=None)


def _metrics(metrics: Sequence[ComparedMetric], best: int, other: int) -> Iterator[str]:
    """Yield the metrics whose levels differ most as ratios, beyond noise."""
    ratios: dict[str, float] = {}
    for metric in metrics:
        concept = metric.meaning.concept or ""
        if concept.partition(".")[0] not in _NOTABLE or None in (metric.levels[best], metric.levels[other]):
            continue
        own, base, _ = metric.pair(best, other)
        if own.value > 0 and base.value > 0 and math.isfinite(own.value / base.value) and own.differs_from(base):
            ratios.setdefault(clean(metric.meaning.label or metric.name), own.value / base.value)
    most = sorted(ratios, key=lambda name: -abs(math.log(ratios[name])))[:_MOST]
    yield from (f"{name} {times}" for name in most if (times := _times(ratios[name])))


def _settings(settings: Sequence[tuple[str, tuple[Any, ...]]], best: int, other: int) -> Iterator[str]:
    """Yield the settings that differ between two runs: numbers as ratios, seeds and others with both values."""
    count = 0
    for name, values in settings:
        own, base = values[best], values[other]
        if own == base or is_output(name):
            continue
        numbers = [float(v) for v in (own, base) if isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0]
        if len(numbers) == 2 and not is_seed(name) and (times := _times(numbers[0] / numbers[1])):
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
