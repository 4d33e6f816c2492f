"""The autocorrelation of the noise of a curve, against known processes."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.analysis.autocorrelation import autocorrelation


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.7, 0.9])
def test_the_autocorrelation_of_noise_about_a_trend(rho: float) -> None:
    random, times = np.random.default_rng(1), np.linspace(0, 1, 400)
    noise = random.normal(0.0, 1.0, (50, 400))
    for step in range(1, 400):
        noise[:, step] = rho * noise[:, step - 1] + np.sqrt(1 - rho**2) * noise[:, step]
    estimates = [autocorrelation(3 - 2 * times + times**2 + own) for own in noise]
    assert np.mean(estimates) == pytest.approx(rho, abs=0.05)


def test_few_values_and_values_on_a_trend_have_none() -> None:
    times = np.linspace(0, 1, 60)
    assert autocorrelation(1 + times**3) == 0
    assert autocorrelation(np.full(60, 0.1)) == 0
    assert autocorrelation(np.zeros(60)) == 0
    assert autocorrelation(np.sin(40 * times)[:15]) == 0
    assert autocorrelation(np.sin(40 * times)) > 0.5
