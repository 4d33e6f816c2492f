"""Paired differences of settings, worked out again from the runs of a sweep."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tuimon.analysis.comparing import MISSING
from tuimon.analysis.setting_effects import setting_effects

GRID = tuple(itertools.product((1e-6, 5e-6), (64, 256), (1, 2)))
SETTINGS: list[tuple[str, Any]] = list(zip(("lr", "batch", "seed"), zip(*GRID, strict=True), strict=True))


def results(lr: float, batch: float, noise: float = 0.001) -> list[float]:
    random = np.random.default_rng(3)
    return [0.5 + lr * (a == 5e-6) + batch * (b == 256) + random.normal(0, noise) for a, b, _ in GRID]


def test_settings_are_sorted_by_their_paired_differences() -> None:
    values = results(0.2, -0.05)
    lr, batch = setting_effects(SETTINGS, values)
    assert (lr.name, lr.best, lr.worst, lr.pairs, lr.beyond_noise) == ("lr", 5e-6, 1e-6, 4, True)
    assert (batch.name, batch.best, batch.worst, batch.pairs) == ("batch", 64, 256, 4)
    pairs = [values[i + 4] - values[i] for i in range(4)]
    assert lr.difference.value == pytest.approx(np.mean(pairs))
    assert lr.difference.error == pytest.approx(np.std(pairs, ddof=1) / 2)
    assert [effect.best for effect in setting_effects(SETTINGS, values, higher=False)] == [1e-6, 256]


def test_one_pair_proves_nothing() -> None:
    (effect,) = setting_effects([("lr", (1, 2, 3))], [0.1, 0.9, 0.5])
    assert (effect.best, effect.worst, effect.pairs, effect.beyond_noise) == (2, 1, 1, False)
    assert math.isnan(effect.difference.error)


def test_settings_that_vary_together_have_no_pairs() -> None:
    assert setting_effects([("lr", (1, 2, 1, 2)), ("beta", (3, 4, 3, 4))], [0.1, 0.2, 0.1, 0.2]) == ()


def test_texts_are_settings_unless_each_run_has_its_own() -> None:
    settings: list[tuple[str, Any]] = [
        ("method", ("grpo", "dapo", "grpo", "dapo")),
        ("output_dir", ("a", "b", "c", "d")),
        ("tag", ("w", "x", "y", "z")),
        ("seed", (1, 1, 2, 2)),
        ("extra", (MISSING, MISSING, True, True)),
    ]
    effects = setting_effects(settings, [0.1, 0.2, 0.11, 0.21])
    assert [(effect.name, effect.best, effect.pairs) for effect in effects] == [
        ("method", "dapo", 2),
        ("extra", True, 2),
    ]
    assert effects[1].worst is None


def test_runs_without_a_result_are_left_out() -> None:
    (effect,) = setting_effects([("lr", (1, 2, 1, 2)), ("seed", (1, 1, 2, 2))], [0.1, 0.2, None, math.nan])
    assert effect.pairs == 1


def test_numbers_are_equal_however_they_are_written() -> None:
    (effect,) = setting_effects([("lr", (1e-5, "1e-5", 1e-4, "1e-4"))], [0.1, 0.1, 0.2, 0.2])
    assert (float(effect.best), effect.pairs) == (1e-4, 2)


def test_noise_is_called_an_effect_in_at_most_2_percent_of_the_sweeps() -> None:
    random = np.random.default_rng(5)
    found = [setting_effects(SETTINGS, random.normal(0, 1, 8).tolist()) for _ in range(400)]
    assert np.mean([any(effect.beyond_noise for effect in effects) for effects in found]) < 0.04
