"""Ranks that compute longer than the others."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.model.ranks import Straggler
from tuimon.ranks.stragglers import find_stragglers


def _stragglers(
    steps: int, ranks: int = 16, slow: float = 1.0, since: int = 0, noise: float = 0.01, always: float = 1.0
) -> list[Straggler]:
    times = 0.3 * (1 + noise * np.random.default_rng(7).standard_normal((steps, ranks)))
    times[:, : ranks // 4] *= always
    times[since:, 5] *= slow
    return find_stragglers({step: dict(enumerate(map(float, row))) for step, row in enumerate(times)})


@pytest.mark.parametrize("noise", [0.01, 0.1])
@pytest.mark.parametrize("ranks", [8, 64])
def test_equal_ranks_are_not_accused(ranks: int, noise: float) -> None:
    for steps in (12, 30, 60, 150, 300):
        assert _stragglers(steps, ranks, noise=noise) == []


def test_slow_rank_is_named_with_its_first_step_and_cost() -> None:
    (straggler,) = _stragglers(200, slow=1.5, since=100)
    assert (straggler.rank, straggler.since) == (5, 100)
    assert straggler.excess == pytest.approx(0.5, abs=0.02)
    assert straggler.hours_lost == pytest.approx(100 * 0.15 * 15 / 3600, rel=0.1)
    assert straggler.sentence.startswith("rank 5 computes 50% longer than the others since step 100")


def test_begin_of_the_slowness_in_a_history_that_was_not_read() -> None:
    times = {step: dict.fromkeys(range(8), 0.3) for step in (*range(30), *range(2000, 2090))}
    for step, row in times.items():
        row[2] = 0.45 if step > 500 else 0.3
    [straggler] = find_stragglers(times)
    assert (straggler.after, straggler.since) == (29, 2000)
    assert "since a step between 29 and 2000" in straggler.sentence
    assert "at least" in straggler.sentence


def test_heavy_noise_is_judged_over_a_longer_window() -> None:
    noise = np.exp(0.3 * np.random.default_rng(3).standard_normal((300, 8)))
    times = {step: dict(enumerate(map(float, row))) for step, row in enumerate(0.3 * noise)}
    for step in range(40, 60):
        times[step][4] *= 1.6  # an expert that many tokens chose for 20 steps
    assert not any(find_stragglers(dict(list(times.items())[:last])) for last in range(60, 301, 20))
    slow = {step: {**row, 4: row[4] * 1.6} for step, row in times.items() if step >= 60}
    assert [straggler.rank for straggler in find_stragglers(times | slow)] == [4]


def test_layout_that_was_always_unequal_is_not_accused() -> None:
    assert _stragglers(300, ranks=64, always=1.08) == []


def test_few_steps_or_ranks_are_not_judged() -> None:
    assert _stragglers(5, slow=3) == []
    assert find_stragglers({step: {0: 0.1, 1: 0.9} for step in range(90)}) == []
