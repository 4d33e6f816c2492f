"""Display names of runs: the names in a tracker, with a distinguishing part where several are equal."""

from __future__ import annotations

from typing import Any

import pytest

from tuimon.model.events import FactFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.store import Store
from tuimon.store.names import display_names, given_name

SESSION = "offline-run-20261121_015409-dqy890h6"
OTHER = "offline-run-20261121_020000-a1b2c3d4"


@pytest.mark.parametrize(
    ("topic", "value", "name"),
    [
        ("writer", {"name": "wandb", "run_name": " grpo-1.5b "}, "grpo-1.5b"),
        ("writer", {"name": "wandb", "run_id": "dqy890h6"}, ""),
        ("writer", {"run_name": 7}, ""),
        ("writer", {"run_name": "a\x1b[31mb"}, "a␛[31mb"),
        ("config", {"run_name": "saves/llama-sft/"}, "llama-sft"),
        ("config", {"run_name": "outputs"}, ""),
        ("config", {"trainer": {"experiment_name": "ppo_gsm8k"}}, "ppo_gsm8k"),
        ("config", {"trainer.experiment_name": "ppo_gsm8k"}, "ppo_gsm8k"),
        ("state", {"run_name": "grpo"}, ""),
    ],
)
def test_names_in_facts(topic: str, value: dict[str, Any], name: str) -> None:
    assert given_name(Fact(topic, value)) == name


@pytest.mark.parametrize(
    ("directory", "trackers", "settings", "name"),
    [
        (SESSION, ["grpo-1.5b"], [], "grpo-1.5b"),
        (SESSION, [], ["llama-sft"], "llama-sft"),
        ("sweep/lr1e-3", [], ["llama-sft"], "sweep/lr1e-3"),
        ("sweep/lr1e-3", ["first", "second"], [], "sweep/lr1e-3"),
        (SESSION, [], [], SESSION),
    ],
)
def test_a_given_name_comes_first(directory: str, trackers: list[str], settings: list[str], name: str) -> None:
    assert display_names([(0, directory, trackers, settings)]) == {0: name}


def test_runs_of_one_name_are_told_apart() -> None:
    runs = [(0, SESSION, ["grpo"], []), (1, OTHER, ["grpo"], []), (2, "lr1e-3", ["grpo"], []), (3, "ppo", [], [])]
    names = ["grpo (dqy890h6)", "grpo (a1b2c3d4)", "grpo (lr1e-3)", "ppo"]
    assert list(display_names((*run[:2], run[2], run[3]) for run in runs).values()) == names


def test_a_second_run_of_a_name_changes_the_first_one() -> None:
    store = Store()
    for run, directory in enumerate((SESSION, OTHER)):
        store.apply(RunFound(run, directory, f"/logs/{directory}"))
        store.apply(StreamFound(run, run, f"{directory}/run.wandb", f"/logs/{directory}/run.wandb", "wandb", 50, "", 0))
    store.apply(FactFound(0, Fact("writer", {"run_name": "grpo"})))
    first = store.snapshot()
    assert [run.name for run in first.runs] == ["grpo", OTHER]
    store.apply(FactFound(1, Fact("writer", {"run_name": "grpo"})))
    assert [run.name for run in store.snapshot().runs] == ["grpo (dqy890h6)", "grpo (a1b2c3d4)"]
    assert [run.name for run in first.runs] == ["grpo", OTHER]
