"""The verdict of a comparison: who is ahead by how much, and what else is very different."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from support.programs import run

from tuimon.analysis.level import Level
from tuimon.analysis.verdict import ComparedMetric, verdict
from tuimon.vocabulary import classify

NAMES = ("lr1e-3", "lr1e-4", "lr1e-5")


def _metric(name: str, *levels: float, error: float = 0.05) -> ComparedMetric:
    return ComparedMetric(name, classify(name), tuple(Level(value, error, error, 10) for value in levels))


@pytest.mark.parametrize(
    ("metrics", "settings", "said"),
    [
        (
            [_metric("train/reward", 1.0, 0.5), _metric("train/kl", 1.7, 0.1), _metric("train/learning_rate", 1, 0.1)],
            [("optim.learning_rate", (1e-3, 1e-4)), ("output_dir", ("/a", "/b"))],
            "lr1e-3 is ahead: reward +0.5000 ± 0.0707; KL to reference 17 times higher;"
            " optim.learning_rate 10 times higher",
        ),
        ([_metric("train/reward", 0.5, 1.0)], [], "lr1e-4 is ahead: reward +0.5000 ± 0.0707"),
        ([_metric("eval/loss", 0.5, 1.0)], [], "lr1e-3 is ahead: loss (val) -0.5000 ± 0.0707"),
        (
            [_metric("train/reward", 0.5, 0.52)],
            [("seed", (1, 2))],
            "No run is ahead: reward of lr1e-4 and lr1e-3 differs by 0.0200 ± 0.0707, which noise explains",
        ),
        (
            [_metric("train/reward", 0.2, 1.0, 0.5)],
            [("loss_type", ("grpo", "dapo", "grpo"))],
            "lr1e-4 is ahead of lr1e-5, the next of 3 runs: reward +0.5000 ± 0.0707; loss_type dapo instead of grpo",
        ),
        ([_metric("train/reward", 0.5, 0.5)], [], "No run is ahead: reward of lr1e-3 and lr1e-4 is 0.5000"),
        ([_metric("train/reward", math.nan, 1.0)], [], ""),
        ([_metric("some/thing", 0.2, 1.0)], [], ""),
        ([], [], ""),
    ],
)
def test_the_sentence(metrics: list[ComparedMetric], settings: list[tuple[str, tuple[object, ...]]], said: str) -> None:
    assert verdict(NAMES[: len(metrics[0].levels) if metrics else 2], metrics, settings) == said


def test_the_command_and_its_json_say_it(tmp_path: Path) -> None:
    for name, factor in (("slow", 1), ("fast", 2)):
        (tmp_path / name).mkdir()
        rows = ({"step": step, "reward": factor * (step + step % 3)} for step in range(60))
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / name / "config.json").write_text(json.dumps({"lr": factor * 1e-5}))
    text = run("compare", str(tmp_path)).stdout
    assert text.startswith("fast is ahead: reward +5")
    assert text.splitlines()[0].endswith("; lr 2 times higher")
    assert json.loads(run("compare", str(tmp_path), "--json").stdout)["verdict"] == text.splitlines()[0]
