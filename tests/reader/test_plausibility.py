"""Small tables that are no training logs are no runs; a training that has just begun is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.event_reading import read_all

from tuimon.model.events import RunFound
from tuimon.reader import Collector
from tuimon.reader.plausibility import REASON

PRICES = "step,open,close\n1,1.5,2.5\n2,1.6,2.7\n"
ANSWERS = json.dumps([{"round": 1, "score": 10}, {"round": 2, "score": 20}])
DIARY = "day,weight,steps\n1,71.2,8000\n2,71.0,9500\n3,70.8,4000\n"
PACKAGE = json.dumps({"name": "shop", "version": "1.0", "scores": [0.5, 0.25, 0.125, 0.5, 0.75]})
BEGUN = "epoch,loss,val_loss\n0,1.5,1.6\n"


BY_PROMPT = json.dumps({"pass_rate_by_prompt": {"score": [1, 0, 0, 1, 0.5]}, "note": "my notes"})
BY_FILE = json.dumps(
    {f"rollout/{step}.jsonl": {"step": step, "rewards": [1.0] * 8, "tokens": [7] * 8} for step in (1, 2)}
)
BY_STEP = json.dumps({"files": {"train.log": {"steps": [1, 2], "reward": {"1": [1.0] * 8, "2": [0.5] * 8}}}})


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_names(root: Path) -> list[str]:
    return [event.name for event in read_all(Collector([str(root)])) if isinstance(event, RunFound)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("finance/prices.csv", PRICES),
        ("finance/data/prices.csv", PRICES),
        ("quiz/scores.json", ANSWERS),
        ("diary/diary.csv", DIARY),
        ("shop/package.json", PACKAGE),
        ("shop/src/data.json", PACKAGE),
        ("rl/notes.json", BY_PROMPT),
        ("rl/truth.json", BY_FILE),
        ("rl/truth.json", BY_STEP),
        ("rl/pass_rates.json", json.dumps({"by_prompt": {"score": [0.5] * 2000}})),
        ("diary/training_log.csv", DIARY.replace("steps", "km")),
    ],
)
def test_a_small_table_of_something_else_is_no_run(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path / "cnn" / "history.csv", BEGUN)
    write(tmp_path / path, text)
    assert run_names(tmp_path) == ["cnn"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("model/table.csv", BEGUN),
        ("model/table.csv", "step,trainLoss\n1,0.5\n"),
        ("model/table.jsonl", '{"step": 1, "train/loss": 0.5}\n'),
        ("model/history.json", '{"loss": [1.5, 1.2], "epoch": [0, 1]}'),
        ("model/data.json", '{"accuracy": [0.5, 0.6, 0.7, 0.8, 0.9]}'),
        ("model/history.json", PACKAGE),
        ("model/logs/data.json", PACKAGE),
        ("model/seed0/data.json", PACKAGE),
        ("model/data.json", '{"scores": [1, 2, 3, 4, 5], "ratings": [1, 2, 3, 4, 5]}'),
        ("model/data.json", json.dumps({"run": {"loss": [0.5] * 20}})),
        ("model/data.json", json.dumps({"run": {"step": [1, 2, 3, 4], "loss": [0.5] * 4}})),
        ("model/data.json", json.dumps({"train": {"loss": [0.5, 0.4]}, "val": {"loss": [0.5, 0.4]}})),
        ("model/data.json", json.dumps({"notes": {"score": [1, 0, 1]}, "epochs": [{"epoch": 1, "loss": 0.5}]})),
        ("model/history.json", BY_PROMPT),
        ("model/metrics.csv", "step,x\n1,0.5\n"),
        ("model/seed0/table.csv", "step,x\n1,0.5\n"),
        ("model/logs/table.csv", "step,x\n1,0.5\n"),
        ("model/table.csv", "step,x\n" + "".join(f"{step},0.5\n" for step in range(4))),
    ],
)
def test_a_training_that_has_just_begun_is_a_run(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path / path, text)
    assert len(run_names(tmp_path)) == 1


def test_a_named_file_is_read(tmp_path: Path) -> None:
    assert len(run_names(write(tmp_path / "prices.csv", PRICES))) == 1
    assert len(run_names(write(tmp_path / "notes.json", BY_PROMPT))) == 1


def test_a_table_that_grows_becomes_a_run(tmp_path: Path) -> None:
    write(tmp_path / "cnn" / "history.csv", BEGUN)
    table = write(tmp_path / "model" / "table.csv", "step,x\n1,0.5\n")
    collector = Collector([str(tmp_path)])
    list(collector.find())
    assert collector.skipped == [(str(table), REASON)]
    write(table, "step,x\n" + "".join(f"{step},0.5\n" for step in range(9)))
    assert [event.name for event in collector.find() if isinstance(event, RunFound)] == ["model"]
    assert not collector.skipped
