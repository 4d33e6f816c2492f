"""Statistics, smoothing and texts, compared with closed forms and independent computations."""

from __future__ import annotations

import math
import statistics as standard
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.analysis.run_cache import cached_until_doubled
from tuimon.analysis.smoothing import smooth
from tuimon.analysis.statistics import best, quantiles, statistics
from tuimon.monitor.local import LocalMonitor
from tuimon.store import Run
from tuimon.store.arrays import median

NAN, INF = float("nan"), float("inf")
FINITE = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@settings(max_examples=100, deadline=None)
@given(FINITE)
def test_statistics_equal_those_of_the_standard_library(values):
    result = statistics(np.array(values))
    assert result.mean == pytest.approx(standard.fmean(values), abs=1e-6)
    assert result.median == pytest.approx(standard.median(values), abs=1e-6)
    if len(values) > 1:
        assert result.deviation == pytest.approx(standard.stdev(values), rel=1e-6, abs=1e-6)
        assert result.variance == pytest.approx(standard.variance(values), rel=1e-6, abs=1e-6)
    else:
        assert result.deviation == 0


def test_statistics_of_odd_values():
    assert statistics(np.array([1.0, NAN, 3.0, INF, -INF])) == statistics(np.array([1.0, 3.0]))
    logged = [1.88441, 1.83179, 1.87214, 1.84461, 1.84273, 1.86206, 1.85563, 1.86139]
    assert statistics(np.array(logged)).mean == standard.fmean(logged) == 1.856845
    assert math.isnan(statistics(np.array([NAN])).median)
    largest = statistics(np.array([1e308, -1e308, 1e308]))
    assert math.isfinite(largest.mean)
    assert math.isfinite(largest.deviation)


def test_best():
    steps, values = np.array([10, 20, 30, 40]), np.array([NAN, 2.0, 1.0, INF])
    assert best(steps, values, "lower") == (30, 1.0)
    assert best(steps, values, "higher") == (20, 2.0)
    assert best(steps[:1], values[:1], "lower") is None
    with pytest.raises(ValueError, match="direction"):
        best(steps, values, "up")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.one_of(st.floats(-100, 100), st.sampled_from([NAN, INF, -INF])), max_size=300),
    st.sampled_from([0.0, 0.3, 0.9, 0.99, 0.9999]),
)
def test_smoothing_equals_its_recursion(values, weight):
    expected, state, seen = [], 0.0, 0
    for value in values:
        if not math.isfinite(value):
            expected.append(NAN)
            continue
        seen += 1
        state = weight * state + (1 - weight) * value
        expected.append(state / (1 - weight**seen))
    np.testing.assert_allclose(smooth(np.array(values), weight), expected, rtol=1e-9, atol=1e-9)


def test_smoothing_keeps_a_constant():
    np.testing.assert_allclose(smooth(np.full(100_000, 3.5), 0.999), 3.5, rtol=1e-12)


@pytest.mark.parametrize("weight", [-0.1, 1.0, NAN])
def test_invalid_smoothing_weight(weight):
    with pytest.raises(ValueError, match="weight"):
        smooth(np.ones(3), weight)


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=300), st.floats(0, 1))
def test_medians_and_quantiles_equal_those_of_numpy(values: list[float], part: float) -> None:
    array = np.array(values)
    assert median(array) == np.median(array)
    near = 1e-12 * float(np.abs(array).max())
    assert quantiles(array, part) == pytest.approx((float(np.quantile(array, part)),), rel=1e-12, abs=near)


def test_two_versions_of_a_run_do_not_evict_each_other(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    monitor, runs, computed = LocalMonitor([str(tmp_path)]), [], []

    @cached_until_doubled
    def names(run: Run) -> tuple[str, ...]:
        computed.append(run.metrics)
        return run.metrics

    for metric in ("loss", "kl", "lr"):
        with log.open("a") as file:
            file.writelines(f'{{"step": {step}, "{metric}": 1}}\n' for step in range(30))
        monitor.update()
        runs.append(monitor.snapshot().runs[0])
    for run in (*runs[:2] * 3, runs[2], runs[1], runs[2]):
        assert names(run) == run.metrics
    assert computed == [run.metrics for run in runs]
    assert names(runs[0]) == runs[0].metrics
    assert len(computed) == 4, "the oldest one is computed again"
