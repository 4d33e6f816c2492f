"""Rows of runs and of groups of seeds, their levels and differences worked out again, and the first line about them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tuimon.analysis.comparison_axis import STEPS, ComparisonAxis
from tuimon.analysis.comparison_rows import Measured, MetricRows, comparable_step, compare_rows, first_line, main_metric
from tuimon.store import Curve
from tuimon.vocabulary import classify

NAMES = ("a", "b", "c", "d")
ALONE = ((0,), (1,), (2,), (3,))


def curve(values: Sequence[float], steps: Sequence[int] | None = None) -> Curve:
    return Curve.from_arrays("m", np.arange(len(values)) if steps is None else np.array(steps), np.array(values, float))


def noisy(level: float, seed: int, count: int = 200, error: float = 0.01, shape: Any = 0.0) -> Curve:
    return curve(level + shape + np.random.default_rng(seed).normal(0, error, count))


def rows_of(
    curves: Sequence[Curve | None],
    name: str = "reward",
    groups: Sequence[Sequence[int]] = (),
    labels: Sequence[str] = NAMES,
    **more: Any,
) -> MetricRows:
    groups = groups or ALONE[: len(curves)]
    given = [None if own is None else Measured(own) for own in curves]
    return compare_rows(name, classify(name), given, groups, labels, **more)


def flat(values: Sequence[float], spread: float = 0.001) -> list[Curve]:
    return [curve([value + spread * (-1) ** step for step in range(60)]) for value in values]


@pytest.mark.parametrize(("name", "order"), [("reward", ["b", "c", "a"]), ("loss", ["a", "c", "b"])])
def test_rows_are_sorted_and_compared_with_the_first(name: str, order: list[str]) -> None:
    curves = [noisy(0.5, 1), noisy(0.7, 2), noisy(0.6, 3)]
    metric = rows_of(curves, name)
    assert [row.name for row in metric.rows] == order
    assert [row.rank_text for row in metric.rows] == ["1", "2", "3"]
    for row in metric.rows:
        (run,) = row.runs
        window = curves[run].values[-20:]
        assert row.level == pytest.approx(window.mean())
        assert row.end == 199
        pick = np.max if name == "reward" else np.min
        assert row.best[1] == pick(curves[run].values)
        assert curves[run].values[row.best[0]] == row.best[1]
    first = metric.rows[0].runs[0]
    for row in metric.rows[1:]:
        apart = curves[row.runs[0]].values[-20:] - curves[first].values[-20:]
        assert row.behind.value == pytest.approx(apart.mean())
        assert row.behind.error == pytest.approx(0.01 * math.sqrt(2 / 20), rel=0.6)


SHORT = np.linspace(2, 1, 20) ** 2
"""Five points of a falling validation are its level."""
ROWS: dict[str, tuple[list[Curve], str, dict[str, Any], str, list[str], str, str]] = {
    "equal rows share the first place": (
        [noisy(0.5, 4), noisy(0.5, 5), noisy(0.2, 6)], "reward", {},
        "bac", ["1=", "1=", "3"], "No run is ahead in reward: ", ", within noise; one run each"),
    "no steps in common": (
        [curve(np.arange(40.0)), curve(np.arange(40.0) + 9, range(1000, 1040))], "reward", {},
        "ba", ["1=", "1="], "", "too few points to judge"),
    "validations that never touch are not noise": (
        [noisy(0, 1, 20, 0.003, SHORT), noisy(0, 2, 20, 0.003, SHORT + 0.1)], "val_loss", {},
        "ab", ["1", "2"], "a is ahead of b: loss (val) ", ""),
    "a better row without a healthy run": (
        [noisy(0.9, 1), noisy(0.5, 2)], "reward", {"failures": ("collapsed", "")},
        "ab", ["1", "2"], "", ", the first is not healthy; one run each"),
    "no better direction": ([noisy(0.5, 1), noisy(0.7, 2)], "some/thing", {}, "ab", ["-", "-"], "", ""),
    "other steps": ([noisy(0.5, 1), noisy(0.7, 2)], "reward", {"in_steps": False}, "ab", ["-", "-"], "", ""),
    "a diverged run": (
        [curve([*[9.0] * 60, *[math.inf] * 40]), noisy(0.5, 1, 100), noisy(0.2, 2, 100)], "reward", {},
        "bca", ["1", "2", "-"], "b is ahead of c: ", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_order_ranks_and_first_line(case: str) -> None:
    curves, name, more, order, ranks, begin, end = ROWS[case]
    metric = rows_of(curves, name, **more)
    assert "".join(row.name for row in metric.rows) == order
    assert [row.rank_text for row in metric.rows] == ranks
    said = first_line(metric)
    assert said.startswith(begin)
    assert said.endswith(end)
    assert bool(said) == bool(begin or end)


def test_runs_are_compared_up_to_the_step_that_all_but_early_ones_reached() -> None:
    curves = [curve(np.arange(count, dtype=float)) for count in (200, 200, 120, 60)]
    metric = rows_of(curves)
    assert metric.end == 119
    assert {row.name: row.level for row in metric.rows} == {"a": 113.5, "b": 113.5, "c": 113.5, "d": 56.5}
    assert metric.rows[-1].name == "d"
    assert (metric.rows[-1].rank, metric.rows[-1].end) == (0, 59), "it ended before half of the way"
    assert comparable_step(curves) == 119
    assert comparable_step([*curves[:1], None]) is None
    assert comparable_step(curves[1:3]) == 119
    assert comparable_step([curve([1.0], [5]), curve([1.0, 2.0], [7, 9])]) is None, "no step in common"
    assert comparable_step([curve([]), curves[0]]) is None
    assert comparable_step([curve([1.0, 2.0], [0, 0]), curves[0]]) is None, "a log without steps"


def test_curves_with_other_intervals_are_compared_at_equal_steps() -> None:
    """One run logs each step, one each tenth; both fall by the same curve, so that only the noise differs."""
    steps = np.arange(400)
    falling = 1 + 2 * np.exp(-steps / 150)
    random = np.random.default_rng(3)
    each, tenth = falling + random.normal(0, 0.01, 400), (falling + random.normal(0, 0.01, 400))[::10]
    for better, tied in ((0.0, True), (0.1, False)):
        metric = rows_of([curve(each), curve(tenth - better, steps[::10].tolist())], "val_loss")
        assert metric.rows[1].tied is tied
        assert tied or metric.rows[0].name == "b"


SEEDS = list(itertools.product((0.5, 0.6), (-0.01, 0.0, 0.01)))


def test_groups_are_compared_by_students_t_test() -> None:
    curves = flat([mean + own for mean, own in SEEDS])
    labels = [f"lr{mean:g}_s{number % 3}" for number, (mean, _) in enumerate(SEEDS)]
    metric = rows_of(curves, groups=((0, 1, 2), (3, 4, 5)), labels=labels)
    best, other = metric.rows
    assert (best.name, best.runs, best.level) == ("lr0.6 (3 runs)", (3, 4, 5), pytest.approx(0.6, abs=1e-6))
    assert (best.sd, best.se) == (pytest.approx(0.01), pytest.approx(0.01 / math.sqrt(3)))
    assert other.behind.value == pytest.approx(-0.1)
    assert other.behind.error == pytest.approx(0.01 * math.sqrt(2 / 3))
    assert (other.behind.freedom, other.tied) == (4, False)
    assert first_line(metric).startswith("lr0.6 (3 runs) is ahead of lr0.5 (3 runs): reward 0.6000 against ")
    pair = rows_of(curves[3:], groups=((0, 1, 2),), labels=labels[3:])
    assert first_line(pair) == "lr0.6 (3 runs): mean reward 0.6000 ± 0.00577 SE"


def test_a_seed_that_is_not_healthy_counts() -> None:
    metric = rows_of(
        flat([0.7, 0.72, 0.71, 0.1]),
        groups=((0, 1), (2, 3)),
        labels=("x_s0", "x_s1", "y_s0", "y_s1"),
        failures=("", "", "", "collapsed"),
    )
    assert [(row.runs, row.not_healthy, row.rank) for row in metric.rows] == [((0, 1), (), 1), ((2, 3), (3,), 2)]


def test_runs_of_a_group_without_a_result_are_named() -> None:
    curves = [*flat([0.5, 0.6]), curve([0.5] * 20), curve([math.nan] * 60)]
    metric = rows_of(curves, groups=((0, 1, 2, 3),), labels=("x_s0", "x_s1", "x_s2", "x_s3"))
    (row,) = metric.rows
    assert (row.runs, row.without_result) == ((0, 1), (2, 3))


def test_best_values_have_no_noise_of_their_own() -> None:
    curves = flat([0.5, 0.6])
    alone = rows_of(curves, kind="best")
    assert first_line(alone) == ("No run is ahead in best reward: b 0.6010, a 0.5010, best values have no error")
    many = flat([mean + own for mean, own in SEEDS])
    labels = [f"lr{mean:g}_s{number % 3}" for number, (mean, _) in enumerate(SEEDS)]
    metric = rows_of(many, groups=((0, 1, 2), (3, 4, 5)), labels=labels, kind="best")
    assert metric.rows[0].level == pytest.approx(0.601)
    assert "best reward 0.6010 against 0.5010" in first_line(metric)


def test_the_axis_that_was_asked_for_is_said() -> None:
    metric = rows_of([noisy(0.5, 1), noisy(0.7, 2)])
    assert "at equal" not in first_line(metric)
    axis = ComparisonAxis("tokens")
    assert " at equal tokens" in first_line(rows_of([noisy(0.5, 1), noisy(0.7, 2)], axis=axis))


@pytest.mark.parametrize("kind", ["level", "best"])
@pytest.mark.parametrize("gap", [0.0, 0.001, 0.2])
@pytest.mark.parametrize("failures", [(), ("", "", "", "x", "x", "x")])
@pytest.mark.parametrize("groups", [((0, 1, 2), (3, 4, 5)), ((0,), (3,)), ((0,), (3,), (5,))])
def test_the_first_line_has_at_most_20_words(
    kind: str, gap: float, failures: Sequence[str], groups: Sequence[Sequence[int]]
) -> None:
    curves = [noisy(0.5 + gap * (number > 2), number) for number in range(6)]
    labels = [f"{'ab'[number > 2]}_s{number % 3}" for number in range(6)]
    axis = ComparisonAxis("duration") if kind == "level" else STEPS
    metric = rows_of(curves, "val_loss", groups, labels, kind=kind, failures=failures, axis=axis)
    said = first_line(metric)
    assert 5 < len(said.split()) <= 20, said


def test_the_main_metric_is_the_most_important_that_two_runs_have() -> None:
    loss, reward, other = (rows_of([noisy(0.5, 1), noisy(0.7, 2)], name) for name in ("loss", "reward", "some/thing"))
    alone = rows_of([noisy(0.5, 1), None], "reward")
    assert main_metric([loss, reward]) is reward
    assert main_metric([other, loss, alone]) is loss
    assert main_metric([other]) is other
    assert main_metric([rows_of([noisy(0.5, 1), noisy(0.7, 2)], in_steps=False)]) is None
    assert first_line(None) == ""
