"""hinge(), onset(), split(), sudden_change(): where a level begins to grow, and where it changes."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.analysis.onset import hinge, onset, split, sudden_change


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


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("before", [40, 200, 3000])
@pytest.mark.parametrize("final", [30.0, 0.04])
def test_onset_of_values_that_leave_their_level_at_once_or_gradually(final: float, before: int, noise: float) -> None:
    """Compare medians of the errors of 9 draws."""
    random = np.random.default_rng([before, int(1 / noise)])
    rows = np.arange(1, 9) / 10
    courses = {"jump": np.full(8, final), "line": 1 + (final - 1) * rows, "exponential": final**rows}
    errors: dict[str, list[int]] = {name: [] for name in courses}
    for name, course in courses.items():
        for _ in range(9):
            values = np.concatenate((np.ones(before), course))
            values *= 1 + noise * random.standard_normal(len(values))
            index = onset(values, falls=final < 1)
            assert index is not None
            errors[name].append(index - before)
    medians = {name: abs(float(np.median(of_draws))) for name, of_draws in errors.items()}
    assert medians["jump"] == 0
    assert max(medians.values()) <= (1 if noise == 0.01 else 3)


@pytest.mark.parametrize("count", [290, 400, 500])
def test_onset_near_the_end_is_exact_although_values_were_averaged(count: int) -> None:
    values = 1 + 0.01 * np.random.default_rng(count).standard_normal(count)
    values[-61:] += 0.5
    assert onset(values) == count - 61


def test_onset_of_long_growth_and_of_noise() -> None:
    random = np.random.default_rng(7)
    growth = np.concatenate((np.ones(3000), 1.002 ** np.arange(1000))) * (1 + 0.05 * random.standard_normal(4000))
    index = onset(growth)
    assert index is not None
    assert abs(index - 3000) <= 50
    for count in (4, 9, 100):
        assert onset(1 + 0.1 * random.standard_normal(count)) is None
        assert onset(np.linspace(1, 5, count)) is None


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
