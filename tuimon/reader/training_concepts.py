"""Relation of two log files that name their metrics differently, such as those of two trainers.

A loss is compared with a loss, whatever their names are. Equal values show one training if they were logged at the same
times, because a program that is started twice repeats its values. One training can log a loss twice with different
values: averaged over the steps since the last row, or scaled. So different values count only if they are neither alike
nor proportional, or if something else shows two trainings: other totals of steps, the times at which the common steps
were logged, or two ends. Steps are not compared with epochs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tuimon.reader.training_values import Beginning, Relation, are_alike, are_equal
from tuimon.vocabulary import classify

_CONCEPTS = frozenset({"loss.total", "loss.val", "reward.train", "reward.val"})
"""Concepts that have a value of their own in each training, and seldom several meanings."""
_LEAST_STEPS = 3
"""Number of common steps, and of distinct values, from which on values are compared."""
_COMPARED = 32
"""Maximum number of common steps, the last ones, whose values are compared."""
_PROPORTIONAL = 0.01
"""Relative spread of the ratios of proportional values."""
_DELAY, _DELAY_PART = 60.0, 0.1
"""Difference (s, and as a part of the compared time) up to which the time between common steps is the same."""
_SAME_TIME = 5.0
"""Difference (s) up to which one training has logged a step twice."""


def relation_by_concepts(before: Beginning, after: Beginning) -> Relation:
    """Return whether two files are of one training (EQUAL) or DIFFERENT, or UNKNOWN."""
    if before.unit != after.unit:
        return Relation.UNKNOWN
    here, there = _by_concept(before), _by_concept(after)
    equal, different, unlike = 0, 0, 0
    for concept in here.keys() & there.keys():
        first, second = here[concept], there[concept]
        steps = sorted(first.keys() & second.keys())[-_COMPARED:]
        values = [first[step] for step in steps], [second[step] for step in steps]
        if len(steps) < _LEAST_STEPS or len({*values[0]}) < _LEAST_STEPS:
            continue
        if are_equal(*values):
            equal += 1
        else:
            different += 1
            unlike += not (are_alike(*values, values[0]) or _are_proportional(*values))
    if not different:
        return Relation.EQUAL if equal and _were_logged_together(before, after) else Relation.UNKNOWN
    if different > equal and (unlike or (after.is_from_scratch and _are_apart(before, after))):
        return Relation.DIFFERENT
    return Relation.UNKNOWN


def _by_concept(beginning: Beginning) -> dict[str, Mapping[int, float]]:
    """Return the main series of each concept."""
    found: dict[str, tuple[int, str]] = {}
    for name in beginning.values:
        meaning = classify(name)
        if meaning.concept in _CONCEPTS:
            found[meaning.concept] = min(
                found.get(meaning.concept, (meaning.preference, name)), (meaning.preference, name)
            )
    return {concept: beginning.values[name] for concept, (_, name) in found.items()}


def _are_proportional(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether the values differ by a constant factor."""
    ratios = [b / a for a, b in zip(first, second, strict=True) if a and math.isfinite(a) and math.isfinite(b)]
    return bool(ratios) and bool(np.ptp(ratios) <= _PROPORTIONAL * abs(np.median(ratios)))


def _are_apart(before: Beginning, after: Beginning) -> bool:
    """Return whether two files whose values are alike cannot be of one training."""
    if before.total and after.total and before.total != after.total:
        return True
    return _were_logged_apart(before, after) or _have_two_ends(before, after)


def _were_logged_apart(before: Beginning, after: Beginning) -> bool:
    """Return whether the time between the common steps differs; their clocks can have different time zones."""
    steps = sorted(before.times.keys() & after.times.keys())
    if len(steps) < _LEAST_STEPS:
        return False
    delays = [after.times[step] - before.times[step] for step in steps]
    return max(delays) - min(delays) > _DELAY + _DELAY_PART * abs(before.times[steps[-1]] - before.times[steps[0]])


def _were_logged_together(before: Beginning, after: Beginning) -> bool:
    """Return whether the common steps were logged at the same times."""
    steps = before.times.keys() & after.times.keys()
    delays = [abs(after.times[step] - before.times[step]) for step in steps]
    return len(steps) >= _LEAST_STEPS and max(delays) <= _SAME_TIME


def _have_two_ends(before: Beginning, after: Beginning) -> bool:
    """Return whether both trainings have ended, in different ways and at different steps."""
    if before.outcome is None or after.outcome is None or before.outcome == after.outcome:
        return False
    return before.steps[-1] != after.steps[-1]
