"""Test how results depend on settings, with results that are made of known effects and noise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tuimon.analysis.comparing import MISSING
from tuimon.analysis.setting_effects import setting_effects


def grid(noise: float, seed: int = 0) -> tuple[list[tuple[str, tuple[Any, ...]]], list[float]]:
    """Return settings of a grid of 16 runs, and results: +0.5 for lr, +0.05 for batch, best momentum in the middle."""
    chance = np.random.default_rng(seed)
    runs = list(itertools.product((1e-6, "5e-6"), (64, 256), (1, 2, 3, 4)))
    results = [0.5 * (lr == "5e-6") + 0.05 * (batch == 256) + chance.normal(0, noise) for lr, batch, _ in runs]
    lr, batch, seeds = zip(*runs, strict=True)
    return [("lr", lr), ("batch", batch), ("seed", seeds), ("algo", ("a", "b") * 8)], results


def test_grid_has_the_mean_of_each_value_and_the_noise_of_the_seeds() -> None:
    settings, results = grid(0.01)
    lr, batch, algo = setting_effects(settings, results)
    assert [lr.name, batch.name, algo.name] == ["lr", "batch", "algo"]
    assert [mean.value for mean in lr.values] == ["5e-6", 1e-6]
    assert [mean.runs for mean in lr.values] == [8, 8]
    assert lr.values[0].mean == pytest.approx(np.mean(results[8:]))
    # The deviation of one run is 0.01, although the other setting moves the runs with one lr by 0.05.
    assert 0.002 < lr.values[0].error < 0.006
    assert lr.is_beyond_noise
    assert batch.is_beyond_noise, "an effect of 0.05 in spite of the 0.5 of the other setting"
    assert not algo.is_beyond_noise
    assert algo.line.endswith("; noise explains this")
    assert lr.line.startswith("lr: 0.5")
    assert " at 5e-6 (8 runs), 0.0" in lr.line


def test_an_optimum_between_the_ends_is_the_first_value_also_of_losses() -> None:
    rates = (1e-4, 3e-4, 1e-3, 3e-3)
    results = [accuracy + shift for accuracy in (0.81, 0.85, 0.896, 0.857) for shift in (0.0, 0.003, -0.003)]
    values = tuple(rate for rate in rates for _ in range(3))
    [effect] = setting_effects([("lr", values)], results)
    assert (effect.values[0].value, effect.is_beyond_noise) == (1e-3, True)
    [effect] = setting_effects([("lr", values)], [-result for result in results], higher=False)
    assert effect.values[0].value == 1e-3


def test_noise_is_called_an_effect_in_about_5_percent_of_the_sweeps() -> None:
    values = tuple(value for value in (1, 2, 3, 4) for _ in range(3))
    chance = np.random.default_rng(1)
    sweeps = [setting_effects([("x", values)], chance.normal(size=12).tolist()) for _ in range(1000)]
    assert 0.02 < np.mean([effect.is_beyond_noise for [effect] in sweeps]) < 0.07


def test_settings_that_are_not_combined_evenly_have_the_spread_of_the_runs_as_noise() -> None:
    other = (1, 1, 1, 2, 2, 2, 2, 2)
    results = [0.0, 0.1, 0.2, 1.0, 1.1, 1.2, 1.3, 1.4]
    first, second = setting_effects([("a", (1, 1, 1, 1, 2, 2, 2, 2)), ("b", other)], results)
    assert {first.name, second.name} == {"a", "b"}
    effect = first if first.name == "b" else second
    within = [*(np.array(results[:3]) - 0.1), *(np.array(results[3:]) - 1.2)]
    assert effect.values[0].error == pytest.approx(math.sqrt(np.square(within).sum() / 6 / 5))


def test_a_number_with_many_values_has_a_rank_correlation() -> None:
    rates, results = [10.0**-number for number in range(8)], [8.0, 7, 6, 5, 4, 3, 1, 2]
    [effect] = setting_effects([("lr", rates)], results)
    assert effect.line == "lr: rank correlation +0.98 (8 runs)"
    [effect] = setting_effects([("lr", [1.0, 5, 2, 6, 3, 7, 4, 8])], results)
    assert effect.line.endswith("; noise explains this")


def test_seeds_outputs_and_unknown_results_have_no_effect() -> None:
    settings, results = grid(0.01)
    left_out = [
        ("train.seed", (1, 2) * 8),
        ("output_dir", ("x", "y") * 8),
        ("name", tuple(map(str, "abcdefghijklmnop"))),
    ]
    assert setting_effects(left_out, results) == ()
    assert setting_effects(settings[:1], [None, math.nan, math.inf, *[None] * 10, 1.0, 2.0, 3.0]) == ()
    partly = [("lr", (MISSING, *settings[0][1][1:]))]
    assert [sum(mean.runs for mean in effect.values) for effect in setting_effects(partly, results)] == [15]
    [effect] = setting_effects(settings[:1], [result * 1e300 for result in results])
    assert effect.is_beyond_noise
    assert math.isfinite(effect.values[0].error)
