"""The verdict of a comparison: who is ahead by how much, and what else is very different."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from support.programs import run

from tuimon.analysis.compared_metric import ComparedMetric, comparable_values, compared_metric
from tuimon.analysis.comparing import MISSING
from tuimon.analysis.comparison_limits import limits
from tuimon.analysis.level import Level
from tuimon.analysis.seed_means import seed_means
from tuimon.analysis.verdict import main_metric, verdict
from tuimon.store import Curve
from tuimon.vocabulary import classify

ONE_SEED = " and one seed each: noise of the curves only)"
NAMES = ("lr1e-3", "lr1e-4", "lr1e-5")


def _metric(name: str, *levels: float, error: float = 0.05) -> ComparedMetric:
    return ComparedMetric(name, classify(name), tuple(Level(value, error, error, 10) for value in levels))


@pytest.mark.parametrize(
    ("metrics", "settings", "said"),
    [
        (
            [_metric("train/reward", 1.0, 0.5), _metric("train/kl", 1.7, 0.1), _metric("train/learning_rate", 1, 0.1)],
            [("optim.learning_rate", (1e-3, 1e-4)), ("output_dir", ("/a", "/b"))],
            f"lr1e-3 is ahead: reward +0.5000 ± 0.0707 SE (10 points{ONE_SEED}; KL to reference 17 times higher;"
            " optim.learning_rate 10 times higher",
        ),
        ([_metric("train/reward", 0.5, 1.0)], [], f"lr1e-4 is ahead: reward +0.5000 ± 0.0707 SE (10 points{ONE_SEED}"),
        (
            [_metric("train/reward", 1.0, 0.5)],
            [("train.seed", (1, 2))],
            f"lr1e-3 is ahead: reward +0.5000 ± 0.0707 SE (10 points{ONE_SEED}; train.seed 1 instead of 2",
        ),
        ([_metric("eval/loss", 0.5, 1.0)], [], f"lr1e-3 is ahead: loss (val) -0.5000 ± 0.0707 SE (10 points{ONE_SEED}"),
        (
            [_metric("train/reward", 0.5, 0.52)],
            [("seed", (1, 2))],
            "No run is ahead: reward of lr1e-4 and lr1e-3 differs by 0.0200 ± 0.0707 SE (10 points each), which noise"
            " explains",
        ),
        (
            [_metric("train/reward", 0.2, 1.0, 0.5)],
            [("loss_type", ("grpo", "dapo", "grpo"))],
            f"lr1e-4 is ahead of lr1e-5, the next of 3 runs: reward +0.5000 ± 0.0707 SE (10 points{ONE_SEED};"
            " loss_type dapo instead of grpo",
        ),
        ([_metric("train/reward", 0.5, 0.5)], [], "No run is ahead: reward of lr1e-3 and lr1e-4 is 0.5000"),
        ([_metric("train/reward", math.nan, 1.0)], [], ""),
        ([_metric("some/thing", 0.2, 1.0)], [], ""),
        ([], [], ""),
    ],
)
def test_the_sentence(metrics: list[ComparedMetric], settings: list[tuple[str, tuple[object, ...]]], said: str) -> None:
    assert verdict(NAMES[: len(metrics[0].levels) if metrics else 2], metrics, settings) == said


@pytest.mark.parametrize(("losses", "says"), [((0.52, 0.54), "the opposite"), ((0.54, 0.52), "the same")])
def test_a_validation_loss_of_too_few_points_is_given_beside_the_training_loss(
    losses: tuple[float, float], says: str
) -> None:
    levels = tuple(Level(value, math.nan, math.nan, 1) for value in losses)
    val, train = replace(_metric("eval_loss", 0.0, 0.0), levels=levels), _metric("loss", 0.5, 0.1)
    objective: list[tuple[str, tuple[object, ...]]] = [
        ("dpo.loss_type", ("ipo", "sigmoid")),
        ("optim.beta", (0.8, 0.9)),
    ]
    said = verdict(NAMES[:2], [train, val], objective)
    values = f"{losses[1]:.4f} instead of {losses[0]:.4f}"
    assert (
        f"; loss (val) says {says} ({values}), but has too few points to judge; losses with different dpo.loss_type"
        in (said)
    )
    assert "dpo.loss_type are not comparable;" in said
    assert "not comparable" not in verdict(NAMES[:2], [_metric("reward", 0.5, 0.1)], objective)
    assert "not comparable" not in verdict(NAMES[:2], [train], [("loss_type", ("ipo", MISSING))])
    best = min(zip(losses, NAMES, strict=False))
    alone = verdict(NAMES[:2], [val], [])
    assert alone.startswith(f"No run is ahead: loss (val) of {best[1]} and ")
    assert alone.endswith(" is 0.5200 and 0.5400, too few points to judge")
    seeds: list[tuple[str, tuple[object, ...]]] = [("label_smoothing_factor", (0, 0, 0.1, 0.1)), ("seed", (1, 2, 1, 2))]
    four = replace(val, levels=(levels[0], levels[0], levels[1], levels[1]))
    trained = _metric("loss", 0.5, 0.51, 0.1, 0.11, error=0.001)
    grouped = verdict("abcd", [trained, four], seeds, means=seed_means(trained, seeds))
    assert f"loss (val) says {says} ({values}), but has too few points" in grouped
    assert "losses with different label_smoothing_factor are not comparable" in grouped


def test_failures_of_the_runs_that_are_compared_are_in_the_sentence() -> None:
    metrics = [_metric("train/reward", 0.2, 1.0, 0.5)]
    said = verdict(NAMES, metrics, [], failures=("crashed", "", "loss is NaN since step 3"))
    assert said == f"{verdict(NAMES, metrics, [])}; lr1e-5 is not healthy: loss is NaN since step 3"
    losses, failures = _metric("eval_loss", 0.2, 1.0, 0.5), ("preferences collapsed", "", "crashed")
    doubted = verdict(NAMES[:2], [replace(losses, levels=losses.levels[:2])], [("lr", (4, 1))], failures=failures)
    assert doubted == (
        f"{NAMES[0]} has the lower loss (val), -0.8000 ± 0.0707 SE (10 points and one seed each: noise of the curves"
        " only), but is not healthy: preferences collapsed; lr 4 times higher"
    )
    three = verdict(NAMES, [losses], [], failures=failures)
    assert three.startswith(f"{NAMES[0]} has the lower loss (val) than {NAMES[2]}, the next of 3 runs, -0.3000 ± ")
    assert three.endswith(f", but is not healthy: preferences collapsed; {NAMES[2]} is not healthy: crashed")
    curves = [Curve.from_arrays("loss", np.arange(end), np.full(end, value)) for end, value in ((40, 1.0), (60, 2.0))]
    until = verdict(NAMES[:2], [compared_metric("loss", classify("loss"), curves)], [], failures=failures)
    assert until.startswith(f"{NAMES[0]} has the lower loss up to step 39, -1 ± 0 SE")
    seeds: list[tuple[str, tuple[object, ...]]] = [("lr", (1, 1, 1, 1, 1, 2)), ("seed", (1, 2, 3, 4, 5, 1))]
    rewards = _metric("train/reward", 1.0, 1.01, 1.02, 1.01, 1.0, 0.5)
    stalled = ["stalled"] * 6
    means = seed_means(rewards, seeds, (), stalled)
    many = verdict([f"run{number}" for number in range(6)], [rewards], seeds, means=means, failures=stalled)
    assert many.endswith("; run2 is not healthy: stalled; 3 more of these runs are not healthy")


def test_the_command_and_its_json_say_it(tmp_path: Path) -> None:
    for name, factor in (("slow", 1), ("fast", 2)):
        (tmp_path / name).mkdir()
        rows = ({"step": step, "reward": factor * (step + step % 3)} for step in range(60))
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / name / "config.json").write_text(json.dumps({"lr": factor * 1e-5}))
    text = run("compare", str(tmp_path)).stdout
    assert text.startswith("fast is ahead: reward +5")
    assert "(6 points and one seed each: noise of the curves only)" in text.splitlines()[0]
    assert text.splitlines()[0].endswith("; lr 2 times higher")
    assert json.loads(run("compare", str(tmp_path), "--json").stdout)["verdict"] == text.splitlines()[0]


def _curve(values: np.ndarray, first: int = 0) -> Curve:
    return Curve.from_arrays("reward", np.arange(first, first + len(values)), values)


def _rewards(*curves: Curve | None) -> ComparedMetric:
    return compared_metric("reward", classify("reward"), curves)


def test_a_short_run_does_not_shorten_the_comparison_of_the_others() -> None:
    random = np.random.default_rng(4)
    good, poor = (np.linspace(0, height, 150) + random.normal(0, 0.01, 150) for height in (1.0, 0.8))
    short = random.normal(0.1, 0.01, 36)
    two, three = _rewards(_curve(good), _curve(poor)), _rewards(_curve(good), _curve(poor), _curve(short))
    alone = verdict(NAMES[:2], [two], [])
    assert alone.startswith("lr1e-3 is ahead: reward +0.")
    assert alone.endswith(f"(15 points{ONE_SEED}")
    assert verdict(NAMES, [three], []) == alone.replace("is ahead", "is ahead of lr1e-4, the next of 3 runs")
    assert three.ends == (149, 149, 35)
    assert [own.count for own in three.levels if own] == [15, 15, 5]
    assert three.levels[2] is not None
    assert three.levels[2].value == pytest.approx(short[-5:].mean())
    assert limits(NAMES, [three]) == "lr1e-5 ends at step 35 and is compared up to there"
    assert limits(NAMES[:2], [two]) == ""


def test_the_best_two_runs_are_compared_at_a_step_that_both_have_reached() -> None:
    random = np.random.default_rng(5)
    slow, fast = (
        np.linspace(0, height, count) + random.normal(0, 0.01, count) for height, count in ((2, 400), (1, 50))
    )
    metric = _rewards(_curve(slow), None, _curve(fast))
    assert metric.ends == (49, None, 49)
    poor = _rewards(_curve(slow), _curve(np.append(slow[:300], [0.0] * 80)), _curve(fast))
    assert poor.ends == (379, 379, 49)
    sentence = verdict(NAMES, [poor], [])
    assert sentence.startswith("lr1e-5 is ahead of lr1e-3, the next of 3 runs up to step 49: reward +0.")
    gap = fast[-5:].mean() - slow[45:50].mean()
    assert f"+{gap:.4f} ±" in sentence
    assert limits(NAMES, [poor]) == (
        "lr1e-5 ends at step 49 and is compared up to there; the others up to step 379, where lr1e-4 ends;"
        " lr1e-3 reaches 399"
    )
    assert limits(NAMES, [poor], base=0) == limits(NAMES, [poor])
    assert limits(NAMES, [poor], base=2) == "compared up to step 49, where lr1e-5 ends; lr1e-3 reaches 399"


def test_runs_without_common_steps_are_compared_at_their_ends() -> None:
    metric = _rewards(_curve(np.arange(40.0)), _curve(np.arange(40.0), first=1000))
    assert metric.ends == (None, None)
    assert [own.value for own in metric.levels if own] == [37.0, 37.0]
    assert limits(NAMES[:2], [metric]) == ""


def test_a_metric_whose_steps_are_not_those_of_the_run_decides_nothing() -> None:
    curves = [_curve(np.arange(40.0)), _curve(np.arange(40.0) * 2)]
    other = compared_metric("reward", classify("reward"), curves, in_steps=False)
    assert verdict(NAMES[:2], [_rewards(*curves)], [])
    assert not verdict(NAMES[:2], [other], [])


def test_the_main_metric_is_that_of_the_verdict_or_else_the_first_that_two_runs_have() -> None:
    alone, other, reward = _metric("only/mine", 1.0), _metric("some/thing", 0.2, 1.0), _metric("reward", 1.0, 2.0)
    alone = replace(alone, levels=(*alone.levels, None))
    assert main_metric([alone, other]) is other
    assert main_metric([alone, other, reward]) is reward
    assert main_metric([alone, replace(other, in_steps=False)]) is None
    few = replace(reward, levels=tuple(Level(value, math.nan, math.nan, 1) for value in (1.0, 2.0)))
    assert main_metric([other, few]) is few, "the sentence gives its values"


def test_a_run_that_was_ahead_when_it_ended_early_is_named() -> None:
    random = np.random.default_rng(6)
    best, second, short, poor = (
        np.linspace(0, height, count) + random.normal(0, 0.01, count)
        for height, count in ((1.0, 200), (0.8, 200), (0.6, 80), (0.2, 80))
    )
    sentence = verdict((*NAMES, "poor"), [_rewards(*map(_curve, (best, second, short, poor)))], [("lr", (2, 1, 3, 4))])
    assert sentence.startswith("lr1e-3 is ahead of lr1e-4, the next of 4 runs: reward +0.")
    assert sentence.endswith("; lr1e-5 was ahead of lr1e-3 at its last step 79; lr 2 times higher")
    sentence = verdict(NAMES, [_rewards(*map(_curve, (best, best + 1e-4, short)))], [])
    assert sentence.startswith("No run is ahead: reward of")
    assert sentence.endswith("; lr1e-5 was ahead of lr1e-4 at its last step 79")


def test_settings_are_compared_up_to_a_step_that_all_but_crashed_runs_have_reached() -> None:
    curves = [_curve(np.arange(count, dtype=float)) for count in (200, 200, 120, 60)]
    metric = _rewards(*curves, None)
    assert metric.comparable_step == 119
    levels = metric.levels_until(119)
    assert [None if level is None else level.value for level in levels] == [113.5, 113.5, 113.5, None, None]
    assert metric.levels_until(None) == metric.levels
    assert _rewards(None, curves[0]).comparable_step is None, "one run has no steps in common with another"
    assert comparable_values(metric.curves, metric.factors, [0.0] * 5) == [113.5, 113.5, 113.5, None, None]
    assert comparable_values(curves[:2], (1.0, 1.0), [3.0, 4.0]) == [3.0, 4.0]
