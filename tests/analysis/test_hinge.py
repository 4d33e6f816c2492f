"""hinge(): where a level begins to grow."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.analysis.hinge import hinge


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
