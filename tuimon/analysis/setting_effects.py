"""setting_effects(): how much the results of runs differ between two values of a setting, all else being equal.

    lr   best 5e-06, worst 1e-06   +0.2500 ± 0.0012   4 pairs

Runs that are equal in all other settings, seeds aside, are paired: one with the one value, one with the other, each run
in one pair. The difference is the mean over the pairs, its standard error their deviation / sqrt(pairs). Of a setting
with more than two values, the best and the worst are compared that have the most pairs. A difference shows no cause.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.comparing import MISSING, is_output, is_seed, number_of
from tuimon.analysis.level import Difference

_MOST_VALUES = 12
"""Maximum number of values of a setting that are compared; of a random search each run has its own."""


class SettingEffect(Struct, frozen=True):
    """A setting and the difference of the results that goes with it."""

    name: str
    best: Any
    """Value with the better results, or the higher ones if neither direction is better."""
    worst: Any
    difference: Difference
    """Mean of the paired differences, the result with the best value less that with the worst."""
    pairs: int
    beyond_noise: bool
    """Whether noise does not explain it (2 %, divided by the number of pairs of values of all settings)."""


def setting_effects(
    settings: Sequence[tuple[str, Sequence[Any]]], results: Sequence[float | None], higher: bool = True
) -> tuple[SettingEffect, ...]:
    """Return the effects of the settings of which runs can be paired, the largest difference first.

    settings: (name, value in each run; MISSING or None if it has none). results: result of each run; None or not finite
    if it has none. higher: whether higher results are better. Seeds, names of outputs, and texts of which most runs
    have their own are left out.
    """
    kept = [index for index, result in enumerate(results) if result is not None and math.isfinite(result)]
    compared = {name: [_key(values[index]) for index in kept] for name, values in settings if _is_compared(name)}
    compared = {name: own for name, own in compared.items() if not _are_names(own)}
    known = {index: float(result) for index, result in enumerate(results) if result is not None}
    found = [
        (name, best, worst, apart)
        for name, values in settings
        if name in compared
        for best, worst, apart in [_best_pair(name, compared, [known[index] for index in kept], higher)]
        if len(apart)
    ]
    chances = sum(math.comb(len(set(compared[name])), 2) for name, *_ in found)
    effects = []
    for name, best, worst, apart in found:
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
        difference = Difference(float(apart.mean()), error, len(apart) - 1)
        originals = dict(zip(compared[name], (dict(settings)[name][index] for index in kept), strict=True))
        first, last = (None if (value := originals[key]) is MISSING else value for key in (best, worst))
        is_beyond = difference.is_beyond_noise(chances)
        effects.append(SettingEffect(name, first, last, difference, len(apart), is_beyond))
    return tuple(sorted(effects, key=lambda effect: -abs(effect.difference.value)))


def _is_compared(name: str) -> bool:
    return not (is_seed(name) or is_output(name) or name.startswith("_"))


def _key(value: Any) -> object:
    """Return what equal values share: "1e-5" is a number in YAML, too."""
    number = None if value is MISSING else number_of(value)
    return number if number is not None and math.isfinite(number) else repr(None if value is MISSING else value)


def _are_names(values: Sequence[object]) -> bool:
    """Return whether all runs have the same value, or more than half of them a text of their own."""
    different = set(values)
    is_text = not any(isinstance(value, float) for value in different)
    return len(different) < 2 or (is_text and len(different) > len(values) // 2 and len(different) > 2)


def _best_pair(
    name: str, compared: Mapping[str, Sequence[object]], results: Sequence[float], higher: bool
) -> tuple[object, object, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the best and the worst value of a setting, and the differences of their pairs of runs; empty without."""
    own = compared[name]
    blocks: dict[tuple[object, ...], dict[object, list[float]]] = {}
    for row, result in enumerate(results):
        rest = tuple(values[row] for other, values in compared.items() if other != name)
        blocks.setdefault(rest, {}).setdefault(own[row], []).append(result)
    chosen: tuple[object, object, list[float]] = ("", "", [])
    if len(set(own)) <= _MOST_VALUES:
        for one, other in itertools.combinations(dict.fromkeys(own), 2):
            pairs = [
                zip(block[one], block[other], strict=False) for block in blocks.values() if {one, other} <= {*block}
            ]
            apart = [a - b for block in pairs for a, b in block]
            if (len(apart), abs(sum(apart))) > (len(chosen[2]), abs(sum(chosen[2]))):
                chosen = (one, other, apart)
    one, other, apart = chosen
    differences = np.array(apart, np.float64)
    if len(apart) and (differences.mean() > 0) is not np.bool_(higher) and differences.mean() != 0:
        one, other, differences = other, one, -differences
    return one, other, differences
