"""Relation of a console text to the metric files beside it, whose steps may be counted differently.

A text often numbers its entries, while the file logs steps, so values are not compared at equal steps. Instead the
sequences of values of equal meaning are compared: a text of the same training prints (rounded) values that the file
has in the same order. Rounded values of different trainings also agree by chance, so the agreement is compared with
that of values that were never logged: the means of neighbouring values.

A text without common values is of another training only if its curves are unlike those of the file as well, or if most
steps are the same, and the metrics that differ have the same names, and vary independently and equally strongly. The
text of a training may show means of the logged values, which are smoother, or those of other steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

import numpy as np
from msgspec import Struct

from tuimon.vocabulary import classify, pair_key

LEAST_VALUES = 8
"""Number of distinct values of a metric from which on it is compared."""
_COMPARED, _SEARCHED = 256, 20_000
"""Maximum numbers of values of the shorter sequence that are searched, and of the longer one."""
_MOST_PAIRS = 64
"""Maximum number of pairs of metrics that are compared."""
_SAME, _BY_CHANCE = 0.5, 0.3
"""Least part of the values that are common to one training, and by how much it exceeds the agreement by chance."""
SURE = 0.9
"""Part of common values from which on no other metric is compared."""
_FEW = 0.1
"""By how much the part of common values of different trainings exceeds the agreement by chance at most."""
_TELLING = 0.6
"""Agreement by chance from which on a metric shows nothing."""
_SAME_STEPS = 0.8
"""Part of the steps that are common to two files that log at the same steps."""
_LEAST_COMMON, _NOISIER = 32, 2.0
"""Number of common steps from which on other values show another training even if the curves are alike, and ratio up to
which their noise is the same."""
_COURSE = 9
"""Number of values whose mean is the course of a metric."""
_LIKE = 0.1
"""Relative difference up to which curves are alike."""
_FLOAT32 = 6e-8
"""Relative rounding error of a float32, which event files hold."""
_CONCEPTS = ("loss", "reward", "success", "return", "kl", "entropy", "grad_norm", "perplexity", "error", "quality")
"""Concepts, or the first parts of them, whose values differ from training to training."""


class ValueSequence(Struct, frozen=True):
    """The finite values of a metric in file order; equal neighbours count once."""

    steps: np.ndarray
    """int64 (n,)"""
    values: np.ndarray
    """float64 (n,)"""


class Agreement(Struct, frozen=True):
    """How far the values of a text agree with those of metric files."""

    common: float = 0.0
    """Part of the values that are common; 0 unless that shows one training."""
    different: bool = False
    """Whether they are of different trainings."""


class _Pair(Struct, frozen=True):
    """Metrics of equal meaning."""

    concept: str
    here: ValueSequence
    """In the text."""
    there: ValueSequence
    """In the files."""
    is_named_alike: bool


def sequence(points: Iterable[tuple[int, float]]) -> ValueSequence | None:
    """points: (step, value) in file order. None without finite values."""
    finite = [(step, value) for step, value in points if math.isfinite(value)]
    if not finite:
        return None
    steps, values = zip(*finite, strict=True)
    changed = np.append(True, np.diff(values) != 0)
    return ValueSequence(np.array(steps, np.int64)[changed], np.array(values, np.float64)[changed])


def agreement(text: Collection[tuple[str, ValueSequence]], logged: Collection[tuple[str, ValueSequence]]) -> Agreement:
    """Compare the metrics of a text with those of the files beside it. Both are (name, values); names can repeat."""
    pairs: dict[str, list[_Pair]] = defaultdict(list)
    for pair in islice(_pairs(text, logged), _MOST_PAIRS):
        pairs[pair.concept].append(pair)
    differing: list[_Pair] = []
    common, unlike, named = 0.0, 0, 0
    for of_concept in pairs.values():
        parts: list[tuple[float, float]] = []
        for pair in of_concept:
            part, chance = _common_part(pair.here.values, pair.there.values)
            if part >= max(_SAME, chance + _BY_CHANCE):
                common = max(common, part)
            if common >= SURE:
                return Agreement(common)
            parts.append((part, chance))
        if all(chance <= _TELLING and part <= chance + _FEW for part, chance in parts):
            differing.append(of_concept[0])
            if all(_are_unlike(pair.here, pair.there) for pair in of_concept):
                unlike += 1
                named += any(pair.is_named_alike for pair in of_concept)
    different = not common and (named > 0 or unlike > 1)
    if not common and not different and differing and all(map(_are_equally_noisy, differing)):
        different = _log_same_steps(text, logged) and not _vary_together(differing)
    return Agreement(common, different)


def _pairs(
    text: Collection[tuple[str, ValueSequence]], logged: Collection[tuple[str, ValueSequence]]
) -> Iterator[_Pair]:
    """Yield the metrics of equal meaning that have enough values."""
    by_concept: dict[str, list[tuple[str, ValueSequence]]] = defaultdict(list)
    for name, there in logged:
        if _has_enough(there):
            by_concept[compared_concept(name)].append((name, there))
    for name, here in text:
        concept = compared_concept(name)
        if concept and _has_enough(here):
            for other, there in by_concept[concept]:
                yield _Pair(concept, here, there, _are_named_alike(name, other))


def compared_concept(name: str) -> str:
    """Return the concept of a metric, or "" if its values are not compared."""
    concept = classify(name).concept
    return concept if concept.split(".")[0] in _CONCEPTS else ""


def _has_enough(sequence: ValueSequence) -> bool:
    return len(np.unique(sequence.values)) >= LEAST_VALUES


def _common_part(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Return the part of the values of the shorter sequence that the longer one has in the same order, and that of the
    means of its neighbouring values."""
    short, long = sorted((first, second), key=len)
    precisions = [_precision(short), _precision(long)]
    picked = np.unique(np.linspace(0, len(short) - 1, min(len(short), _COMPARED)).round().astype(int))
    means = (short[picked] + short[np.minimum(picked + 1, len(short) - 1)]) / 2
    means[-1] = (short[-1] + short[0]) / 2
    means = means.round(precisions[0][0])
    long = long[:_SEARCHED]
    parts = [_common_length(values, long, precisions) / len(picked) for values in (short[picked], means)]
    return parts[0], parts[1]


def _common_length(short: np.ndarray, long: np.ndarray, precisions: list[tuple[int, int]]) -> int:
    """Return the length of the longest common subsequence of values that are equal up to their precision.

    A bit-parallel computation (Hyyrö 2004): a bit for each value of the longer sequence."""
    everything = (1 << len(long)) - 1
    state = everything
    for value in short.tolist():
        equal = np.abs(long - value) <= max(_tolerance(value, *precision) for precision in precisions)
        matches = int.from_bytes(np.packbits(equal, bitorder="little").tobytes(), "little")
        both = state & matches
        state = ((state + both) | (state - both)) & everything
    return len(long) - state.bit_count()


def _precision(values: np.ndarray) -> tuple[int, int]:
    """Return the largest numbers of decimals and of significant digits of values."""
    decimals, digits = 0, 1
    for value in values[:_COMPARED].tolist():
        mantissa, exponent = f"{abs(value):.16e}".split("e") if value else ("0", "0")
        shortest = repr(abs(value)).split("e")[0].replace(".", "").strip("0")
        digits = max(digits, len(shortest))
        decimals = max(decimals, len(shortest) - 1 - int(exponent)) if mantissa != "0" else decimals
    return decimals, digits


def _tolerance(value: float, decimals: int, digits: int) -> float:
    """Return the largest error of a value that was rounded to a number of decimals or of significant digits, or to a
    float32."""
    magnitude = math.floor(math.log10(abs(value))) if value else -300
    return max(0.51 * max(10.0**-decimals, 10.0 ** (magnitude + 1 - digits)), abs(value) * _FLOAT32)


def _are_unlike(first: ValueSequence, second: ValueSequence) -> bool:
    """Return whether two curves differ by more than their noise, and by no factor, however their steps are aligned: by
    step, by entry, or by the part of the file."""
    short, long = sorted((first, second), key=lambda sequence: len(sequence.values))
    count = len(short.values)
    spread = np.linspace(0, len(long.values) - 1, count).round().astype(int)
    alignments = [(short.values, long.values[:count]), (short.values, long.values[spread])]
    _, here, there = np.intersect1d(short.steps, long.steps, return_indices=True)
    if len(here) >= LEAST_VALUES:
        alignments.append((short.values[here], long.values[there]))
    noise = 3 * max(float(np.median(np.abs(np.diff(sequence.values)))) for sequence in (first, second))
    return not any(_are_alike(here, there, noise) for here, there in alignments)


def _are_alike(first: np.ndarray, second: np.ndarray, noise: float) -> bool:
    size = max(float(np.median(np.abs(first))), float(np.median(np.abs(second))))
    if np.median(np.abs(first - second)) <= max(noise, _LIKE * size):
        return True
    factor = np.median(second) / np.median(first) if np.median(first) else 1.0
    return bool(np.median(np.abs(factor * first - second)) <= 0.01 * np.median(np.abs(second)))


def _are_named_alike(name: str, other: str) -> bool:
    return pair_key(name) == pair_key(other) or name.split("/")[-1].lower() == other.split("/")[-1].lower()


def _vary_together(pairs: Iterable[_Pair]) -> bool:
    """Return whether metrics are above their courses together more often than by chance, such as values and means."""
    equal, count = 0, 0
    for pair in pairs:
        _, here, there = np.intersect1d(pair.here.steps, pair.there.steps, return_indices=True)
        if len(here) >= _COURSE:
            products = _deviations(pair.here.values[here]) * _deviations(pair.there.values[there])
            equal, count = equal + int(np.sum(products > 0)), count + len(products)
    return equal > count / 2 + 0.75 * math.sqrt(count)  # 1.5 standard deviations


def _are_equally_noisy(pair: _Pair) -> bool:
    """Return whether metrics of one name have as much noise at many common steps, as those of two trainings do."""
    _, here, there = np.intersect1d(pair.here.steps, pair.there.steps, return_indices=True)
    if not pair.is_named_alike or len(here) < _LEAST_COMMON:
        return False
    noise = [np.median(np.abs(_deviations(values))) for values in (pair.here.values[here], pair.there.values[there])]
    return bool(max(noise) <= _NOISIER * min(noise))


def _deviations(values: np.ndarray) -> np.ndarray:
    """Return the differences of values from the means of the values around them."""
    return values[_COURSE // 2 : -(_COURSE // 2)] - np.convolve(values, np.ones(_COURSE) / _COURSE, "valid")


def _log_same_steps(text: Collection[tuple[str, ValueSequence]], logged: Collection[tuple[str, ValueSequence]]) -> bool:
    """Return whether the text and the files log at the same steps, as far as both go."""
    here, there = (max((np.unique(sequence.steps) for _, sequence in curves), key=len) for curves in (text, logged))
    first, last = max(here[0], there[0]), min(here[-1], there[-1])
    here, there = (steps[(steps >= first) & (steps <= last)] for steps in (here, there))
    common = len(np.intersect1d(here, there))
    return common >= LEAST_VALUES and common >= _SAME_STEPS * len(np.union1d(here, there))
