"""setting_effects(): how the result of the runs of a sweep depends on each setting that differs between them.

A setting with few values has the mean result of the runs with each value. Seeds are not settings here: they are the
noise. Where the values of several settings are combined evenly, as in a grid, the noise is what the sum of their
effects does not explain; elsewhere it is the deviation of the runs with the same value. A number with many values has a
rank correlation. An effect does not show a cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparing import is_output, is_seed, number_of
from tuimon.analysis.correlation import spearman, spearman_bound
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_value
from tuimon.model.points import Floats
from tuimon.text import clean

_FEWEST = 4
"""Minimum number of runs with a result."""
_MOST_VALUES = 6
"""Maximum number of values of a setting for which there is a mean for each."""
_LEAST_FREEDOM = 2
"""Minimum degrees of freedom from which the noise is estimated."""
_UNCERTAIN = 0.05
"""Probability with which noise alone is called an effect."""
MOST_EFFECTS = 5
"""Number of settings whose effects are listed."""
_LONGEST = 24
"""Maximum characters of a value of a setting."""

Groups = dict[object, list[int]]
"""Value of a setting -> positions of the runs with that value."""


class ValueMean(Struct, frozen=True):
    """Mean result of the runs with one value of a setting."""

    value: Any
    mean: float
    error: float
    """Standard error of the mean; NaN if unknown."""
    runs: int


class SettingEffect(Struct, frozen=True):
    """A setting and the results of the runs."""

    name: str
    values: tuple[ValueMean, ...]
    """The best mean first, or the highest if neither direction is better; () for a number with many values."""
    correlation: float
    """Spearman's rank correlation of a number with many values with the result; else NaN."""
    runs: int
    """Number of runs that have the setting and a result."""
    share: float
    """Part of the variance of the results, or of their ranks, that goes with the setting, 0 to 1."""
    is_beyond_noise: bool
    """Whether noise does not explain the effect (5 %); False if the noise is unknown."""

    @property
    def line(self) -> str:
        """Text of the effect: "lr: 0.72 ± 0.003 at 5e-06 (4 runs), 0.47 ± 0.003 at 1e-06 (4 runs)"."""
        if self.values:
            effect = ", ".join(map(_value_text, self.values))
        else:
            effect = f"rank correlation {self.correlation:+.2f} ({self.runs} runs)"
        is_known = not self.values or all(math.isfinite(value.error) for value in self.values)
        return f"{clean(self.name)}: {effect}{'; noise explains this' * (is_known and not self.is_beyond_noise)}"


def _value_text(value: ValueMean) -> str:
    error = f" ± {format_value(value.error)}" if math.isfinite(value.error) else ""
    runs = f"{value.runs} run{'s' * (value.runs != 1)}"
    return f"{format_value(value.mean)}{error} at {setting_text(value.value, _LONGEST)} ({runs})"


def setting_effects(
    settings: Sequence[tuple[str, Sequence[Any]]], results: Sequence[float | None], higher: bool = True
) -> tuple[SettingEffect, ...]:
    """Return the effects of the settings that differ, the largest share of the variance first.

    settings: (name, value in each run; MISSING or None if it has none). Seeds, names of outputs, and texts of which
    most runs have their own are left out. results: result of each run; None or not finite if it has none. higher:
    whether higher results are better.
    """
    known = np.array([math.nan if result is None else result for result in results], np.float64)
    if np.isfinite(known).sum() < _FEWEST:
        return ()
    scale = float(np.abs(known[np.isfinite(known)]).max()) or 1.0
    scaled = known / scale  # so that no square overflows
    groups = {
        name: _groups(values, scaled)
        for name, values in settings
        if not (is_seed(name) or is_output(name) or name.startswith("_"))
    }
    few = {name: own for name, own in groups.items() if 1 < len(own) <= min(_MOST_VALUES, _count(own) // 2)}
    crossed, noise, freedom = _crossed(few, scaled)
    effects: list[SettingEffect] = []
    for name, values in settings:
        if name in few:
            own = few[name]
            spread = (noise, freedom) if name in crossed else _within(own, scaled)
            effects.append(_effect_of_values(name, own, values, scaled, scale, spread, higher))
        elif name in groups:
            effects.extend(_effect_of_number(name, values, scaled))
    return tuple(sorted(effects, key=lambda effect: -effect.share))


def effects_on(
    metric: ComparedMetric | None, settings: Sequence[tuple[str, Sequence[Any]]]
) -> tuple[SettingEffect, ...]:
    """Return the largest effects of settings on the level of a metric, at most MOST_EFFECTS; () without a metric."""
    if metric is None:
        return ()
    results = [None if level is None else level.value for level in metric.levels]
    return setting_effects(settings, results, metric.meaning.direction != "down")[:MOST_EFFECTS]


def effects_title(metric: ComparedMetric) -> str:
    """Return the heading of the lines of effects."""
    name = clean(metric.meaning.label or metric.name)
    return f"Settings and {name}: mean level of the runs with each value ± its error, with seeds as noise"


def _groups(values: Sequence[Any], results: Floats) -> Groups:
    """Return the runs with a result by the value of a setting; a number in a text is that number."""
    groups: Groups = {}
    for index, value in enumerate(values):
        if isinstance(value, bool | int | float | str) and math.isfinite(results[index]):
            number = number_of(value)
            groups.setdefault(number if number is not None else (type(value), value), []).append(index)
    return groups


def _count(groups: Groups) -> int:
    return sum(map(len, groups.values()))


def _crossed(few: dict[str, Groups], results: Floats) -> tuple[frozenset[str], float, int]:
    """Return the settings whose values are combined evenly, and the deviation of the results that the sum of their
    effects leaves, with its degrees of freedom."""
    total = int(np.isfinite(results).sum())
    residuals = results - np.mean(results[np.isfinite(results)])
    crossed: list[str] = []
    freedom = total - 1
    for name, groups in few.items():
        left = freedom - len(groups) + 1
        if _count(groups) == total and left >= _LEAST_FREEDOM and all(_is_even(groups, few[o], total) for o in crossed):
            crossed.append(name)
            freedom = left
    for name in crossed:
        for members in few[name].values():
            residuals[members] -= np.mean(results[members]) - np.mean(results[np.isfinite(results)])
    known = residuals[np.isfinite(residuals)]
    return frozenset(crossed), math.sqrt(float(known @ known) / freedom), freedom


def _is_even(first: Groups, second: Groups, total: int) -> bool:
    """Return whether each value of a setting occurs equally often with each value of another one."""
    return all(len(set(a) & set(b)) * total == len(a) * len(b) for a in first.values() for b in second.values())


def _within(groups: Groups, results: Floats) -> tuple[float, int]:
    """Return the deviation of the results of runs with the same value, and its degrees of freedom."""
    freedom = _count(groups) - len(groups)
    squares = sum(float(np.square(results[members] - np.mean(results[members])).sum()) for members in groups.values())
    return math.sqrt(squares / freedom), freedom


def _effect_of_values(
    name: str,
    groups: Groups,
    values: Sequence[Any],
    results: Floats,
    scale: float,
    spread: tuple[float, int],
    higher: bool,
) -> SettingEffect:
    noise, freedom = spread
    error = noise if freedom >= _LEAST_FREEDOM else math.nan
    means = [
        ValueMean(values[members[0]], float(np.mean(results[members])), error / math.sqrt(len(members)), len(members))
        for members in groups.values()
    ]
    means.sort(key=lambda mean: mean.mean, reverse=higher)
    members = [index for own in groups.values() for index in own]
    deviations = results[members] - np.mean(results[members])
    between = sum(mean.runs * (mean.mean - float(np.mean(results[members]))) ** 2 for mean in means)
    total = float(deviations @ deviations)
    first, last = means[0], means[-1]
    explained = _student(1 - _UNCERTAIN / (len(means) * (len(means) - 1)), freedom) * math.hypot(
        first.error, last.error
    )
    return SettingEffect(
        name,
        tuple(ValueMean(mean.value, mean.mean * scale, mean.error * scale, mean.runs) for mean in means),
        math.nan,
        len(members),
        between / total if total else 0.0,
        abs(first.mean - last.mean) > explained,
    )


def _student(probability: float, freedom: int) -> float:
    """Return the quantile of Student's distribution, by the expansion in Abramowitz & Stegun 26.7.5."""
    from statistics import NormalDist  # takes 4 ms to import, which the first frame need not wait for

    z, n = NormalDist().inv_cdf(probability), max(freedom, 1)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


def _effect_of_number(name: str, values: Sequence[Any], results: Floats) -> Iterator[SettingEffect]:
    numbers = [number_of(value) for value in values]
    pairs = [(x, y) for x, y in zip(numbers, results, strict=True) if x is not None and math.isfinite(x + y)]
    if len(pairs) >= _FEWEST and math.isfinite(rho := spearman(*np.array(pairs, np.float64).T)):
        yield SettingEffect(name, (), rho, len(pairs), rho * rho, abs(rho) > spearman_bound(len(pairs)))
