"""Runs side by side, with every number worked out a second time, without the code under test."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis import comparing
from tuimon.store import Curve


def curve(values: list[float], steps: list[int] | None = None) -> Curve:
    return Curve.of("m", np.array(steps or range(len(values)), np.int64), np.array(values, np.float64))


def test_only_the_settings_that_differ_with_what_is_missing_told() -> None:
    a = {"optim": {"lr": 1e-3, "beta": 0.9}, "seed": 1, "same": [1, 2], "count": 1, "nan": math.nan, "nothing": None}
    b = {"optim": {"lr": 1e-4, "beta": 0.9}, "same": [1, 2], "count": 1.0, "nan": math.nan, "flag": True}
    found = {one.key: one.values for one in comparing.setting_differences([a, b])}
    absent = comparing.ABSENT
    expected = {"optim.lr": (1e-3, 1e-4), "seed": (1, absent), "nothing": (None, absent), "flag": (absent, True)}
    assert found == expected
    assert comparing.setting_differences([a, a]) == ()
    assert [one.key for one in comparing.setting_differences([{"x": 1}, {"x": True}])] == ["x"], "a flag is no number"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.integers(0, 250))
def test_a_level_is_mean_and_deviation_of_the_last_tenth(values: list[float], until: int) -> None:
    inside = values[: until + 1]
    window = inside[-max(math.ceil(Fraction(len(inside), 10)), 5) :]
    found = comparing.level(curve(values), until)
    assert found is not None
    assert (found.step, found.count) == (len(inside) - 1, len(window))
    assert found.mean == pytest.approx(statistics.fmean(window), rel=1e-9, abs=1e-6)
    expected = statistics.stdev(window) if len(window) > 1 else 0.0
    assert found.deviation == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_level_leaves_out_what_is_not_finite() -> None:
    found = comparing.level(curve([9.0, 9.0, 1.0, math.nan, 2.0, math.inf, 3.0]))
    assert found == comparing.Level(6, 2.0, 1.0, 3)
    assert comparing.level(curve([math.nan])) is None
    assert comparing.level(curve([1.0]), until=-1) is None


def test_levels_and_deltas_stop_where_the_shorter_run_does() -> None:
    long, short = curve([0.1 * i for i in range(100)]), curve([0.05 * i for i in range(50)])
    one, other = comparing.levels([long, short])
    assert one is not None
    assert other is not None
    assert one.step == other.step == 49
    assert one.mean == pytest.approx(sum(0.1 * i for i in range(45, 50)) / 5)
    delta = comparing.delta_to(long, short)
    assert delta is not None
    assert (delta.step, delta.value, delta.base) == (49, pytest.approx(4.9), pytest.approx(2.45))
    assert delta.difference == pytest.approx(2.45)
    assert comparing.delta_to(curve([1.0], [5]), curve([1.0, 2.0], [7, 9])) is None, "no step in common"
    assert comparing.delta_to(curve([]), short) is None
    assert comparing.levels([None, short])[0] is None


def test_the_distance_of_two_levels_is_in_pooled_deviations() -> None:
    a, b = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]
    one, other = comparing.level(curve(a)), comparing.level(curve(b))
    assert one is not None
    assert other is not None
    pooled = math.sqrt((4 * statistics.variance(a) + 4 * statistics.variance(b)) / 8)
    assert comparing.spread_apart(one, other) == pytest.approx(3.0 / pooled)
    flat = comparing.Level(1, 1.0, 0.0, 5)
    assert comparing.spread_apart(flat, comparing.Level(1, 2.0, 0.0, 5)) == math.inf
    assert comparing.spread_apart(flat, flat) == 0.0
    assert math.isnan(comparing.spread_apart(flat, comparing.Level(1, 1.0, 0.0, 1)))


GROUPS: list[tuple[list[tuple[str, dict[str, Any]]], tuple[tuple[int, ...], ...]]] = [
    ([("ppo_seed0", {}), ("ppo_seed1", {}), ("ppo_long_seed0", {})], ((0, 1),)),
    ([("s1/ppo", {}), ("s2/ppo", {}), ("s2/sac", {}), ("s3/sac", {})], ((0, 1), (2, 3))),
    ([("fluffy-3", {"lr": 1, "seed": 1}), ("royal-4", {"lr": 1, "seed": 2}), ("x", {"lr": 2, "seed": 3})], ((0, 1),)),
    (
        [
            ("a-1", {"train": {"seed": 1}, "out": "runs/a-1/seed_1"}),
            ("a-2", {"train": {"seed": 2}, "out": "runs/a-2/seed_2"}),
        ],
        ((0, 1),),
    ),
    ([("ppo", {"lr": 1}), ("ppo2", {"lr": 1})], ()),
    ([("ppo_seed0", {"lr": 1}), ("ppo_seed1", {"lr": 2})], ()),
    ([("steps100", {}), ("steps200", {})], ()),
]


@pytest.mark.parametrize(("runs", "expected"), GROUPS)
def test_runs_that_differ_only_in_their_seed(
    runs: list[tuple[str, dict[str, Any]]], expected: tuple[tuple[int, ...], ...]
) -> None:
    assert comparing.seed_groups([comparing.seedless(name, config) for name, config in runs]) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["grpo_lr1e-3", "grpo_lr1e-4"], ("lr1e-3", "lr1e-4")),
        (["out/ppo_a/tb", "out/ppo_b/tb"], ("a", "b")),
        (["ppo", "ppo_long"], ("ppo", "ppo_long")),
        (["x", "x"], ("x", "x")),
        (["only"], ("only",)),
        (["run-10-a", "run-11-a", "run-12-b"], ("10-a", "11-a", "12-b")),
        (["", "b"], ("", "b")),
    ],
)
def test_names_are_as_short_as_tells_them_apart(names: list[str], expected: tuple[str, ...]) -> None:
    assert comparing.telling_names(names) == expected


@given(st.lists(st.text("ab-_/1e", max_size=8), max_size=6, unique=True))
def test_short_names_tell_apart_whatever_tells_apart(names: list[str]) -> None:
    short = comparing.telling_names(names)
    assert len(set(short)) == len(names)
    assert all(one in name for one, name in zip(short, names, strict=True))
