"""hinge(), split(), sudden_change(): where a level begins to grow, and where it changes."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.analysis.onset import hinge, split, sudden_change


@pytest.mark.parametrize("onset", [0, 40, 150, 300])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_onset_of_a_rising_line(onset: int, noise: float) -> None:
    random = np.random.default_rng(onset)
    values = 18 + 0.05 * np.maximum(0, np.arange(400) - onset) + noise * random.standard_normal(400)
    assert abs(hinge(values) - onset) <= (8 if noise else 4)


def test_warm_up_is_not_part_of_the_growth() -> None:
    values = 18 + 0.05 * np.arange(400.0)
    values[:5] = 6.0
    assert hinge(values) == 5


@pytest.mark.parametrize("index", [20, 100, 380])
def test_sudden_change_has_the_medians_of_both_levels(index: int) -> None:
    values = np.concatenate((np.full(index, 12.0), np.full(400 - index, 24.0)))
    values *= 1 + 0.05 * np.random.default_rng(index).standard_normal(400)
    values[[0, 200]] = 500.0, np.nan  # a slow first step, and a gap
    assert split(np.where(np.isfinite(values), values, 12.0).clip(0, 30)) == index
    change = sudden_change(values, 12.0, 24.0)
    assert change is not None
    assert change.index == index
    assert (change.before, change.after) == (np.nanmedian(values[:index]), np.nanmedian(values[index:]))


def test_gradual_change_is_not_sudden() -> None:
    noise = 0.5 * np.random.default_rng(4).standard_normal(400)
    assert sudden_change(np.linspace(12, 24, 400) + noise, 12.0, 24.0) is None
    late = np.concatenate((np.full(200, 12.0), np.linspace(12, 24, 200)))
    assert sudden_change(late + noise, 12.0, 24.0) is None
    assert sudden_change(np.full(400, 12.0), 12.0, 12.0) is None
