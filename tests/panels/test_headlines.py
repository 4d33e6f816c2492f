"""The headline metric of a run is the same one in every command and on every screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import run_of, runs_of, snapshot_of

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.progress_inputs import progress_of
from tuimon.exports.compare import as_text as compared
from tuimon.exports.line import line
from tuimon.exports.summary import metric_summaries
from tuimon.exports.summary_text import as_text
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.panels import loss_of, name_of, reward_of
from tuimon.panels.lists.comparison import compare
from tuimon.panels.lists.multiples import first_metric
from tuimon.panels.lists.run_metrics import (
    metric_with_words,
    name_in,
    other_names,
    repeated_columns,
    value_of,
)
from tuimon.store import Snapshot

MEAN = "rollout/ep_rew_mean"
STEPS = range(10, 130, 10)
LIGHTNING = {
    "train_loss_epoch": ([49, 99], [0.8, 0.5]),
    "train_loss_step": (STEPS, [1 - step / 200 for step in STEPS]),
    "train_acc": ([49, 99], [0.7, 0.875]),
    "val_acc": ([49, 99], [0.6, 0.75]),
}


@pytest.fixture
def ppo(tmp_path: Path) -> Snapshot:
    """A run of Stable-Baselines3: means over episodes by environment steps, and a file with a line for each episode."""
    rows = [f"{step / 2},{step},{number},0.1,0.2,0.3" for number, step in enumerate(range(512, 512 * 41, 512))]
    names = f"{MEAN},time/total_timesteps,time/iterations,train/loss,train/value_loss,train/approx_kl"
    (tmp_path / "progress.csv").write_text("\n".join([names, *rows, ""]))
    episodes = [f"{10.0 * number},{number + 5},{number / 2}" for number in range(1, 30)]
    (tmp_path / "monitor.csv").write_text(
        "\n".join(['#{"t_start": 1795224135.9, "env_id": "CartPole-v1"}', "r,l,t", *episodes, ""])
    )
    return open_run(str(tmp_path))


def test_mean_over_episodes_is_the_reward_in_every_command(ppo: Snapshot) -> None:
    run = ppo.runs[0]
    assert {"reward", MEAN} <= set(run.metrics), "both are logged"
    reading = reward_of(run)
    assert (reading.metric, reading.last) == (MEAN, 10240.0)
    assert "reward 1.024e+04" in line(ppo, 1.8e9, 200)
    assert metric_summaries(run)[0].name == MEAN
    assert metrics_of(run, "reward.train") == [MEAN], "detectors and rules"
    first = next(row for row in as_text(ppo, 1.8e9) if row.lstrip().startswith(("reward ", MEAN)))
    assert first.split()[0] == MEAN


def test_another_spelling_of_the_reward_is_the_headline_of_each_run(ppo: Snapshot) -> None:
    other = run_of({"train/reward": ([1, 2, 3], [1.0, 2.0, 3.0])})
    assert first_metric((other, *ppo.runs), other) == "train/reward"
    assert name_in(ppo.runs[0], "train/reward") == MEAN
    assert name_in(ppo.runs[0], "reward") == "reward", "its own name"
    runs = (*ppo.runs, *runs_of({"reward": ([1, 2], [1.0, 3.0])}, {"episode_reward": ([1, 2], [4.0, 200.0])}))
    assert [value_of(run, "reward") for run in runs] == [10240.0, 3.0, 200.0], "no mixture with the rewards of episodes"
    assert value_of(ppo.runs[0], "best(reward)") == 10240.0
    assert "reward" in repeated_columns(runs[:1], "reward") & repeated_columns(runs[1:], "reward")
    assert "reward" not in repeated_columns(runs[1:], "best(reward)")
    assert (other_names(runs, "reward"), metric_with_words(runs, "reward")) == ((), "reward")


def test_line_names_an_accuracy_and_the_loss_of_several() -> None:
    printed = line(snapshot_of(LIGHTNING), 1.8e9, 200)
    assert "accuracy 0.875" in printed
    assert "train_loss_step 0.4" in printed
    assert "reward" not in printed
    assert "loss 0.5" in line(snapshot_of({"loss": ([1, 2], [1.0, 0.5])}), 1.8e9, 200)


def test_loss_of_each_step_is_the_loss_in_every_command() -> None:
    runs = runs_of(LIGHTNING, LIGHTNING)
    for run in runs:
        reading = loss_of(run)
        assert reading.metric == name_of(run, reading.metric) == "train_loss_step"
        assert metric_summaries(run)[0].name == "train_loss_step"
    assert compare(runs).metrics[0].name == "train_loss_step"
    assert "train_loss_step" in "\n".join(compared(compare(runs), 1.8e9)).split("train_loss_epoch")[0]


VALUES = (0.5, 0.9375, 0.75)
CONFIGS = [{"alpha": alpha, "penalty": "l2"} for alpha in (0.1, 0.2, 0.3)]
SERIES = [{"value": ([0, 1], [0.0, value])} for value in VALUES]


def test_summary_of_trials_has_values_and_parameters() -> None:
    lines = list(as_text(snapshot_of(*SERIES, configs=CONFIGS), 1.8e9))
    assert lines[0].split()[-2:] == ["value", "alpha"]
    assert [line.split()[-2:] for line in lines[1:4]] == [["0.5000", "0.1"], ["0.9375", "0.2"], ["0.7500", "0.3"]]


def test_a_pruned_trial_is_not_called_finished() -> None:
    run = run_of(SERIES[0], [Fact("state", {"state": "pruned", "evidence": "Optuna: pruned"})])
    progress = progress_of(run, 1.8e9)
    assert (progress.state, progress.reason, progress.fact) == ("ended", "logged", "Optuna: pruned")
