"""The demo's run: its curves move, its logs are what others read in them, it ends when it should."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuimon.demo import train
from tuimon.demo.curves import CARD_GIB, DEVICES, PHASES, Curves, Hyperparameters
from tuimon.demo.launch import Training
from tuimon.demo.logs import MADE_UP
from tuimon.monitor.local import open_run

STEPS = 40


def rows(run: Path) -> list[dict[str, Any]]:
    whole, _, _ = (run / "metrics.jsonl").read_text("utf-8").rpartition("\n")  # the last row may be half written
    return [json.loads(line) for line in whole.splitlines()]


def training_log(run: Path) -> dict[str, Any]:
    log: dict[str, Any] = json.loads((run / "training_log.json").read_text("utf-8"))
    return log


def column(run: Path, name: str) -> list[float]:
    return [row[name] for row in rows(run) if name in row]


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run that went through in one go."""
    training = Training(tmp_path_factory.mktemp("straight"), f"--steps={STEPS}", "--pace=0")
    assert training.process.wait(60) == 0, training.errors()
    training.stop()
    return training.run


def test_the_reward_rises_and_the_policy_leaves_the_reference(straight: Path) -> None:
    assert [row["step"] for row in rows(straight)] == list(range(1, STEPS + 1))
    score = np.array(column(straight, "critic/score/mean"))
    assert score[-8:].mean() - score[:8].mean() > 0.1
    kl, entropies = column(straight, "critic/kl"), column(straight, "critic/entropy/mean")
    assert kl[0] == 0
    assert min(kl) >= 0
    assert kl[-1] > 0.2
    assert entropies[-1] < entropies[0]
    assert max(column(straight, "actor/lr")) == Hyperparameters().learning_rate


def test_a_seed_gives_the_same_numbers() -> None:
    first, second = (
        [curves.step(step) for step in (1, 2, 3)] for curves in (Curves(Hyperparameters(), 0.5) for _ in "ab")
    )
    assert first == second
    assert Curves(Hyperparameters(seed=1), 0.5).step(1) != first[0]


def test_texts_are_those_of_the_step(straight: Path) -> None:
    rewards = {row["step"]: row["critic/score/mean"] for row in rows(straight)}
    steps = sorted(int(path.stem) for path in (straight / "rollouts").iterdir())
    assert steps == [entry["step"] for entry in training_log(straight)["val_history"]]
    for step in steps:
        texts = [json.loads(line) for line in (straight / "rollouts" / f"{step}.jsonl").read_text("utf-8").splitlines()]
        assert {text["step"] for text in texts} == {step}
        assert np.mean([text["score"] for text in texts]) == pytest.approx(rewards[step])
        for text in texts:
            assert text["gts"].split() == sorted(text["input"].split()[1:])
            assert (text["score"] == 1) is (text["output"] == text["gts"])


def test_phases_fit_into_the_step_and_peaks_onto_the_devices(straight: Path) -> None:
    for row in rows(straight):
        calls = [name.removesuffix("/total") for name in row if name.startswith("time/") and name.endswith("/total")]
        assert sum(row[f"{name}/total"] for name in calls) + row["time/adv"] <= row["time/step_total"]
        for name in calls:
            parts = sum(row[f"{name}/{part}"] for part in ("onload", "execute", "offload"))
            assert parts == pytest.approx(row[f"{name}/total"])
    last = rows(straight)[-1]
    for _, call, *_ in PHASES:
        for device in range(DEVICES):
            loaded, peak = (
                last[f"memory/{call}/{name}/{device}"]
                for name in ("start/onload/allocated", "end/onload/max_allocated")
            )
            assert 0 < loaded <= peak < CARD_GIB


def test_it_says_that_its_numbers_are_made_up(straight: Path) -> None:
    log = training_log(straight)
    assert list(log) == ["config", "train_history", "val_history", "best_checkpoint"]
    assert log["config"]["notes"] == MADE_UP
    assert MADE_UP in (straight / "log" / "train.log").read_text("utf-8")
    assert [entry["reward"] for entry in log["train_history"]] == column(straight, "critic/score/mean")
    best = max(log["val_history"], key=lambda entry: entry["val_reward"])
    assert log["best_checkpoint"]["step"] == best["step"]


def test_tuimon_reads_one_run_that_has_ended_now(straight: Path) -> None:
    (run,) = open_run(straight.parent).runs
    curve = run.curve("critic/score/mean")
    assert curve.wall_times[-1] - curve.wall_times[0] == pytest.approx((STEPS - 1) * train.PACE)
    assert curve.wall_times[-1] <= time.time()
    assert len(curve) == STEPS


def test_an_injected_fault_gives_nan() -> None:
    curves = Curves(Hyperparameters(), 0.5, inject_at=3)
    _, before, at, after = (curves.step(step) for step in (1, 2, 3, 4))
    assert all(map(math.isfinite, before.values()))
    assert at["actor/lr"] > 1e15
    assert math.isnan(at["actor_train/grad_norm"])
    assert math.isfinite(at["critic/kl"])
    assert math.isnan(after["critic/kl"])
    assert after["critic/score/mean"] < before["critic/score/mean"]


def test_it_is_ended_by_a_signal_wherever_it_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports its own package, not the `demo` of the directory in which it is started."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path)
    training = Training(tmp_path / "logs", f"--steps={STEPS}", "--pace=0.2")
    until(lambda: (training.run / "metrics.jsonl").exists() and len(rows(training.run)) >= 2)
    assert training.process.poll() is None
    assert training.stop() == 0
    assert "stopped by SIGTERM" in (training.run / "log" / "train.log").read_text("utf-8")


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    other = str(os.getppid())  # not the parent of the process below
    command = [sys.executable, "-m", "tuimon.demo.train", "--output", str(tmp_path), "--pace", "30", "--parent", other]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.splitlines()[-1].endswith("pipeline stopped by the end of its parent after step 1 of 400")


@pytest.mark.parametrize(
    ("arguments", "message"), [([], "holds a run already"), (["--inject", "inf@3"], "'inf@3' is not nan@STEP")]
)
def test_it_says_why_it_cannot_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / train.RUN_NAME).mkdir()
    with pytest.raises(SystemExit) as stop:
        train.main(["--output", str(tmp_path), *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
