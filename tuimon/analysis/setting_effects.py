"""setting_effects(): how the result of the runs of a sweep depends on each setting that differs between them.

The effect of a setting is estimated among runs that are otherwise equal, seeds aside (`blocked_means`):

    y[i] = a[h] + b[v] + noise

is the result of run i with value v of the setting and the combination h of all others, and b is found by least squares.
Values that no chain of such runs connects are left out.

Each level is a sum of w[i] y[i], and its standard error (SE) is sqrt(sum of (w[i] s[i])^2). The noise s[i] of a run is
that of runs that differ at most in seeds (`run_noise`); if it is unknown, what the least squares leave. The effect is
beyond noise if Student's t says so of the difference of two of its values (5 %, divided by the number of pairs).

Where no two runs differ in this setting only, the levels are means of the runs with each value with their own standard
errors, and the settings that vary with it are named: their effects cannot be separated. A number with many values has
a rank correlation, within blocks if they have enough runs. An effect does not show a cause.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.blocked_means import Levels, levels_of, matched_levels
from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparison_axis import Place
from tuimon.analysis.correlation import RankCorrelation, blocked_spearman
from tuimon.analysis.matched_runs import MatchedRuns, matched_runs
from tuimon.analysis.run_noise import LEAST_FREEDOM, Noise, chance_of, run_noise, same_noise
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_value
from tuimon.model.points import Floats
from tuimon.text import clean

_FEWEST = 4
"""Minimum number of runs with a result."""
_MOST_VALUES = 6
"""Maximum number of values of a setting for which there is a level for each."""
_UNCERTAIN = 0.05
"""Probability with which noise alone is called an effect."""
_ROUNDING = 1e-12
"""Part of the largest result up to which a difference is a rounding error."""
MOST_EFFECTS = 5
"""Number of settings whose effects are listed."""
_LONGEST = 24
"""Maximum characters of a value of a setting."""
_NAMED = 2
"""Number of settings that are named as varying with another one."""


class ValueLevel(Struct, frozen=True):
    """Level of the runs with one value of a setting."""

    value: Any
    level: float
    error: float
    """Standard error of the level; NaN if unknown."""
    runs: int


class Lead(Struct, frozen=True):
    """Difference of the levels of the best and the next value of a setting."""

    difference: float
    error: float
    """Standard error of the difference."""
    is_beyond_noise: bool
    """Whether noise does not explain it (5 %, without a correction for the number of values)."""


class SettingEffect(Struct, frozen=True):
    """A setting and the results of the runs."""

    name: str
    values: tuple[ValueLevel, ...]
    """The best level first, or the highest if neither direction is better; () for a number with many values."""
    rank: RankCorrelation | None
    """Rank correlation of a number with the result; None for other settings, or if it is undefined."""
    runs: int
    """Number of runs that are compared."""
    share: float
    """Part of the variance of the results, or of their ranks, that goes with the setting, 0 to 1."""
    is_beyond_noise: bool
    """Whether noise does not explain the effect (5 %); False if the noise is unknown."""
    noise: str
    """Measure of the noise: "seeds", "levels" (their standard errors), "rest" (what the effects leave), "settings"
    (other settings vary between the runs, too), or "" if it is unknown."""
    varies_with: tuple[str, ...] = ()
    """Settings that this one cannot be separated from, because no two runs differ in this one only."""
    lead: Lead | None = None
    """Difference of the best two values; None without levels or if the noise is unknown."""

    @property
    def is_explained_by_noise(self) -> bool:
        """Whether runs that are otherwise equal differ no more than noise explains."""
        return self.noise not in ("", "settings") and not self.is_beyond_noise and not self.varies_with

    @property
    def line(self) -> str:
        """Text of the effect: "lr: 0.72 ± 0.003 at 5e-06 (4 runs), 0.47 ± 0.003 at 1e-06 (4 runs)"."""
        if self.values:
            effect = ", ".join(map(_value_text, self.values))
        elif self.rank is not None:
            effect = f"rank correlation {self.rank.rho:+.2f} ({self.rank.count} runs)"
        else:
            effect = "unknown"
        return f"{clean(self.name)}: {effect}{self._remark}"

    @property
    def _remark(self) -> str:
        if self.varies_with:
            return f"; cannot be separated from {some_of(self.varies_with)}"
        if self.is_explained_by_noise:
            return "; noise explains this"
        return "; no clear effect" if self.noise == "settings" and not self.is_beyond_noise else ""


def some_of(names: Sequence[str]) -> str:
    """Return "a", "a and b", or "a, b and 3 more settings"."""
    shown, more = [clean(name) for name in names[:_NAMED]], len(names) - _NAMED
    if more > 0:
        return f"{', '.join(shown)} and {more} more setting{'s' * (more != 1)}"
    return " and ".join(shown)


def _value_text(value: ValueLevel) -> str:
    error = f" ± {format_value(value.error)}" if math.isfinite(value.error) else ""
    runs = f"{value.runs} run{'s' * (value.runs != 1)}"
    return f"{format_value(value.level)}{error} at {setting_text(value.value, _LONGEST)} ({runs})"


class SettingEffects(Struct, frozen=True):
    """The largest effects of settings on the level of a metric."""

    metric: str
    """Its name in the first run that logged it."""
    effects: tuple[SettingEffect, ...]
    title: str
    """Heading of the lines of the effects."""
    step: Place | None
    """Step, or position on another axis, up to which the levels are taken; None if the runs have none in common."""
    left_out: int
    """Number of runs that ended too early to be compared."""


def effects_on(
    metric: ComparedMetric | None, settings: Sequence[tuple[str, Sequence[Any]]], failures: Sequence[str] = ()
) -> SettingEffects | None:
    """Return the largest effects of settings on the level of a metric, at most MOST_EFFECTS; None without any.

    All levels are taken up to the same step (`ComparedMetric.comparable_step`). failures: what casts doubt on each run
    (`failures_of`); the title counts such runs.
    """
    if metric is None:
        return None
    step = metric.comparable_step
    levels = metric.levels_until(step)
    results = [None if level is None else level.value for level in levels]
    errors = [math.nan if level is None else level.error for level in levels]
    higher = metric.meaning.direction != "down"
    effects = setting_effects(settings, results, higher, errors, list(map(bool, failures)))[:MOST_EFFECTS]
    if not effects:
        return None
    left_out = sum(level is not None for level in metric.levels) - sum(level is not None for level in levels)
    title = f"Settings and {clean(metric.meaning.label or metric.name)}"
    if step is not None and len({end for end in metric.ends if end is not None}) > 1:
        title += f" up to {metric.place_text(step)}"
    if left_out:
        title += f", without {left_out} run{'s' * (left_out != 1)} that ended early"
    if doubtful := sum(level is not None and bool(text) for level, text in zip(levels, failures, strict=False)):
        title += f", including {doubtful} run{'s that are' if doubtful != 1 else ' that is'} not healthy"
    title += ": level ± SE of otherwise equal runs"
    if any(effect.noise == "levels" for effect in effects):
        title += " (no seeds: the SE is that of the curves)"
    return SettingEffects(metric.name, effects, title, step, left_out)


def setting_effects(
    settings: Sequence[tuple[str, Sequence[Any]]],
    results: Sequence[float | None],
    higher: bool = True,
    errors: Sequence[float] = (),
    failed: Sequence[bool] = (),
) -> tuple[SettingEffect, ...]:
    """Return the effects of the settings that differ, the largest share of the variance first, and those last that
    cannot be separated from others.

    settings: (name, value in each run; MISSING or None if it has none). results: result of each run; None or not finite
    if it has none. higher: whether higher results are better. errors: standard error of each result, NaN if unknown.
    failed: whether each run is not healthy, so that it is not a part of pooled noise; empty if all are healthy.
    """
    every = np.array([math.nan if result is None else result for result in results], np.float64)
    kept = np.flatnonzero(np.isfinite(every)).tolist()
    if len(kept) < _FEWEST or not settings:
        return ()
    scale = float(np.abs(every[kept]).max()) or 1.0  # so that no square overflows
    runs = matched_runs([(name, [values[index] for index in kept]) for name, values in settings])
    scaled = every[kept] / scale
    own_errors = np.array(errors, np.float64)[kept] / scale if len(errors) else np.full(len(kept), math.nan)
    healthy = ~np.array(failed, np.bool_)[kept] if len(failed) else np.ones(len(kept), np.bool_)
    noise = run_noise(scaled, runs.cells, own_errors, healthy)
    estimates = (_effect(name, runs, scaled, noise, healthy, higher, scale) for name in runs.codes)
    effects = [effect for effect in estimates if effect is not None]
    return tuple(sorted(effects, key=lambda effect: (bool(effect.varies_with), -effect.share)))


def _effect(
    name: str, runs: MatchedRuns, results: Floats, noise: Noise, healthy: np.ndarray, higher: bool, scale: float
) -> SettingEffect | None:
    known = np.flatnonzero(runs.has(name))
    codes = np.unique(runs.codes[name][known], return_inverse=True)[1]
    count = int(codes.max(initial=-1)) + 1
    if count < 2:
        return None
    if count > _MOST_VALUES:
        return _effect_of_number(name, runs, results)
    estimate = matched_levels(known, codes, runs.strata[name][known], results)
    is_measured = estimate is not None and bool(noise.source)
    if count > len(known) // 2 and not is_measured:
        return _effect_of_number(name, runs, results)
    if estimate is not None:
        own = noise.of_runs(estimate.rows) if noise.source else _noise_of_rest(estimate)
        return _effect_of_values(name, runs, results, estimate, own, higher, scale)
    estimate = levels_of(known, codes, np.zeros(len(known), np.int64), results)
    own = run_noise(results[known], codes, np.full(len(known), math.nan), healthy[known])
    own = replace(own, source="settings" if own.source else "")
    effect = _effect_of_values(name, runs, results, estimate, own, higher, scale)
    return replace(effect, varies_with=runs.varying_with(name))


def _noise_of_rest(estimate: Levels) -> Noise:
    """Return what the estimate leaves of the results as noise."""
    if estimate.freedom < LEAST_FREEDOM:
        return same_noise(np.full(len(estimate.rows), math.nan), 1, "")
    deviation = math.sqrt(float(estimate.rest @ estimate.rest) / estimate.freedom)
    return same_noise(np.full(len(estimate.rows), deviation), estimate.freedom, "rest")


def _effect_of_values(
    name: str, runs: MatchedRuns, results: Floats, estimate: Levels, noise: Noise, higher: bool, scale: float
) -> SettingEffect:
    weights = estimate.weights
    levels = weights @ results[estimate.rows]
    errors = np.sqrt(np.square(weights) @ np.square(noise.deviations))
    order = np.argsort(-levels if higher else levels, kind="stable").tolist()
    members = [estimate.rows[estimate.codes == code] for code in range(len(levels))]
    values = tuple(
        ValueLevel(
            runs.values[name][members[code][0]],
            float(levels[code]) * scale,
            float(errors[code]) * scale,
            len(members[code]),
        )
        for code in order
    )
    centred = results - results.mean()
    total = float(centred @ centred)
    share = min(float(estimate.effects @ estimate.effects) / total, 1.0) if total else 0.0
    pairs = list(itertools.combinations(order, 2))
    differences = [(float(levels[a] - levels[b]), *noise.error(weights[a] - weights[b])) for a, b in pairs]
    is_beyond = any(_is_beyond(*difference, _UNCERTAIN / len(pairs)) for difference in differences)
    apart, error, freedom = differences[0]
    lead = Lead(apart * scale, error * scale, _is_beyond(apart, error, freedom, _UNCERTAIN)) if noise.source else None
    rank, _ = _rank(runs, name, results, bool(noise.source) and noise.source != "settings")
    return SettingEffect(name, values, rank, len(estimate.rows), share, is_beyond, noise.source, (), lead)


def _is_beyond(difference: float, error: float, freedom: float, uncertain: float) -> bool:
    """Return whether noise explains a difference with at most this probability; False if the error is unknown."""
    if not abs(difference) > _ROUNDING or not math.isfinite(error):
        return False
    return error == 0 or chance_of(difference / error, freedom) < uncertain


def _rank(runs: MatchedRuns, name: str, results: Floats, few: bool = False) -> tuple[RankCorrelation | None, bool]:
    """Return the rank correlation of a number, and whether the runs are equal in the other settings.

    It is that of runs that are otherwise equal if there are enough of them, or else of all runs. few: any number of
    such runs is enough, so that its sign is that of the levels.
    """
    numbers = runs.numbers[name]
    known = np.isfinite(numbers)
    if known.sum() < _FEWEST:
        return None, False
    numbers, blocks = numbers[known], runs.strata[name][known]
    matched = blocked_spearman(numbers, results[known], blocks)
    if matched is not None and (few or matched.bound < 1):
        return matched, True
    return blocked_spearman(numbers, results[known], np.zeros_like(blocks)), not blocks.any()


def _effect_of_number(name: str, runs: MatchedRuns, results: Floats) -> SettingEffect | None:
    rank, is_matched = _rank(runs, name, results)
    if rank is None:
        return None
    varies_with = () if is_matched else runs.correlated_with(name)
    noise = "rest" if is_matched else "settings"
    return SettingEffect(name, (), rank, rank.count, rank.rho**2, rank.is_beyond_chance, noise, varies_with)
