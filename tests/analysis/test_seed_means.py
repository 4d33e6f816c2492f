"""The verdict about runs that differ only in their seed, with means and errors worked out from the levels."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tuimon.analysis.compared_metric import ComparedMetric, compared_metric
from tuimon.analysis.level import Level
from tuimon.analysis.seed_means import best_of_seeds
from tuimon.analysis.verdict import verdict
from tuimon.store import Curve
from tuimon.vocabulary import classify

CELLS = tuple(itertools.product((1e-6, 3e-6), (0.01, 0.1), (1, 2, 3)))
SETTINGS: list[tuple[str, Sequence[Any]]] = list(zip(("lr", "beta", "seed"), zip(*CELLS, strict=True), strict=True))
NAMES = [f"lr{lr:g}_b{beta}_s{seed}" for lr, beta, seed in CELLS]


def of_levels(name: str, values: Sequence[float], error: float = 0.001) -> ComparedMetric:
    return ComparedMetric(name, classify(name), tuple(Level(value, error, error, 20) for value in values))


def results(gap: float, spread: float = 0.01) -> list[float]:
    return [1.5 + gap * (lr > 2e-6) - 0.2 * (beta > 0.05) + spread * (seed - 2) for lr, beta, seed in CELLS]


def test_the_best_settings_are_named_with_the_error_of_the_means() -> None:
    metric = of_levels("reward", results(0.1))
    means = best_of_seeds(metric, SETTINGS)
    assert means is not None
    assert (means.best, means.next, means.groups, means.step) == ((6, 7, 8), (0, 1, 2), 4, None)
    assert means.difference == pytest.approx(0.1)
    noise = math.sqrt(sum(float(np.var((-0.01, 0, 0.01))) * 3 for _ in range(4)) / 8)
    assert means.error == pytest.approx(noise * math.sqrt(2 / 3))
    sentence = verdict(NAMES, [metric], SETTINGS)  # type: ignore[arg-type]
    assert re.sub(r"0\.10+ ", "0.1 ", sentence) == (
        "lr3e-06_b0.01 (3 seeds) is ahead of lr1e-06_b0.01 (3 seeds), the next of 4 combinations of settings:"
        " mean reward +0.1 ± 0.00816; lr 3 times higher"
    )
    loss = of_levels("eval/loss", [-value for value in results(0.1)])
    assert verdict([f"run{i}" for i in range(12)], [loss], SETTINGS).startswith(  # type: ignore[arg-type]
        "run6 with 2 other seeds is ahead of run0 with 2 other seeds, the next of 4 combinations of settings:"
        " mean loss (val) -0.100"
    )


def test_seeds_that_differ_as_much_explain_a_difference() -> None:
    sentence = verdict(NAMES, [of_levels("reward", results(0.01))], SETTINGS)  # type: ignore[arg-type]
    assert sentence == (
        "No combination of settings is ahead: mean reward of lr3e-06_b0.01 (3 seeds) and lr1e-06_b0.01 (3 seeds)"
        " differs by 0.0100 ± 0.00816, which noise explains"
    )
    noisy = best_of_seeds(of_levels("reward", results(0.1), error=0.1), SETTINGS)
    assert noisy is not None
    assert noisy.error == pytest.approx(0.1 * math.sqrt(2 / 3)), "the curves have more noise than the seeds"
    assert not noisy.is_beyond_noise


def test_runs_without_equal_settings_and_seeds_are_compared_one_by_one() -> None:
    metric = of_levels("reward", results(0.1))
    assert best_of_seeds(metric, SETTINGS[:2]) is None, "without seeds equal settings do not explain themselves"
    assert best_of_seeds(metric, SETTINGS[2:]) is None, "all runs are one group"
    assert best_of_seeds(metric, [("lr", [*range(12)]), ("seed", [*range(12)])]) is None


def test_runs_of_different_projects_are_no_seeds_of_each_other() -> None:
    metric = of_levels("eval/loss", (0.675, 0.7, 0.704))
    settings = [("batch_size", (16, 16, 32)), ("seed", (1, 2, 1))]
    names = ("sft/run18", "grpo/run18", "sft/run04")
    assert best_of_seeds(metric, settings, ("sft", "grpo", "sft")) is None
    assert verdict(names, [metric], settings, "step", ("sft", "grpo", "sft")).startswith(
        "sft/run18 is ahead of grpo/run18, the next of 3 runs: loss (val) -0.02"
    )
    means = best_of_seeds(of_levels("reward", results(0.1)), SETTINGS, ["a", "b"] * 6)
    assert means is not None
    assert means.groups == 8


def test_all_levels_are_taken_up_to_the_step_that_all_runs_have_reached() -> None:
    curves = [
        Curve.from_arrays("reward", np.arange(end), np.arange(end) * rate + np.arange(end) % 3)
        for rate, end in ((1.0, 200), (1.0, 200), (1.5, 120), (1.5, 200))
    ]
    metric = compared_metric("reward", classify("reward"), curves)
    means = best_of_seeds(metric, [("lr", (1, 1, 2, 2)), ("seed", (1, 2, 1, 2))])
    assert means is not None
    assert (means.best, means.step) == ((2, 3), 119)
    assert means.difference == pytest.approx(0.5 * np.arange(108, 120).mean())
