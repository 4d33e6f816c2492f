"""verdict(): which of some runs is ahead, and what else is very different between it and the next, in one sentence.

    lr1e-3 is ahead: reward +0.51 ± 0.08 SE (15 points and one seed each: noise of the curves only); KL to reference 17
    times higher

A run is ahead if its level of the most important metric is better than that of the next run by more than the noise
explains, up to the last step that both have reached, and if it is healthy. Runs that differ only in their seed are
compared by their mean (`seed_means`). The rest of the sentence says what is different, not what is the cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparing import MISSING, is_output, is_seed
from tuimon.analysis.level import Level
from tuimon.analysis.seed_means import SeedGroup, SeedMeans, names_of
from tuimon.draw.numbers import format_value
from tuimon.text import clean
from tuimon.vocabulary import Meaning

_BETTER = {"up": True, "down": False}
_DECIDING = ("reward.train", "success.train", "reward.val", "success.val", "success.accuracy", "loss.val", "loss.total")
"""Concepts that decide, the most important first; without any of them, the first metric with a better direction."""
_NOTABLE = ("kl", "entropy", "grad_norm", "length", "clip_frac", "lr", "phase", "throughput")
"""Concepts, up to the first dot, whose ratio may be a part of the verdict."""
_LEARNING_RATES = ("lr", "learning_rate")
_OBJECTIVES = frozenset({"loss_type", "loss_fn", "loss_function", "criterion", "beta", "label_smoothing"})
"""Last parts of the names of settings that define the loss, so that the losses of different values differ anyway."""
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
    means: SeedMeans | None = None,
    failures: Sequence[str] = (),
) -> str:
    """Return the sentence; "" if no metric with a better direction is known of two runs.

    labels: names of the runs. metrics: the most important first. settings: (name, value in each run) that differ.
    word: what the steps of the runs count. means: `seed_means` of the `main_metric`.
    failures: what casts doubt on each run (`failures_of`); that of a run with the better level comes directly after its
    level, that of the others that are compared ends the sentence.
    """
    said, compared = _comparison(labels, metrics, settings, word, means, failures)
    failed = [index for index in compared if failures and failures[index]]
    doubts = [f"{clean(labels[index])} is not healthy: {failures[index]}" for index in failed[:_MOST_NAMED]]
    more = [f"{len(failed) - _MOST_NAMED} more of these runs are not healthy"] if len(failed) > _MOST_NAMED else []
    return "; ".join([said, *doubts, *more])


def _comparison(
    labels: Sequence[str],
    metrics: Sequence[ComparedMetric],
    settings: Sequence[tuple[str, tuple[Any, ...]]],
    word: str,
    means: SeedMeans | None,
    failures: Sequence[str],
) -> tuple[str, tuple[int, ...]]:
    """Return the sentence, and the positions of the runs that it compares and whose failures it does not have."""
    deciding = deciding_metric(metrics)
    if means is not None and means.metric.meaning.direction in _BETTER:
        if len(means.groups) > 1:
            return _verdict_of_seeds(labels, means, metrics, settings, word, failures)
        if len(means.groups[0].every.runs) == len(labels):
            return _result_of_seeds(labels, means), means.groups[0].every.runs
    if deciding is None:
        return _too_few_points(labels, metrics)
    what = _label(deciding)
    higher = _BETTER[deciding.meaning.direction]
    known = [(index, level) for index, level in enumerate(deciding.levels) if level and level.is_known]
    known.sort(key=lambda pair: pair[1].value, reverse=higher)
    (best, _), (next_best, _) = known[:2]
    first, second, step = deciding.pair(best, next_best)
    if (second.value > first.value) is higher and first.value != second.value:
        (best, first), (next_best, second) = (next_best, second), (best, first)
    compared = best, next_best
    noise = f" ± {format_value(math.hypot(first.error, second.error))} SE"
    apart = format_value(abs(first.value - second.value))
    sign = "+" if first.value >= second.value else "-"
    until = f" up to {deciding.place_text(step, word)}" if step is not None else ""
    names = clean(labels[best]), clean(labels[next_best])
    both = " and ".join(names)
    if first.value == second.value:
        return f"No run is ahead{until}: {what} of {both} is {format_value(first.value)}", compared
    if not (first.is_known and second.is_known):
        return f"No run is ahead{until}: {what} of {both} has too few points ({_counts(first, second)})", compared
    rest = [index for index, _ in known if index not in (best, next_best)]
    early = [
        *_early_leader(labels, deciding, best, rest, word),
        *_other_objective(deciding, settings, best, next_best),
    ]
    if not first.differs_from(second):
        differs = f"{what} of {both} differs by {apart}{noise} ({_counts(first, second)})"
        tie = f"No run is ahead{until}: {differs}, which noise explains"
        return "; ".join([tie, *early]), compared
    others = [metric for metric in metrics if metric is not deciding]
    if any(name.rpartition(".")[2].lower() in _LEARNING_RATES for name, _ in settings):
        others = [metric for metric in others if metric.meaning.concept != "lr"]
    unjudged = _unjudged(metrics, deciding, (best,), (next_best,))
    more = [*unjudged, *early, *_metrics(others, best, next_best), *_settings(settings, best, next_best)]
    other = f"{names[1]}, the next of {len(known)} runs{until}" if len(known) > 2 else ""
    # the standard errors of the levels say nothing about how much another seed would change
    noise += f" ({_counts(first, second, 'one seed each')}: noise of the curves only)"
    if failures and failures[best]:
        better = f"the {'higher' if sign == '+' else 'lower'} {what}{f' than {other}' if other else until}"
        doubt = f"{names[0]} has {better}, {sign}{apart}{noise}, but is not healthy: {failures[best]}"
        return "; ".join([doubt, *more]), (next_best,)
    ahead = f"{names[0]} is ahead{f' of {other}' if other else until}: {what} {sign}{apart}{noise}"
    return "; ".join([ahead, *more]), compared


def _too_few_points(labels: Sequence[str], metrics: Sequence[ComparedMetric]) -> tuple[str, tuple[int, ...]]:
    """Return the sentence about the first metric of _DECIDING that two runs have, and its best two; or "" and ()."""
    for metric in sorted(filter(_decides, metrics), key=_rank):
        known = [(own.value, i) for i, own in enumerate(metric.levels) if own and math.isfinite(own.value)]
        if len(known) > 1:
            known.sort(key=lambda pair: pair[0], reverse=_BETTER[metric.meaning.direction])
            (first, best), (second, next_best) = known[:2]
            names = f"{clean(labels[best])} and {clean(labels[next_best])}"
            values = dict.fromkeys((format_value(first), format_value(second)))
            said = f"{_label(metric)} of {names} is {' and '.join(values)}"
            return f"No run is ahead: {said}, too few points to judge", (best, next_best)
    return "", ()


def _unjudged(
    metrics: Sequence[ComparedMetric], deciding: ComparedMetric, ahead: Sequence[int], other: Sequence[int]
) -> Iterator[str]:
    """Yield what the most important metric says that would decide if it had enough points.

    ahead, other: positions of the runs of which the first are ahead.
    """
    for metric in sorted((m for m in metrics if _decides(m) and _rank(m) < _rank(deciding)), key=_rank):
        levels = metric.levels_until(metric.comparable_step)
        own, base = ([level.value if (level := levels[run]) else math.nan for run in runs] for runs in (ahead, other))
        first, second = sum(own) / len(own), sum(base) / len(base)
        if first != second and math.isfinite(first - second):
            says = "the same" if (first > second) is _BETTER[metric.meaning.direction] else "the opposite"
            values = f"{format_value(first)} instead of {format_value(second)}"
            yield f"{_label(metric)} says {says} ({values}), but has too few points to judge"
            return


def _other_objective(
    metric: ComparedMetric, settings: Sequence[tuple[str, tuple[Any, ...]]], best: int, other: int
) -> Iterator[str]:
    """Yield the settings with which the losses of two runs are not comparable, if the metric is a loss."""
    pairs = ((name, values[best], values[other]) for name, values in settings if _defines_loss(name))
    differ = [clean(name) for name, own, base in pairs if own != base and MISSING not in (own, base)]
    if differ and (metric.meaning.concept or "").startswith("loss."):
        yield f"losses with different {' and '.join(differ)} are not comparable"


def _defines_loss(name: str) -> bool:
    """Return whether a setting defines the loss; a beta of the optimizer does not."""
    *groups, last = name.lower().replace("/", ".").split(".")
    return last.removesuffix("_factor") in _OBJECTIVES and not any(group.startswith("optim") for group in groups)


def _result_of_seeds(labels: Sequence[str], means: SeedMeans) -> str:
    """Return the result of runs that all differ only in their seed: "lr3e-6 (3 seeds): mean reward 0.71, SD 0.02"."""
    result, metric = means.groups[0].every, means.metric
    what = f"{'best ' if means.results != 'levels' else ''}{_label(metric)}"
    points = f" ({means.points})" if means.points else ""
    numbers = f"mean {what} {format_value(result.mean)}, SD {format_value(result.deviation)}{points}"
    why = f" ({means.reason})" if means.by_name else ""
    return f"{means.name_of(labels, result.runs)}: {numbers}; the runs differ only in their {means.part}{why}"


def _verdict_of_seeds(
    labels: Sequence[str],
    means: SeedMeans,
    metrics: Sequence[ComparedMetric],
    settings: Sequence[tuple[str, tuple[Any, ...]]],
    word: str,
    failures: Sequence[str],
) -> tuple[str, tuple[int, ...]]:
    """Return the sentence about groups of runs that differ only in their seed, and the positions of the runs of the
    best two groups whose failures it does not have.

    lr3e-6 (3 seeds) is ahead of lr1e-6 (3 seeds): mean reward +0.21 ± 0.02 SE; lr 3 times higher
    """
    (best, second), what = means.groups[:2], _label(means.metric)
    first, next_name = (means.name_of(labels, group.every.runs) for group in (best, second))
    difference = means.difference(best.every, second.every)
    until = f" up to {means.metric.place_text(means.step, word)}" if means.step is not None else ""
    apart, noise = format_value(abs(difference.value)), f" ± {format_value(difference.error)} SE"
    failed = [run for group in means.groups for run in group.failed]
    unnamed = tuple(run for group in (best, second) if group.healthy is None for run in group.failed)
    if difference.noise == "levels":
        noise += f" (noise of the curves: too few {means.part}s)"
    elif difference.noise == "pooled":
        noise += f" (pooled noise{f', without {names_of(labels, failed)}' if failed else ''})"
    noise += f" ({means.points})" if means.points else ""
    doubts = [
        *_other_objective(means.metric, settings, best.every.runs[0], second.every.runs[0]),
        *([f"{means.part}s {means.reason}"] if means.by_name else []),
        *_doubts_of_seeds(labels, means, failures),
    ]
    if math.isnan(difference.error):
        values = " and ".join(dict.fromkeys(format_value(group.every.mean) for group in (best, second)))
        tie = f"No combination of settings is ahead{until}: mean {what} of {first} and {next_name} is {values}"
        return "; ".join([f"{tie}, too few points to judge", *doubts]), unnamed
    if not difference.is_beyond_noise:
        differs = f"mean {what} of {first} and {next_name} differs by {apart}{noise}, which noise explains"
        return "; ".join([f"No combination of settings is ahead{until}: {differs}", *doubts]), unnamed
    of = f", the next of {len(means.groups)} combinations of settings" if len(means.groups) > 2 else ""
    sign = "+" if difference.value >= 0 else "-"
    others = [(name, values) for name, values in settings if not is_seed(name)]
    unjudged = _unjudged(metrics, means.metric, best.every.runs, second.every.runs)
    more = [*unjudged, *_settings(others, best.every.runs[0], second.every.runs[0])]
    than = f"{next_name}{of}{until}"
    if _has_healthy(best):
        said = f"{first} is ahead of {than}: mean {what} {sign}{apart}{noise}"
    else:
        is_not = "is not" if len(best.every.runs) == 1 else "none of its runs is"
        better = "higher" if sign == "+" else "lower"
        said = f"{first} has the {better} mean {what} than {than}, {sign}{apart}{noise}, but {is_not} healthy"
    return "; ".join([said, *more, *doubts]), unnamed


def _doubts_of_seeds(labels: Sequence[str], means: SeedMeans, failures: Sequence[str]) -> list[str]:
    """Return the results with and without the runs that are not healthy, of the first groups that have such runs, and
    whether they are ahead without them; and which runs have no result.

    b (4 seeds): mean 0.53 with b_s2 (policy collapsed), 0.70 without, which is 0.05 ± 0.02 SE worse than a (4 seeds):
    noise explains this
    """
    failed = [run for group in means.groups for run in group.failed]
    higher = means.metric.meaning.direction == "up"
    best, second = means.groups[:2]
    doubts: list[str] = []
    for group in means.groups:
        name = means.name_of(labels, group.every.runs)
        if group.missing:
            reason = next((f" ({failures[run]})" for run in group.missing if failures and failures[run]), "")
            have = "has" if len(group.missing) == 1 else "have"
            doubts.append(f"{name}: {names_of(labels, group.missing)} {have} no result{reason}")
        if group.healthy is None:
            continue
        other = second if group is best else best
        rival = other.healthy or other.every
        doubt = (
            f"{name}: mean {format_value(group.every.mean)} with {names_of(labels, group.failed)}"
            f" ({failures[group.failed[0]]}), {format_value(group.healthy.mean)} without"
        )
        if group in (best, second) or (group.healthy.mean > second.every.mean) is higher:
            difference = means.difference(rival, group.healthy, failed if _has_healthy(other) else ())
            order = "worse" if (difference.value > 0) is higher else "better"
            if math.isnan(difference.error):
                doubts.append(f"{doubt}, too few points to judge")
                continue
            doubt += (
                f", which is {format_value(abs(difference.value))} ± {format_value(difference.error)} SE {order} than"
                f" {means.name_of(labels, rival.runs)}:"
                f" {'more than noise explains' if difference.is_beyond_noise else 'noise explains this'}"
            )
        doubts.append(doubt)
    more = len(doubts) - _MOST_NAMED
    return [*doubts[:_MOST_NAMED], *([f"{more} more combinations have runs that are not healthy"] if more > 0 else [])]


def _has_healthy(group: SeedGroup) -> bool:
    return group.healthy is not None or not group.failed


def _early_leader(
    labels: Sequence[str], metric: ComparedMetric, best: int, others: Sequence[int], word: str
) -> Iterator[str]:
    """Yield the first of the other runs that was ahead of the best run at its last step, beyond noise, if there is one.

    Its level at its own end can be lower than those that longer runs reached later.
    """
    higher = _BETTER[metric.meaning.direction]
    for index in others:
        own, base, step = metric.pair(index, best)
        if (
            step is not None
            and metric.ends[index] == step
            and (own.value > base.value) is higher
            and own.differs_from(base)
        ):
            end = f"last {word} {step}" if metric.axis == "step" else f"end, {metric.place_text(step)}"
            yield f"{clean(labels[index])} was ahead of {clean(labels[best])} at its {end}"
            return


def _counts(first: Level, second: Level, more: str = "") -> str:
    """Return "15 points each" or "15 and 5 points"; with `more` in place of "each", "15 points and one seed each"."""
    if first.count == second.count:
        return f"{first.count} point{'s' * (first.count != 1)} {f'and {more}' if more else 'each'}"
    return f"{first.count} and {second.count} points{f', {more}' if more else ''}"


def deciding_metric(metrics: Sequence[ComparedMetric]) -> ComparedMetric | None:
    """Return the most important metric with a better direction that two runs have; None if there is none."""
    comparable = [
        metric
        for metric in metrics
        if metric.in_steps
        and metric.meaning.direction in _BETTER
        and sum(level is not None and level.is_known for level in metric.levels) > 1
    ]
    return min(comparable, key=_rank, default=None)


def _label(metric: ComparedMetric) -> str:
    return clean(metric.meaning.label or metric.name)


def decision_rank(meaning: Meaning) -> int:
    """Return the position of the concept of a metric in _DECIDING, or its length."""
    concept = meaning.concept or ""
    return _DECIDING.index(concept) if concept in _DECIDING else len(_DECIDING)


def _rank(metric: ComparedMetric) -> int:
    return decision_rank(metric.meaning)


def _decides(metric: ComparedMetric) -> bool:
    """Return whether the metric is one of _DECIDING with a better direction."""
    return metric.in_steps and metric.meaning.direction in _BETTER and _rank(metric) < len(_DECIDING)


def main_metric(metrics: Sequence[ComparedMetric]) -> ComparedMetric | None:
    """Return the metric of the verdict, or else the first one; None without a metric that two runs have.

    Of a single run it is the metric that would decide.
    """
    shared = [m for m in metrics if m.in_steps and sum(lev is not None for lev in m.levels) >= min(2, len(m.levels))]
    return deciding_metric(metrics) or min(filter(_decides, shared), key=_rank, default=next(iter(shared), None))


def _metrics(metrics: Sequence[ComparedMetric], best: int, other: int) -> Iterator[str]:
    """Yield the metrics whose levels differ most as ratios, beyond noise."""
    ratios: dict[str, float] = {}
    for metric in metrics:
        concept = metric.meaning.concept or ""
        if concept.partition(".")[0] not in _NOTABLE or None in (metric.levels[best], metric.levels[other]):
            continue
        own, base, _ = metric.pair(best, other)
        if own.value > 0 and base.value > 0 and math.isfinite(own.value / base.value) and own.differs_from(base):
            ratios.setdefault(_label(metric), own.value / base.value)
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
