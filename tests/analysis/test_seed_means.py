"""The verdict about runs that differ only in their seed, with means and errors worked out from the levels."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tuimon.analysis.compared_metric import ComparedMetric, compared_metric
from tuimon.analysis.level import Level
from tuimon.analysis.run_noise import chance_of, run_noise
from tuimon.analysis.seed_means import SeedMeans, mean_rows, seed_means, seed_title
from tuimon.analysis.verdict import verdict
from tuimon.store import Curve
from tuimon.vocabulary import classify

CELLS = tuple(itertools.product((1e-6, 3e-6), (0.01, 0.1), (1, 2, 3)))
SETTINGS: list[tuple[str, Sequence[Any]]] = list(zip(("lr", "beta", "seed"), zip(*CELLS, strict=True), strict=True))
NAMES = [f"lr{lr:g}_b{beta}_s{seed}" for lr, beta, seed in CELLS]


def of_levels(name: str, values: Sequence[float], error: float = 0.001) -> ComparedMetric:
    return ComparedMetric(name, classify(name), tuple(Level(value, error, error, 20) for value in values))


def verdict_of(
    labels: Sequence[str], metric: ComparedMetric, settings: Any, projects: Sequence[str] = (), failures: Any = ()
) -> str:
    """Return the verdict on the means of the seeds."""
    means = seed_means(metric, settings, projects, failures)
    return verdict(labels, [metric], settings, means=means, failures=failures)


def results(gap: float, spread: float = 0.01) -> list[float]:
    return [1.5 + gap * (lr > 2e-6) - 0.2 * (beta > 0.05) + spread * (seed - 2) for lr, beta, seed in CELLS]


def best(means: SeedMeans | None) -> tuple[tuple[int, ...], tuple[int, ...], float, float, bool, str]:
    """Return the runs of the best two groups, and their difference."""
    assert means is not None
    first, second = (group.every for group in means.groups[:2])
    difference = means.difference(first, second)
    return first.runs, second.runs, difference.value, difference.error, difference.is_beyond_noise, difference.noise


def test_the_best_settings_are_named_with_the_error_of_the_means() -> None:
    metric = of_levels("reward", results(0.1))
    means = seed_means(metric, SETTINGS)
    noise = 0.01 * math.sqrt(2 / 3)
    assert best(means) == ((6, 7, 8), (0, 1, 2), pytest.approx(0.1), pytest.approx(noise), True, "own")
    assert means is not None
    assert (len(means.groups), means.step, means.settings) == (4, None, ("lr", "beta"))
    sentence = verdict_of(NAMES, metric, SETTINGS)
    assert re.sub(r"0\.10+ ", "0.1 ", sentence) == (
        "lr3e-06_b0.01 (3 seeds) is ahead of lr1e-06_b0.01 (3 seeds), the next of 4 combinations of settings:"
        " mean reward +0.1 ± 0.00816 SE; lr 3 times higher"
    )
    loss = of_levels("eval/loss", [-value for value in results(0.1)])
    assert verdict_of([f"run{i}" for i in range(12)], loss, SETTINGS).startswith(
        "run6 with 2 other seeds is ahead of run0 with 2 other seeds, the next of 4 combinations of settings:"
        " mean loss (val) -0.100"
    )


def test_seeds_that_differ_as_much_explain_a_difference() -> None:
    sentence = verdict_of(NAMES, of_levels("reward", results(0.01)), SETTINGS)
    assert sentence == (
        "No combination of settings is ahead: mean reward of lr3e-06_b0.01 (3 seeds) and lr1e-06_b0.01 (3 seeds)"
        " differs by 0.0100 ± 0.00816 SE, which noise explains"
    )


def test_three_seeds_have_their_own_noise_also_if_that_of_the_curves_is_greater() -> None:
    means = seed_means(of_levels("reward", results(0.1), error=0.1), SETTINGS)
    assert means is not None
    own = math.hypot(*(group.every.error for group in means.groups[:2]))
    assert best(means)[3:] == (pytest.approx(own), True, "own"), "the noise of the curves is in it"
    equal = best(seed_means(of_levels("reward", results(0.1, spread=0), error=0.1), SETTINGS))
    assert equal[3:5] == (pytest.approx(0.1 * math.sqrt(2 / 3)), False), "a seed without effect"
    two = [
        (name, [value for value, (*_, seed) in zip(values, CELLS, strict=True) if seed < 3])
        for name, values in SETTINGS
    ]
    few = [value for value, (*_, seed) in zip(results(0.1), CELLS, strict=True) if seed < 3]
    assert best(seed_means(of_levels("reward", few, error=0.1), two))[3:] == (pytest.approx(0.1), False, "pooled")


METHODS = {
    "dapo": (0.7372, 0.7714, 0.7248, 0.7551),
    "gspo": (0.7016, 0.6769, 0.7172, 0.6905),
    "grpo": (0.6689, 0.7104, 0.0214, 0.7258),
}
"""Levels of three methods with four seeds. The third seed of grpo collapses."""


def methods(seeds: int, names: Sequence[str] = tuple(METHODS)) -> tuple[list[str], ComparedMetric, Any, list[str]]:
    """Return labels, levels, settings and failures of the first seeds of each method."""
    runs = [(name, seed) for name in names for seed in range(seeds)]
    metric = of_levels("reward", [METHODS[name][seed] for name, seed in runs])
    settings = [("method", tuple(name for name, _ in runs)), ("seed", tuple(seed for _, seed in runs))]
    return (
        [f"{name}_s{seed}" for name, seed in runs],
        metric,
        settings,
        ["collapsed" * (r == ("grpo", 2)) for r in runs],
    )


def test_a_collapsed_seed_of_another_group_is_no_noise_of_two_healthy_ones() -> None:
    labels, metric, settings, failures = methods(4)
    dapo, gspo = np.array(METHODS["dapo"]), np.array(METHODS["gspo"])
    error = math.sqrt(dapo.var(ddof=1) / 4 + gspo.var(ddof=1) / 4)
    means = seed_means(metric, settings, (), failures)
    gap = pytest.approx(dapo.mean() - gspo.mean())
    assert best(means) == ((0, 1, 2, 3), (4, 5, 6, 7), gap, pytest.approx(error), True, "own")
    alone = methods(4, ("dapo", "gspo"))
    assert best(seed_means(*alone[1:3]))[2:] == best(means)[2:], "a third method changes nothing"
    assert verdict_of(labels, metric, settings, (), failures) == (
        "dapo (4 seeds) is ahead of gspo (4 seeds), the next of 3 combinations of settings: mean reward +0.0506 ±"
        " 0.0133 SE; method dapo instead of gspo; grpo (4 seeds): mean 0.5316 with grpo_s2 (collapsed), 0.7017 without,"
        " which is 0.0454 ± 0.0198 SE worse than dapo (4 seeds): noise explains this"
    )
    assert means is not None
    rows = [(r.name, len(r.result.runs), r.result.mean, r.result.error, r.remark) for r in mean_rows(means, labels)][2:]
    grpo = np.array(METHODS["grpo"])
    rest = grpo[[0, 1, 3]]
    error, error_of_rest = (pytest.approx(own.std(ddof=1) / math.sqrt(len(own))) for own in (grpo, rest))
    assert rows == [
        ("grpo (4 seeds)", 4, pytest.approx(grpo.mean()), error, "with grpo_s2, not healthy"),
        ("grpo (3 seeds)", 3, pytest.approx(rest.mean()), error_of_rest, "without grpo_s2"),
    ]


def test_groups_of_runs_with_one_point_are_compared_by_their_seeds() -> None:
    labels = ["a_s0", "a_s1", "a_s2", "b_s0", "b_s1", "b_s2"]
    settings = [("lr", (1, 1, 1, 2, 2, 2)), ("seed", (0, 1, 2, 0, 1, 2))]
    points = [Level(value, math.nan, math.nan, 1) for value in (0.50, 0.51, 0.52, 0.70, 0.71, 0.72)]
    metric = ComparedMetric("eval_loss", classify("eval_loss"), tuple(points))
    assert verdict_of(labels, metric, settings) == (
        "a (3 seeds) is ahead of b (3 seeds): mean loss (val) -0.2000 ± 0.00816 SE (1 point each); lr 2 times lower"
    )
    means = seed_means(metric, settings)
    assert means is not None
    assert "SE of the levels (1 point each) of runs" in seed_title(means, "step")
    assert [row.result.mean for row in mean_rows(means, labels)] == [pytest.approx(0.51), pytest.approx(0.71)]
    longer = replace(metric, levels=(*points[:5], Level(0.72, 0.01, 0.01, 5)))
    assert "± 0.00816 SE (1 to 5 points); lr" in verdict_of(labels, longer, settings)
    two = replace(metric, levels=(*points[:2], None, points[3], None, None))
    few = "No combination of settings is ahead: mean loss (val) of a (2 seeds) and b_s0 is 0.5050 and 0.7000, too few"
    assert verdict_of(labels, two, settings) == f"{few} points to judge"
    failed = verdict_of(labels, two, settings, (), ("diverged", *[""] * 5))
    doubt = "a (2 seeds): mean 0.5050 with a_s0 (diverged), 0.5100 without, too few points to judge"
    assert failed == f"{few} points to judge; {doubt}"


def test_a_better_group_without_a_healthy_run_is_not_called_ahead() -> None:
    labels, metric, settings, _ = methods(4, ("dapo", "gspo"))
    failures = ["crashed"] * 4 + [""] * 4
    said = verdict_of(labels, metric, settings, (), failures)
    assert said.startswith(
        "dapo (4 seeds) has the higher mean reward than gspo (4 seeds), +0.0506 ± 0.0133 SE, but none of its runs is"
        " healthy; method dapo instead of gspo; dapo_s0 is not healthy: crashed; dapo_s1 is"
    )
    single = ComparedMetric(metric.name, metric.meaning, (Level(2.0, 0.001, 0.001, 20), *metric.levels[4:]))
    settings = [(name, (values[0], *values[4:])) for name, values in settings]
    failures = ["crashed", *[""] * 4]
    said = verdict_of([labels[0], *labels[4:]], single, settings, (), failures)
    assert re.match(r"dapo_s0 has the higher mean reward than .* SE .*, but is not healthy; .*; dapo_s0 is not", said)


def test_a_run_without_a_finite_level_is_named() -> None:
    labels, _, settings, failures = methods(4)
    values = [value for levels in METHODS.values() for value in levels]
    metric = of_levels("reward", [math.nan if value == 0.0214 else value for value in values])
    sentence = verdict_of(labels, metric, settings, (), failures)
    assert sentence.startswith("No combination of settings is ahead: mean reward of dapo (4 seeds) and grpo (3 seeds)")
    assert sentence.endswith("; grpo (3 seeds): grpo_s2 has no result (collapsed)")
    means = seed_means(metric, settings, (), failures)
    assert means is not None
    assert [row.remark for row in mean_rows(means, labels)] == ["", "grpo_s2 without a result", ""]


def test_groups_of_two_have_the_noise_of_the_healthy_runs_of_all_groups() -> None:
    runs = [(name, seed) for name in METHODS for seed in (1, 2)]
    labels = [f"{name}_s{seed}" for name, seed in runs]
    metric = of_levels("reward", [METHODS[name][seed] for name, seed in runs])
    settings: Any = [("method", [name for name, _ in runs]), ("seed", [seed for _, seed in runs])]
    failures = ["collapsed" * (run == ("grpo", 2)) for run in runs]
    pooled = math.sqrt((np.var(METHODS["dapo"][1:3]) * 2 + np.var(METHODS["gspo"][1:3]) * 2) / 2)
    *_, error, is_beyond, noise = best(seed_means(metric, settings, (), failures))
    assert (error, is_beyond, noise) == (pytest.approx(pooled), False, "pooled")
    sentence = verdict_of(labels, metric, settings, (), failures)
    assert "SE (pooled noise, without grpo_s2), which noise explains; grpo (2 seeds): mean 0.3659 with" in sentence
    without = seed_means(metric, settings)
    assert best(without)[3] > 5 * error, "a collapse that no alert reports is noise"
    own = best(seed_means(of_levels("reward", [0.75, 0.76, 0.70, 0.71, 0.69, 0.02]), settings[:2], (), failures))
    assert own[4] is True
    last = seed_means(
        of_levels("reward", [0.75, 0.76, 0.69, 0.02]), [(k, v[2:]) for k, v in settings], (), failures[2:]
    )
    assert best(last)[4] is False, "a group of two of which one collapsed has its own deviation"


@pytest.mark.parametrize(
    ("sizes", "deviations"), [((4, 4), (1, 3)), ((3, 3, 3), (1, 3, 1)), ((4, 2), (1, 1)), ((2, 2), (1, 1))]
)
def test_noise_is_called_a_difference_in_at_most_about_5_percent(
    sizes: tuple[int, ...], deviations: tuple[float, ...]
) -> None:
    chance, found = np.random.default_rng(1), 0
    cells = np.repeat(np.arange(len(sizes)), sizes)
    weights = (cells == 0) / sizes[0] - (cells == 1) / sizes[1]
    for _ in range(1000):
        results = chance.normal(size=len(cells)) * np.array(deviations)[cells]
        error, freedom = run_noise(results, cells, np.full(len(cells), math.nan)).error(weights)
        found += chance_of(float(weights @ results) / error, freedom) < 0.05
    assert 20 < found < 70


def test_chances_are_those_of_students_distribution() -> None:
    """Quantiles of tables; with two degrees of freedom the probability is 1 - t / sqrt(2 + t^2)."""
    for ratio, freedom in ((12.7062, 1), (4.30265, 2), (2.22814, 10), (1.98397, 100), (1.95996, math.inf)):
        assert chance_of(ratio, min(freedom, 10**6)) == pytest.approx(0.05, rel=1e-4)
    for ratio in (0.0, 0.1, 1.0, -7.0, 300.0):
        assert chance_of(ratio, 2) == pytest.approx(1 - abs(ratio) / math.sqrt(2 + ratio**2), rel=1e-6)
    assert chance_of(math.nan, 5) == 1


def test_runs_without_equal_settings_and_seeds_are_compared_one_by_one() -> None:
    metric = of_levels("reward", results(0.1))
    assert seed_means(metric, SETTINGS[:2]) is None, "without seeds equal settings do not explain themselves"
    assert seed_means(metric, [("lr", [*range(12)]), ("seed", [*range(12)])]) is None
    one_group = seed_means(metric, SETTINGS[2:])
    assert one_group is not None
    assert len(one_group.groups) == 1
    assert not verdict_of(NAMES, metric, SETTINGS[2:]).startswith("No combination")


def test_runs_of_different_projects_are_no_seeds_of_each_other() -> None:
    metric = of_levels("eval/loss", (0.675, 0.7, 0.704))
    settings = [("batch_size", (16, 16, 32)), ("seed", (1, 2, 1))]
    names = ("sft/run18", "grpo/run18", "sft/run04")
    assert seed_means(metric, settings, ("sft", "grpo", "sft")) is None
    assert verdict_of(names, metric, settings, ("sft", "grpo", "sft")).startswith(
        "sft/run18 is ahead of grpo/run18, the next of 3 runs: loss (val) -0.02"
    )
    means = seed_means(of_levels("reward", results(0.1)), SETTINGS, ["a", "b"] * 6)
    assert means is not None
    assert len(means.groups) == 8


def test_all_levels_are_taken_up_to_the_step_that_all_runs_have_reached() -> None:
    curves = [
        Curve.from_arrays("reward", np.arange(end), np.arange(end) * rate + np.arange(end) % 3)
        for rate, end in ((1.0, 200), (1.0, 200), (1.5, 120), (1.5, 200))
    ]
    metric = compared_metric("reward", classify("reward"), curves)
    means = seed_means(metric, [("lr", (1, 1, 2, 2)), ("seed", (1, 2, 1, 2))])
    assert means is not None
    assert means.step == 119
    first, _, difference, *_ = best(means)
    assert (first, difference) == ((2, 3), pytest.approx(0.5 * np.arange(108, 120).mean()))


@pytest.mark.parametrize("axis", ["tokens", "step"])
def test_groups_that_end_after_few_tokens_are_compared_up_to_there(axis: str) -> None:
    chance, settings = np.random.default_rng(3), [("batch", (16, 16, 64, 64)), ("seed", (1, 2, 1, 2))]
    curves = [
        Curve.from_arrays(
            "loss", np.arange(1, 101) * tokens, np.exp(-np.arange(1, 101) / 30) + chance.normal(0, 0.01, 100)
        )
        for tokens in (16, 16, 64, 64)
    ]
    metric = replace(compared_metric("loss", classify("loss"), curves), axis=axis)
    means = seed_means(metric, settings)
    assert means is not None
    if axis == "step":
        assert (means.step, len(means.groups)) == (6400, 1)
        return
    assert (means.step, [group.every.runs for group in means.groups]) == (1600, [(0, 1), (2, 3)])
    names = ("b16_s1", "b16_s2", "b64_s1", "b64_s2")
    said = verdict(names, [metric], settings, means=means)
    assert said.startswith("b16 (2 seeds) is ahead of b64 (2 seeds) up to 1.6 k tokens: mean loss -0.")
    crashed = seed_means(metric, settings, failures=("crashed", "crashed", "", ""))
    assert crashed is not None
    assert crashed.step == 6400, "a group without a healthy run does not shorten the comparison of the others"


@pytest.mark.parametrize("form", ["{}_s{}", "{}-seed{}", "{}_seed_{}", "s{1}/{0}"])
@pytest.mark.parametrize("with_settings", [False, True])
def test_names_have_the_seeds_if_no_setting_is_one(form: str, with_settings: bool) -> None:
    runs = [(name, seed) for name in METHODS for seed in (0, 1)]
    names = [form.format(*run) for run in runs]
    metric = of_levels("reward", [METHODS[name][seed] for name, seed in runs])
    settings: Any = [("method", [name for name, _ in runs]), ("output_dir", names)] if with_settings else []
    means = seed_means(metric, settings, names=names)
    assert means is not None
    assert means.by_name
    assert sorted(group.every.runs for group in means.groups) == [(0, 1), (2, 3), (4, 5)]
    reason = "by their names: no logged seed differs"
    assert seed_title(means, "step").endswith(f" runs that differ only in their seed ({reason})")
    assert f"; seeds {reason}" in verdict(names, [metric], settings, means=means)


def test_names_alone_do_not_join_runs_with_other_settings_or_logged_seeds() -> None:
    metric = of_levels("reward", [0.1, 0.2, 0.3, 0.4])
    names = ["x_s0", "x_s1", "x_s2", "x_s3"]
    means = seed_means(metric, [("lr", (1, 1, 2, 2))], names=names)
    assert means is not None
    assert sorted(group.every.runs for group in means.groups) == [(0, 1), (2, 3)]
    assert seed_means(metric, [("lr", (1, 2, 3, 4))], names=names) is None
    assert seed_means(metric, [], names=["a", "a", "b", "b"]) is None, "equal names without a seed"
    logged = seed_means(metric, [("seed", (0, 1, 2, 3))], names=names)
    assert logged is not None
    assert not logged.by_name


@pytest.mark.parametrize(
    ("settings", "reason"), [([("cv.fold", (0, 1, 2))], ""), ([], "by their names: no logged fold differs")]
)
def test_folds_of_a_cross_validation_are_a_group(settings: Any, reason: str) -> None:
    names = ["folds/fold_0/version_0", "folds/fold_1/version_0", "folds/fold_2/version_0"]
    losses = of_levels("val_loss", [0.1, 0.2, 0.6])
    means = seed_means(losses, settings, names=names)
    assert means is not None
    said = "folds/version_0 (3 folds): mean loss (val) 0.3000, SD 0.2646; the runs differ only in their fold"
    assert verdict(names, [losses], settings, means=means) == (f"{said} ({reason})" if reason else said)
    (row,) = mean_rows(means, names)
    assert (row.name, row.result.mean) == ("folds/version_0 (3 folds)", pytest.approx(0.3))
    few = replace(losses, levels=tuple(level and replace(level, error=math.nan) for level in losses.levels))
    tops = seed_means(losses, settings, names=names, kind="best values")
    said = "folds/version_0 (3 folds): mean best loss (val) 0.3000, SD 0.2646; "
    assert verdict(names, [few], settings, means=tops).startswith(said), "the noise of the curves is not needed"
    title = "val_loss: mean, SD and SE of the levels of runs that differ only in their fold"
    assert seed_title(means, "step") == (f"{title} ({reason})" if reason else title)
