"""Causal rules: the points they use, when incidents are raised and cleared, and incremental computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.analysis.creep import Creep
from tuimon.analysis.incidents import Incident, Incidents, Rule
from tuimon.analysis.level_rules import AgainstSettled, AgainstStart, BlocksAgainstStart, FallFromStart
from tuimon.analysis.rules import Flat, FromBest, LocalSpike, Runaway, Spike, Threshold
from tuimon.analysis.windows import local, median_of_blocks, median_of_nine, medians, settled, usual
from tuimon.model.points import Floats

RULES: tuple[Rule, ...] = (
    Threshold(0.8, 0.5, 2, 3),
    Threshold(0.8, 0.5, 2, 3, smooth=True, skip=20),
    Threshold(-0.5, 0.0, 3, 2, below=True),
    Spike(4.0, 1.5),
    LocalSpike(4.0, 3.0, local_ratio=1.2, extremes=2.0),
    Runaway(2.0, 1.5, 1.2),
    AgainstStart(1.5, 1.2, baseline=20, skip=5),
    AgainstStart(1.5, 1.2, falls=True),
    BlocksAgainstStart(1.3, 1.1, baseline=20, skip=5),
    BlocksAgainstStart(1.3, 1.1, baseline=50, falls=True),
    FallFromStart(1.0, 0.5, is_relative=False, baseline=10),
    AgainstSettled(1.3, 1.1, spread=2.0, floor=0.5),
    AgainstSettled(1.3, 1.1, spread=2.0, blocks=8, falls=True),
    FromBest(0.5, 0.3, rises=True),
    FromBest(0.5, 0.3, rises=False),
    Flat(30),
    Creep(0.02, 0.01),
    Creep(0.02, 0.01, 256, lowest_of=4),
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
    for rule in RULES:
        whole = Incidents().extended(values, rule)
        grown, end, turn = Incidents(), 0, 0
        while end < length:
            end = min(length, end + pieces[turn % len(pieces)])
            turn += 1
            grown = grown.extended(values[:end], rule)
        assert grown.incidents == whole.incidents, rule
        assert (grown.length, grown.bad) == (whole.length, whole.bad)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(40, 400))
def test_raised_incidents_stay_raised(seed: int, length: int) -> None:
    """Incidents found while a curve grows start at the same rows as those found later."""
    values = walk(seed, length)
    for rule in RULES:
        early, late = (Incidents().extended(values[:n], rule).incidents for n in (length * 2 // 3, length))
        assert [incident[:2] for incident in early] == [incident[:2] for incident in late][: len(early)]
        over = [incident for incident in early if incident.cleared is not None]
        assert list(late[: len(over)]) == over


def test_incident_is_raised_and_cleared_after_the_configured_points() -> None:
    rule = Threshold(limit=1.0, good=0.5, raise_after=3, clear_after=2)
    #                    0    1    2    3    4    5    6    7    8    9    10
    values = np.array([0.0, 1.2, 1.1, 1.0, 1.2, 1.1, 1.3, 0.7, 0.4, 0.7, 0.5, 0.3, 1.0])
    assert Incidents().extended(values[:6], rule).incidents == ()
    assert Incidents().extended(values[:8], rule).incidents == (Incident(4, 6, 7, None),)
    # 0.7 is between the limits: it neither raises nor counts as good. 1.0 and 0.5 equal a limit and are not beyond it.
    assert Incidents().extended(values, rule).incidents == (Incident(4, 6, 9, 11),)


def test_runaway_is_compared_with_the_level_when_it_began() -> None:
    values = np.concatenate((np.tile([1.0, 1.02, 0.98], 50), np.full(300, 9.0)))
    (incident,) = Incidents().extended(values, Runaway(4.0, 3.0, 3.0)).incidents
    assert 150 <= incident.first <= 155
    assert incident.cleared is None, "nine is no usual level, however long it lasts"
    (incident,) = Incidents().extended(np.concatenate((values, np.ones(40))), Runaway(4.0, 3.0, 3.0)).incidents
    assert incident.cleared is not None


@pytest.mark.parametrize("row", [60, 140, 300])
def test_spike_in_a_steep_fall_is_found_by_the_local_level_only(row: int) -> None:
    values = 2 + 8 * np.exp(-np.arange(400) / 60) + np.random.default_rng(2).normal(0, 0.03, 400)
    assert Incidents().extended(values, LocalSpike(12.0, 3.0)).incidents == ()
    values[row] *= 1.8
    assert Incidents().extended(values, Spike(12.0, 3.0)).incidents == ()
    assert [i.first for i in Incidents().extended(values, LocalSpike(12.0, 3.0)).incidents] == [row]


def test_values_no_farther_than_others_before_are_no_local_spikes() -> None:
    values = 2 + np.random.default_rng(3).normal(0, 0.01, 300)
    values[20:260:12] += 1.2
    rows = [i.first for i in Incidents().extended(values, LocalSpike(12.0, 3.0, clear_after=4)).incidents]
    assert rows == []
    rows = [i.first for i in Incidents().extended(values, LocalSpike(12.0, 3.0, clear_after=4, extremes=0.5)).incidents]
    assert len(rows) > 10


def test_slow_rise_is_a_creep_but_a_step_is_not() -> None:
    noise = np.random.default_rng(1).normal(0, 0.02, 600)
    step = np.where(np.arange(600) < 300, 10.0, 13.0) + noise
    slow = 10 + np.maximum(0, np.arange(600) - 200) * 0.01 + noise
    rule = Creep(0.1, 0.05)
    assert Incidents().extended(step, rule).incidents == ()
    assert len(Incidents().extended(slow, rule).incidents) == 1


@pytest.mark.parametrize("begin", [0, 3, 8, 100])
def test_median_of_nine(begin: int) -> None:
    values = np.random.default_rng(0).normal(size=160)
    wanted = [np.median(values[row - 8 : row + 1]) if row >= 8 else np.nan for row in range(begin, 160)]
    np.testing.assert_array_equal(median_of_nine(values, begin), wanted)


@pytest.mark.parametrize("begin", [0, 17, 32, 150, 399])
def test_usual_level_is_that_of_up_to_eight_whole_blocks_before(begin: int) -> None:
    values = walk(3, 400)
    result = usual(values, begin)
    for row in range(begin, 400):
        blocks = [values[16 * n : 16 * n + 16] for n in range(max(0, row // 16 - 8), row // 16)]
        if len(blocks) < 2:
            assert np.isnan(result.level[row - begin])
            continue
        middles = [np.median(block) for block in blocks]
        noises = [1.4826 * np.median(np.abs(b - m)) for b, m in zip(blocks, middles, strict=True)]
        assert result.level[row - begin] == pytest.approx(np.median(middles))
        assert result.noise[row - begin] == pytest.approx(np.median(noises))
        assert result.latest[row - begin] == pytest.approx(middles[-1])


@pytest.mark.parametrize("begin", [0, 17, 32, 150, 180, 399])
def test_local_level_and_extremes_are_those_of_distances_from_the_nine_points_before(begin: int) -> None:
    values = walk(4, 400)
    result = local(values, begin)
    distances = np.array([values[row] - np.median(values[row - 9 : row]) if row >= 9 else np.nan for row in range(400)])
    for row in range(begin, 400):
        blocks = [distances[16 * n : 16 * n + 16] for n in range(max(1, row // 16 - 8), row // 16)]
        if not blocks:
            assert np.isnan(result.level[row - begin])
            continue
        middles = [np.median(block) for block in blocks]
        extremes = [np.abs(b - m).max() for b, m in zip(blocks, middles, strict=True)]
        assert result.level[row - begin] == pytest.approx(values[row] - distances[row] + np.median(middles))
        extreme = sorted(extremes)[-2] if len(extremes) > 1 else 2 * extremes[0]
        assert result.extreme[row - begin] == pytest.approx(extreme)


@pytest.mark.parametrize("blocks", [4, 8])
@pytest.mark.parametrize("begin", [0, 17, 64, 150, 399])
def test_settled_level_is_that_of_whole_blocks_that_differ_little(begin: int, blocks: int) -> None:
    values = walk(3, 400)
    result = settled(values, begin, 1.5, blocks)
    for row in range(begin, 400):
        middles = [np.median(values[16 * n : 16 * n + 16]) for n in range(row // 16 - blocks, row // 16) if n >= 0]
        expected = np.median(middles) if len(middles) == blocks and max(middles) <= 1.5 * min(middles) else np.nan
        np.testing.assert_allclose(result[row - begin], expected)
    assert np.isfinite(settled(values, 0, 1.5, blocks)).any()


@pytest.mark.parametrize("begin", [0, 17, 64, 150, 399])
def test_median_of_blocks_is_that_of_the_whole_blocks_before(begin: int) -> None:
    values = walk(4, 400)
    result = median_of_blocks(values, begin, 3)
    for row in range(begin, 400):
        before = values[max(0, 16 * (row // 16) - 48) : 16 * (row // 16)]
        np.testing.assert_allclose(result[row - begin], np.median(before) if len(before) == 48 else np.nan)


def test_medians_of_segments_exclude_values_that_are_not_finite() -> None:
    values = np.array([1.0, np.nan, 3.0, 10.0, np.inf, 6.0, 7.0])
    begins, ends = np.array([0, 0, 1, 3, 4]), np.array([0, 3, 2, 7, 7])
    np.testing.assert_array_equal(medians(values, begins, ends, 3), [np.nan, 2.0, np.nan, 6.5, 6.5])
