"""Causal rules: the points they use, when incidents are raised and cleared, and incremental computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.analysis.windows import median_of_nine, usual
from tuimon.detectors._incidents import Incidents
from tuimon.detectors._scores import Best, Creep, Limit, Score, Spike, Start, Usual
from tuimon.model.points import Floats

SCORES: tuple[Score, ...] = (
    Limit(limit=0.8, raise_after=2, clear_after=3),
    Limit(limit=0.8, raise_after=2, clear_after=3, smooth=True, skip=20),
    Limit(limit=-0.5, raise_after=3, clear_after=2, falls=True),
    Spike(ratio=1.2, extremes=2.0),
    Start(raise_after=2, ratio=1.5, skip=5),
    Start(raise_after=2, falls=True, ratio=0.7),
    Usual(ratio=1.2, deviations=1.0, sudden=1.1),
    Best(raise_after=3, falls=True, falls_by=0.3, early=1.0, skip=3),
    Creep(part=0.02),
)


def walk(seed: int, length: int) -> Floats:
    """Return noise around a level that drifts, jumps and spikes."""
    rng = np.random.default_rng(seed)
    level = (
        2 + np.cumsum(rng.normal(0, 0.05, length)) + (np.arange(length) > rng.integers(0, length)) * rng.normal(0, 3)
    )
    return np.asarray(level + rng.standard_t(2, length) * rng.uniform(0.01, 0.5))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 500), st.lists(st.integers(1, 90), min_size=1, max_size=8))
def test_incremental_results_equal_those_of_the_whole(seed: int, length: int, pieces: list[int]) -> None:
    values = walk(seed, length)
    for score in SCORES:
        whole = Incidents().extended(values, score)
        grown, end, turn = Incidents(), 0, 0
        while end < length:
            end = min(length, end + pieces[turn % len(pieces)])
            turn += 1
            grown = grown.extended(values[:end], score)
        assert grown.incidents == whole.incidents, score
        assert (grown.length, grown.streak) == (whole.length, whole.streak)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(40, 400))
def test_raised_incidents_stay_raised(seed: int, length: int) -> None:
    """Incidents found while a curve grows start at the same rows as those found later."""
    values = walk(seed, length)
    for score in SCORES:
        early, late = (Incidents().extended(values[:n], score).incidents for n in (length * 2 // 3, length))
        assert [incident[:2] for incident in early] == [incident[:2] for incident in late][: len(early)]
        over = [incident for incident in early if incident.cleared is not None]
        assert list(late[: len(over)]) == over


def test_incident_is_raised_and_cleared_after_the_configured_points() -> None:
    score = Limit(limit=1.0, raise_after=3, clear_after=2)
    #                    0    1    2    3    4    5    6    7    8    9    10
    values = np.array([0.0, 1.2, 1.1, 1.0, 1.2, 1.1, 1.3, 0.7, 1.4, 0.7, 1.0, 1.3])
    assert Incidents().extended(values[:6], score).incidents == ()
    assert Incidents().extended(values[:8], score).incidents[0][:4] == (4, 6, 6, None)
    # 1.0 equals the limit and is not beyond it
    assert Incidents().extended(values, score).incidents[0][:4] == (4, 6, 8, 10)


def test_a_level_is_compared_with_the_level_when_it_began() -> None:
    values = np.concatenate((np.tile([1.0, 1.02, 0.98], 50), np.full(300, 9.0)))
    (incident,) = Incidents().extended(values, Usual(ratio=3.0)).incidents
    assert 150 <= incident.first <= 155
    assert incident.cleared is None, "nine is no usual level, however long it lasts"
    (incident,) = Incidents().extended(np.concatenate((values, np.ones(40))), Usual(ratio=3.0)).incidents
    assert incident.cleared is not None


@pytest.mark.parametrize("begin", [0, 3, 8, 100])
def test_median_of_nine(begin: int) -> None:
    values = np.random.default_rng(0).normal(size=160)
    wanted = [np.median(values[row - 8 : row + 1]) if row >= 8 else np.nan for row in range(begin, 160)]
    np.testing.assert_array_equal(median_of_nine(values, begin), wanted)


@pytest.mark.parametrize("begin", [0, 1, 47, 48, 300])
def test_usual_level_is_the_median_of_up_to_eight_whole_blocks_before(begin: int) -> None:
    values = walk(3, 400)
    level = usual(values, begin).level
    for row in range(begin, 400, 7):
        blocks = [np.median(values[n : n + 16]) for n in range(max(0, row // 16 - 8) * 16, row // 16 * 16, 16)]
        if len(blocks) < 2:
            assert np.isnan(level[row - begin])
        else:
            assert level[row - begin] == pytest.approx(np.median(blocks))


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (np.random.default_rng(6).standard_normal(4000), 0.2, 0.5),
        (np.cumsum(np.random.default_rng(6).standard_normal(4000)), 1.5, 5.5),
        (np.arange(4000.0), 0.0, 1e-9),
    ],
    ids=["independent", "wandering", "trend"],
)
def test_noise_of_the_usual_level(values: Floats, low: float, high: float) -> None:
    assert low <= np.median(usual(values, 1000).noise) <= high


def test_a_level_of_zero_that_has_not_moved_has_no_limit() -> None:
    values = np.concatenate((np.zeros(60), np.full(40, -0.02)))
    assert not Incidents().extended(values, Best(falls=True)).incidents
