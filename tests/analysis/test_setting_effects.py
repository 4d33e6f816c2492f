"""Test how results depend on settings, with results that are made of known effects and noise."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis.comparing import MISSING
from tuimon.analysis.setting_effects import setting_effects


def grid(noise: float, seed: int = 0) -> tuple[list[tuple[str, tuple[Any, ...]]], list[float]]:
    """Return settings of a grid of 16 runs, and results: +0.5 for lr, +0.05 for batch, best momentum in the middle."""
    chance = np.random.default_rng(seed)
    runs = list(itertools.product((1e-6, "5e-6"), (64, 256), (1, 2, 3, 4)))
    results = [0.5 * (lr == "5e-6") + 0.05 * (batch == 256) + chance.normal(0, noise) for lr, batch, _ in runs]
    lr, batch, seeds = zip(*runs, strict=True)
    return [("lr", lr), ("batch", batch), ("seed", seeds), ("algo", ("a", "b") * 8)], results


def test_grid_has_the_mean_of_each_value_and_the_noise_of_the_seeds() -> None:
    settings, results = grid(0.01)
    lr, batch, algo = setting_effects(settings, results)
    assert [lr.name, batch.name, algo.name] == ["lr", "batch", "algo"]
    assert [mean.value for mean in lr.values] == ["5e-6", 1e-6]
    assert [mean.runs for mean in lr.values] == [8, 8]
    assert lr.values[0].level == pytest.approx(np.mean(results[8:]))
    # The deviation of one run is 0.01, although the other setting moves the runs with one lr by 0.05.
    assert 0.002 < lr.values[0].error < 0.006
    assert lr.is_beyond_noise
    assert batch.is_beyond_noise, "an effect of 0.05 in spite of the 0.5 of the other setting"
    assert not algo.is_beyond_noise
    assert algo.line.endswith("; noise explains this")
    assert lr.line.startswith("lr: 0.5")
    assert " at 5e-6 (8 runs), 0.0" in lr.line


def test_an_optimum_between_the_ends_is_the_first_value_also_of_losses() -> None:
    rates = (1e-4, 3e-4, 1e-3, 3e-3)
    results = [accuracy + shift for accuracy in (0.81, 0.85, 0.896, 0.857) for shift in (0.0, 0.003, -0.003)]
    values = tuple(rate for rate in rates for _ in range(3))
    [effect] = setting_effects([("lr", values)], results)
    assert (effect.values[0].value, effect.is_beyond_noise) == (1e-3, True)
    [effect] = setting_effects([("lr", values)], [-result for result in results], higher=False)
    assert effect.values[0].value == 1e-3


def test_noise_is_called_an_effect_in_about_5_percent_of_the_sweeps() -> None:
    values = tuple(value for value in (1, 2, 3, 4) for _ in range(3))
    chance = np.random.default_rng(1)
    sweeps = [setting_effects([("x", values)], chance.normal(size=12).tolist()) for _ in range(1000)]
    assert 0.02 < np.mean([effect.is_beyond_noise for [effect] in sweeps]) < 0.07


Sweep = tuple[list[tuple[str, tuple[Any, ...]]], list[float]]


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_additive_effects_on_a_grid_are_recovered_without_noise(first: list[float], second: list[float]) -> None:
    cells = list(itertools.product(range(6), range(6)))
    results = [3 + first[a] + second[b] for a, b in cells]
    effects = {e.name: e for e in setting_effects(list(zip("ab", zip(*cells, strict=True), strict=True)), results)}
    for name, added, other in (("a", first, second), ("b", second, first)):
        mean = 3 + float(np.mean(other))
        levels = {own.value: own.level for own in effects[name].values}
        assert levels == pytest.approx({value: mean + effect for value, effect in enumerate(added)}, abs=1e-9)
        assert effects[name].is_beyond_noise or max(added) - min(added) < 1e-6


def unbalanced(seed: int) -> tuple[list[tuple[int, int, int]], np.ndarray]:
    """Return (a, b, c) of 40 runs of a random part of a grid of 3 x 4 x 2, and results with noise."""
    chance = np.random.default_rng(seed)
    runs = [tuple(map(int, chance.integers((3, 4, 2)))) for _ in range(40)]
    results = np.array([0.3 * a - 0.5 * b + c + a * 0.01 * c for a, b, c in runs]) + chance.normal(0, 0.02, 40)
    return runs, results  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(5))
def test_levels_and_errors_are_those_of_least_squares_with_a_column_for_each_block(seed: int) -> None:
    runs, results = unbalanced(seed)
    errors = np.random.default_rng(seed).uniform(0.001, 0.05, len(runs))
    settings = list(zip("abc", zip(*runs, strict=True), strict=True))
    by_name = {effect.name: effect for effect in setting_effects(settings, results.tolist(), errors=errors.tolist())}
    groups = [[i for i, run in enumerate(runs) if run == cell] for cell in sorted(set(runs))]
    squares = sum(float(np.square(results[own] - results[own].mean()).sum()) for own in groups)
    noise = np.maximum(errors, math.sqrt(squares / (len(runs) - len(groups))))
    for own in (own for own in groups if len(own) >= 3):
        noise[own] = results[own].std(ddof=1)
    for position, name in enumerate("abc"):
        others = [run[:position] + run[position + 1 :] for run in runs]
        own = [run[position] for run in runs]
        used = [i for i, block in enumerate(others) if len({own[j] for j, o in enumerate(others) if o == block}) > 1]
        blocks, values = sorted({others[i] for i in used}), sorted({own[i] for i in used})
        design = np.array(
            [[others[i] == block for block in blocks] + [own[i] == value for value in values] for i in used], float
        )
        share = np.array([np.mean([own[i] == value for i in used]) for value in values])

        def levels(y: np.ndarray, design: Any = design, blocks: Any = blocks, share: Any = share) -> np.ndarray:
            fitted = np.linalg.lstsq(design, y, rcond=None)[0][len(blocks) :]
            result: np.ndarray = y.mean() + fitted - share @ fitted
            return result

        weights = np.stack([levels(unit) for unit in np.eye(len(used))], axis=1)
        expected = dict(zip(values, levels(results[used]), strict=True))
        deviations = dict(zip(values, np.sqrt(np.square(weights) @ np.square(noise[used])), strict=True))
        effect = by_name[name]
        assert {value.value: value.level for value in effect.values} == pytest.approx(expected)
        assert {value.value: value.error for value in effect.values} == pytest.approx(deviations)
        assert effect.runs == len(used)
        assert (effect.noise, effect.is_beyond_noise) == ("seeds", True)


def test_another_setting_is_no_noise() -> None:
    """The runs of a real sweep: two settings, of which one has the larger part of the runs."""
    settings = [
        ("lr", (1e-6, 1e-6, 3e-6, 3e-6, 3e-6, 1e-5)),
        ("beta", (0.01, 0.01, 0.01, 0.01, 0.1, 0.01)),
        ("seed", (1, 2, 1, 2, 1, 1)),
    ]
    lr, beta = setting_effects(settings, [0.703, 0.696, 0.800, 0.799, 0.615, 0.905], errors=[0.007] * 6)
    assert [(own.value, own.runs) for own in lr.values] == [(1e-5, 1), (3e-6, 2), (1e-6, 2)]
    assert [own.level for own in lr.values] == pytest.approx([0.905, 0.7995, 0.6995])
    assert [own.error for own in lr.values] == pytest.approx([0.007, 0.007 / 2**0.5, 0.007 / 2**0.5])
    assert [(own.value, own.runs) for own in beta.values] == [(0.01, 2), (0.1, 1)]
    assert [own.level for own in beta.values] == pytest.approx([0.7995, 0.615])
    assert lr.is_beyond_noise
    assert beta.is_beyond_noise


@pytest.mark.parametrize("errors", [(), (0.01,) * 8])
def test_settings_that_vary_together_are_named(errors: tuple[float, ...]) -> None:
    rates, others = (1, 1, 1, 1, 2, 2, 2, 2), (5, 5, 5, 5, 6, 6, 6, 6)
    results = [0.0, 0.1, 0.2, 0.1, 1.0, 1.1, 1.2, 1.1]
    settings = [("optim.lr", rates), ("algo.beta", others), ("seed", range(8))]
    first, second = setting_effects(settings, results, errors=errors)
    assert first.line.startswith("optim.lr: 1.100 ± ")
    assert first.line.endswith(" at 1 (4 runs); cannot be separated from algo.beta")
    assert second.varies_with == ("optim.lr",)
    both = [("a", (1, 1, 2, 2, 1, 1, 2, 2)), ("b", (1, 1, 2, 2, 2, 2, 1, 1)), ("c", (1, 1, 1, 1, 2, 2, 2, 2))]
    effects = setting_effects([*both, ("noise", (1, 2) * 4)], results, errors=errors)
    assert {effect.name: set(effect.varies_with) for effect in effects} == {
        "a": {"b", "c"},
        "b": {"a", "c"},
        "c": {"a", "b"},
        "noise": set(),
    }, "half of a grid: each setting is the combination of the two others"
    assert effects[0].name == "noise", "settings that vary together are the last"


def test_a_collapsed_run_does_not_hide_the_difference_of_two_other_values() -> None:
    """Also if it is the worst value that no difference to is beyond noise."""
    methods = tuple(name for name in ("dapo", "gspo", "grpo") for _ in range(4))
    results = [0.7372, 0.7714, 0.7248, 0.7551, 0.7016, 0.6769, 0.7172, 0.6905, 0.6689, 0.7104, 0.0214, 0.7258]
    failed = [result < 0.1 for result in results]
    [effect] = setting_effects([("method", methods), ("seed", (0, 1, 2, 3) * 3)], results, failed=failed)
    assert effect.line == (
        "method: 0.7471 ± 0.0102 at dapo (4 runs), 0.6965 ± 0.00854 at gspo (4 runs), 0.5316 ± 0.1705 at grpo (4 runs)"
    )
    assert effect.lead is not None
    assert effect.lead.error == pytest.approx(math.hypot(0.0102, 0.00854), rel=1e-2)
    assert effect.lead.is_beyond_noise
    both = [("method", methods), ("clip", tuple(0.28 if name == "dapo" else 0.2 for name in methods))]
    errors = {effect.name: effect.values[0].error for effect in setting_effects(both, results, failed=failed)}
    assert errors["clip"] == pytest.approx(0.0102, rel=1e-2), "each value has its own noise"


def test_a_search_at_random_separates_settings_by_chance_only() -> None:
    chance = np.random.default_rng(3)
    rates, clips = chance.uniform(size=40).tolist(), chance.uniform(size=40).tolist()
    algorithms = tuple(chance.permutation(["a", "b"] * 20).tolist())
    results = [rate + 0.01 * (algo == "a") for rate, algo in zip(rates, algorithms, strict=True)]
    effects = setting_effects([("lr", rates), ("clip", clips), ("algo", algorithms), ("twin", rates[::-1])], results)
    lines = {effect.name: effect.line for effect in effects}
    assert re.fullmatch(r"lr: rank correlation \+[01]\.\d\d \(40 runs\)", lines["lr"])
    assert re.fullmatch(r"clip: rank correlation \S+ \(40 runs\); no clear effect", lines["clip"])
    assert lines["algo"].endswith("; no clear effect"), "the other settings vary, too, so that this is not noise alone"
    twins = [("lr", rates), ("warmup", [2 * rate for rate in rates]), ("clip", clips)]
    lines = {effect.name: effect.line for effect in setting_effects(twins, results)}
    assert lines["lr"].endswith("(40 runs); cannot be separated from warmup")


def test_values_that_no_runs_connect_are_left_out() -> None:
    settings = [("a", (1, 1, 2, 2, 3, 3, 4, 4, 2)), ("b", (1, 1, 1, 1, 2, 2, 2, 2, 1))]
    effects = setting_effects(settings, [1.0, 1.1, 2.0, 2.1, 8.0, 8.1, 9.0, 9.1, 2.0])
    [a] = [effect for effect in effects if effect.name == "a"]
    assert [own.value for own in a.values] == [2, 1]


def test_with_two_settings_noise_is_called_an_effect_in_about_5_percent_of_the_sweeps() -> None:
    cells = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) for _ in range(2) if (a, b) != (3, 3)]
    settings = list(zip("ab", zip(*cells, strict=True), strict=True))
    chance = np.random.default_rng(1)
    found = [
        effect.is_beyond_noise
        for _ in range(400)
        for effect in setting_effects(settings, [5.0 * b + chance.normal() for _, b in cells])
        if effect.name == "a"
    ]
    assert 0.01 < np.mean(found) < 0.08


def test_a_number_with_many_values_has_a_rank_correlation() -> None:
    rates, results = [10.0**-number for number in range(8)], [8.0, 7, 6, 5, 4, 3, 1, 2]
    [effect] = setting_effects([("lr", rates)], results)
    assert effect.line == "lr: rank correlation +0.98 (8 runs)"
    [effect] = setting_effects([("lr", [1.0, 5, 2, 6, 3, 7, 4, 8])], results)
    assert effect.line.endswith("; noise explains this")


def test_seeds_outputs_and_unknown_results_have_no_effect() -> None:
    settings, results = grid(0.01)
    left_out = [
        ("train.seed", (1, 2) * 8),
        ("output_dir", ("x", "y") * 8),
        ("name", tuple(map(str, "abcdefghijklmnop"))),
    ]
    assert setting_effects(left_out, results) == ()
    assert setting_effects(settings[:1], [None, math.nan, math.inf, *[None] * 10, 1.0, 2.0, 3.0]) == ()
    partly = [("lr", (MISSING, *settings[0][1][1:]))]
    assert [sum(own.runs for own in effect.values) for effect in setting_effects(partly, results)] == [15]
    [effect] = setting_effects(settings[:1], [result * 1e300 for result in results])
    assert effect.is_beyond_noise
    assert math.isfinite(effect.values[0].error)
