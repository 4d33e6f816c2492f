"""Duration of phases: the timers of each framework, drifts and history."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.made_run import START, panel_of, run_of, runs_of

from tuimon import draw
from tuimon.model.views import ChartView, Role, Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import (
    DEFAULTS,
    ChartOptions,
    arrange,
    metric_panel,
    overlay_lines,
    with_run_name,
)
from tuimon.panels.phases import read_timers, timers_of
from tuimon.store import Run

# ---------------------------------------------------------------- the tree

TREES = {
    "ROLL, as documented": {
        "time/rollout": "",
        "time/generate/total": "time/rollout",
        "time/ref_log_probs_values_reward": "",
        "time/compute_rewards/total": "time/ref_log_probs_values_reward",
        "time/adv": "",
        "time/train_step/total": "",
        "time/model_update/total": "",
    },
    "ROLL, as written today": {
        "time/step_rollout": "",
        "time/get_batch_cost_train": "time/step_rollout",
        "time/get_batch_cost_gqm": "time/step_rollout",
        "time/actor_infer/generate/total": "time/step_rollout",
        "time/step_ref_log_probs_values_reward": "",
        "time/reference/compute_log_probs/total": "time/step_ref_log_probs_values_reward",
        "time/step_old_log_probs_values": "",
        "time/critic/compute_values/total": "time/step_old_log_probs_values",
        "time/actor_train/compute_log_probs/total": "time/step_old_log_probs_values",
        "time/step_train": "",
        "time/actor_train/train_step/total": "time/step_train",
        "time/critic/train_step/total": "time/step_train",
        "time/step_model_update": "",
        "time/actor_train/model_update/total": "time/step_model_update",
        "time/actor_train/do_checkpoint/total": "",
    },
    "RLinf": {
        "time/rollout": "",
        "time/actor/inference": "",
        "time/actor/training": "",
        "time/sync_weights": "",
    },
    "RLinf, embodied": {
        "time/generate_rollouts": "",
        "time/env/interact": "time/generate_rollouts",
    },
    "verl": {
        "timing_s/gen": "",
        "timing_s/generate_sequences": "timing_s/gen",
        "timing_s/reshard": "timing_s/gen",
        "timing_s/ref": "",
        "timing_s/update_actor": "",
        "timing_s/save_checkpoint": "",
    },
    "Trinity": {
        "time/read_experience": "",
        "time/train_step": "",
        "timing_s/ref": "time/train_step",
        "timing_s/update_actor": "time/train_step",
        "time/sync_weight": "",
    },
    "NeMo-RL": {
        "timing/train/prepare_for_generation/total": "",
        "timing/train/prepare_for_generation/transfer_and_update_weights": "timing/train/prepare_for_generation/total",
        "timing/train/generation": "",
        "timing/train/validation": "",
        "timing/validation/generation": "timing/train/validation",
        "timing/train/policy_training": "",
    },
    "slime": {
        "perf/train_wait_time": "",
        "perf/rollout_time": "perf/train_wait_time",
        "perf/train_time": "",
        "perf/log_probs_time": "perf/train_time",
        "perf/actor_train_time": "perf/train_time",
        "perf/update_weights_time": "",
    },
    "TRL": {
        "profiling/Time taken: GRPOTrainer._prepare_inputs": "",
        "profiling/Time taken: GRPOTrainer.vLLM.generate": "profiling/Time taken: GRPOTrainer._prepare_inputs",
        "profiling/Time taken: GRPOTrainer._calculate_rewards": "profiling/Time taken: GRPOTrainer._prepare_inputs",
        "profiling/Time taken: GRPOTrainer.compute_loss": "",
    },
}
"""Timer -> the timer around it, as the frameworks' sources have it."""
NO_PARTS = (
    "timing_s/step",
    "train_judge_time/mean_judge_time",
    "timing_s/generation_timing/topk_ratio",
    "scheduler/math/time/generate/mean",
    "time/run_execution/max",
)
"""The step itself, and statistics: parts of nothing."""


@pytest.mark.parametrize("framework", TREES)
def test_each_framework_s_timers_are_a_tree(framework: str) -> None:
    tree = TREES[framework]
    for names in (tuple(tree), tuple(reversed(tree)), (*tree, *NO_PARTS)):
        assert {timer.metric: timer.parent for timer in timers_of(names)} == tree


# ---------------------------------------------------------------- the sentence

NOISE = np.exp(np.random.default_rng(6).normal(0, 0.03, 300))


@pytest.mark.parametrize(
    ("gen", "reward", "share", "drifts"),
    [
        ((20.0, 20.0), (2.0, 14.0), r"5\d", (False, True)),
        ((12.0, 24.0), (2.0, 2.0), r"9\d", (True, False)),
        ((20.0, 20.0), (2.0, 2.0), r"9\d", (False, False)),
    ],
    ids=["another phase is slower", "the longest is slower", "noise"],
)
def test_the_sentence_names_the_longest_phase_and_the_table_those_that_became_slower(
    gen: tuple[float, float], reward: tuple[float, float], share: str, drifts: tuple[bool, bool]
) -> None:
    phases = {name: np.repeat(levels, [200, 100]) * NOISE for name, levels in (("gen", gen), ("reward", reward))}
    phases["step"] = phases["gen"] + phases["reward"]
    run = run_of({f"timing_s/{name}": (range(300), values.tolist()) for name, values in phases.items()})
    view = panel_of("phase_latency").view(run, Size(80, 14), START, Symbols.BRAILLE)
    sentence = "".join(text for text, _ in view.sentence)
    assert re.fullmatch(rf"gen takes {share} % of the step", sentence), sentence
    slower = {bar.label: any(role is Role.WARNING for _, role in bar.detail) for bar in view.bars}
    assert (slower["gen"], slower["reward"]) == drifts


# ---------------------------------------------------------------- rows and history


def history(run: Run, width: int = 60, options: ChartOptions = DEFAULTS) -> ChartView:
    return panel_of("phase_history").view(run, Size(width, 14), START, Symbols.BRAILLE, options)


def test_the_history_has_a_line_for_each_phase_in_the_colour_of_the_latency() -> None:
    values = {
        "gen": (range(20), [30.0] * 20),
        "update_actor": (range(20), [50.0] * 20),
        "save_checkpoint": ([10], [9.0]),
    }
    run = run_of({f"timing_s/{name}": points for name, points in values.items()})
    lines = history(run).lines
    assert {line.label: np.nanmax(line.envelope.high) for line in lines} == {
        "gen": 30.0,
        "update_actor": 50.0,
        "save_checkpoint": 9.0,
    }
    bars = panel_of("phase_latency").view(run, Size(120, 20), START, Symbols.BRAILLE).bars
    assert [(bar.label, bar.role) for bar in bars if bar.label != "unattributed"] == [
        (line.label, line.role) for line in lines
    ]


@pytest.mark.parametrize(("phases", "rows"), [(2, 9), (5, 12), (30, 14)])
def test_the_dashboard_gives_the_phases_no_more_rows_than_they_can_use(phases: int, rows: int) -> None:
    run = run_of({f"timing_s/phase{number}": (range(9), [1.0 + number] * 9) for number in range(phases)})
    [result] = [panel for panel in arrange(run) if panel.id == "phase_latency"]
    assert result.rows == rows
    assert next(panel for panel in arrange(run) if panel.id == "phase_latency") == result, (
        "as long as the phases are the same"
    )
    drawn = draw.render(result.view(run, Size(120, rows), START, Symbols.BRAILLE), Size(120, rows), Symbols.BRAILLE)
    said = "\n".join("".join(text for text, _ in row) for row in drawn)
    assert all(f" phase{number} " in said for number in range(min(phases, 5)) if phases < 10)
    assert "step" in said.splitlines()[-1] or "phases" in said, "the sentence is there"


def test_phases_whose_console_prints_milliseconds(tmp_path: Path) -> None:
    parts = "loss: 0.5, time/rollout: 120ms, time/train: 80ms, step_time: 200ms"
    (tmp_path / "train.log").write_text("".join(f"step {step}/30 {parts}\n" for step in range(1, 31)))
    [run] = open_run(tmp_path).runs
    timers = read_timers(run)
    assert timers is not None
    _, readings = timers
    shown = {r.timer.metric: (r.now, *r.usual) for r in readings}
    assert shown["time/rollout"] == pytest.approx((0.12, 0.12, 0.12))
    assert shown["time/train"] == pytest.approx((0.08, 0.08, 0.08))
    assert 0.12 <= history(run).y.high < 0.2


# ---------------------------------------------------------------- at the cursor


def timed_by_phases() -> Run:
    """Steps 0, 10, 20 … of which generation takes 1, 2, 3 … seconds and training 10; a save at step 30 only."""
    steps = range(0, 100, 10)
    return run_of(
        {
            "timing_s/gen": (steps, [1.0 + step / 10 for step in steps]),
            "timing_s/update_actor": (steps, [10.0] * 10),
            "timing_s/save_checkpoint": ([30], [7.0]),
            "timing_s/step": (steps, [20.0 + step for step in steps]),
        }
    )


@pytest.mark.parametrize(("cursor", "step", "gen"), [(0, 0, 1.0), (40, 40, 5.0), (47, 40, 5.0), (None, 90, 10.0)])
def test_the_phases_are_those_of_the_step_at_the_cursor(cursor: int | None, step: int, gen: float) -> None:
    run, options = timed_by_phases(), ChartOptions(cursor=cursor)
    latency = panel_of("phase_latency").view(run, Size(120, 20), START, Symbols.BRAILLE, options)
    assert {bar.label: bar.value for bar in latency.bars}["gen"] == gen
    saved = [bar.label for bar in latency.bars if bar.label == "save_checkpoint"]
    assert bool(saved) is (step >= 30), "a phase that had not run by then has no row"
    whole = draw.numbers.format_duration(20.0 + step)
    assert "".join(text for text, _ in latency.headline) == f"{whole} at step {step}"
    assert latency.columns[1] == ("now" if cursor is None else "then")


def test_a_timer_of_the_previous_step_is_read_one_point_later() -> None:
    """ROLL's RLVR pipeline logs 0 at the first step, and then the time of the step before."""
    run = run_of(
        {
            "time/step_rollout": (range(4), [3.0] * 4),
            "time/step_train": (range(4), [2.0] * 4),
            "time/step_total": (range(4), [0.0, 6.0, 7.0, 16.0]),
        }
    )
    panel = panel_of("phase_latency")
    headlines = []
    for cursor in (1, None):
        view = panel.view(run, Size(120, 20), START, Symbols.BRAILLE, ChartOptions(cursor=cursor))
        headlines.append("".join(text for text, _ in view.headline))
    assert headlines == ["7.0 s at step 1", "5.0 s at step 3"]


def test_the_phases_before_the_first_step_are_unknown() -> None:
    run = run_of({"timing_s/gen": ([5, 6], [1.0, 2.0]), "timing_s/ref": ([5, 6], [1.0, 2.0])})
    panel = panel_of("phase_latency")
    view = panel.view(run, Size(80, 14), START, Symbols.BRAILLE, ChartOptions(cursor=4))
    assert (view.bars, view.note) == ((), "no phase up to step 4")


# ---------------------------------------------------------------- in an overlay


@pytest.mark.parametrize("id", ["phase_latency", "phase_history", "cpu_memory"])
def test_a_panel_of_one_run_in_an_overlay_has_the_name_and_colour_of_the_run(id: str) -> None:
    series = {
        "timing_s/gen": (range(9), [1.0] * 9),
        "timing_s/ref": (range(9), [1.0] * 9),
        "memory/cpu/actor_train/train_step/rss": (range(9), [3.0] * 9),
    }
    first, second = runs_of(series, series)
    panel = panel_of(id)
    options = ChartOptions(overlay=overlay_lines((first, second), (), False))
    line = options.overlay[1]
    for width in (120, 40):
        plain = panel.view(second, Size(width, 14), START, Symbols.BRAILLE, options)
        view = with_run_name(plain, panel, second, width, options)
        title = draw.render(view, Size(width, 14), Symbols.BRAILLE)[0]
        assert (f"{line.marker} {line.label}", line.role) in title
        assert with_run_name(plain, panel, second, width, ChartOptions()) is plain


def test_a_chart_of_all_runs_does_not_name_one() -> None:
    first, second = runs_of({"loss": (range(9), [1.0] * 9)}, {"loss": (range(9), [1.0] * 9)})
    options = ChartOptions(overlay=overlay_lines((first, second), (), False))
    panel = metric_panel("loss")
    view = panel.view(first, Size(80, 14), START, Symbols.BRAILLE, options)
    assert with_run_name(view, panel, first, 80, options) is view
