"""Duration of phases: the timers of each framework, drifts and history."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import START, panel_of, runs_of, view_of

from tuimon import draw
from tuimon.model.views import Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import (
    ChartOptions,
    metric_panel,
    overlay_lines,
    with_run_name,
)
from tuimon.panels.phases import read_timers, timers_of

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
    assert 0.12 <= view_of(run, "phase_history", Size(60, 14)).y.high < 0.2


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
