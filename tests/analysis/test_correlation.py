"""Test pairs of two metrics and their correlation against other ways to compute them."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from tuimon.analysis.correlation import (
    correlation_words,
    pairs,
    pearson,
    spearman,
)
from tuimon.store import Curve


def curve(steps: list[int], values: list[float]) -> Curve:
    return Curve.from_arrays("m", np.array(steps, np.int64), np.array(values), np.full(len(steps), np.nan))


@pytest.mark.parametrize("seed", range(5))
def test_correlation_equals_that_of_the_standard_library(seed: int) -> None:
    chance = np.random.default_rng(seed)
    x = chance.normal(size=50).round(1)  # equal values have their mean rank
    y = (x + chance.normal(size=50)).round(1)
    assert pearson(x, y) == pytest.approx(statistics.correlation(x.tolist(), y.tolist()), abs=1e-12)
    one, other = (
        [sum(b < a for b in part) + (sum(b == a for b in part) + 1) / 2 for a in part]
        for part in (x.tolist(), y.tolist())
    )
    assert spearman(x, y) == pytest.approx(statistics.correlation(one, other), abs=1e-12)


def test_correlation_of_extreme_and_of_few_values() -> None:
    x = np.array([1e300, 2e300, 3e300])
    assert pearson(x, -x) == pytest.approx(-1)
    assert spearman(x, np.exp(x / 1e300)) == pytest.approx(1)
    assert math.isnan(pearson(x, np.ones(3)))
    assert math.isnan(spearman(x[:2], x[:2]))
    assert correlation_words(x[:2], x[:2]) == "r -  rho -  n 2"
    tiny = np.array([0.0, 5e-324, 1e-323])
    assert pearson(tiny, tiny) == pytest.approx(1)


def test_pairs_are_of_equal_steps_the_last_value_at_a_step_and_finite() -> None:
    found = pairs(curve([1, 2, 2, 3, 5, 6], [1, 2, 20, 3, 5, math.inf]), curve([2, 3, 4, 5, 6], [7, math.nan, 8, 9, 1]))
    assert found.steps.tolist() == [2, 5]
    assert found.x.tolist() == [20, 5]
    assert found.y.tolist() == [7, 9]


def test_values_without_steps_are_not_paired() -> None:
    assert not len(pairs(curve([0, 0, 0], [1, 2, 3]), curve([0, 1, 2], [1, 2, 3])).steps)
