"""Display names of runs: the names in a tracker, with a distinguishing part where several are equal."""

from __future__ import annotations

from typing import Any

import pytest

from tuimon.model.events import FactFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.store import Store
from tuimon.store.names import CHOSEN, JOB, SETTING, TRACKER, display_names, given_name

SESSION = "offline-run-20261121_015409-dqy890h6"
OTHER = "offline-run-20261121_020000-a1b2c3d4"


@pytest.mark.parametrize(
    ("topic", "value", "origin", "name"),
    [
        ("writer", {"name": "wandb", "run_name": " grpo-1.5b "}, TRACKER, "grpo-1.5b"),
        ("writer", {"name": "wandb", "run_id": "dqy890h6"}, TRACKER, ""),
        ("writer", {"run_name": 7}, TRACKER, ""),
        ("writer", {"run_name": "a\x1b[31mb"}, TRACKER, "a␛[31mb"),
        ("config", {"run_name": "saves/llama-sft/"}, SETTING, "llama-sft"),
        ("config", {"run_name": "saves/llama-sft", "output_dir": "saves/llama-sft"}, SETTING, "llama-sft"),
        ("config", {"run_name": "grpo-lr0.001", "output_dir": "out"}, CHOSEN, "grpo-lr0.001"),
        ("config", {"run_name": "outputs"}, SETTING, ""),
        ("config", {"trainer": {"experiment_name": "ppo_gsm8k"}}, SETTING, "ppo_gsm8k"),
        ("config", {"trainer.experiment_name": "ppo_gsm8k"}, SETTING, "ppo_gsm8k"),
        ("state", {"run_name": "grpo"}, SETTING, ""),
        ("writer", {"job": "grpo lr=0.1,path=a/b"}, JOB, "grpo lr=0.1,path=a/b"),
    ],
)
def test_names_in_facts(topic: str, value: dict[str, Any], origin: int, name: str) -> None:
    assert given_name(Fact(topic, value)) == (origin, name)


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
    given = [(TRACKER, name) for name in trackers] + [(SETTING, name) for name in settings]
    assert display_names([(0, directory, given)]) == {0: name}


def test_a_chosen_name_comes_before_that_of_any_directory_and_after_that_of_a_tracker() -> None:
    assert display_names([(0, "sweep/lr1e-3", [(SETTING, "ppo"), (CHOSEN, "grpo-lr0.001")])]) == {0: "grpo-lr0.001"}
    assert display_names([(0, "sweep/lr1e-3", [(CHOSEN, "grpo-lr0.001"), (TRACKER, "grpo")])]) == {0: "grpo"}


def test_the_job_of_hydra_names_a_directory_that_is_only_a_time() -> None:
    time, job = "hy/2026-11-21/01-41-19", (JOB, "grpo_math")
    assert display_names([(0, time, [job])]) == {0: "grpo_math"}
    assert display_names([(0, time, [job, (SETTING, "ppo")])]) == {0: "ppo"}
    assert display_names([(0, "hy/lr1e-3", [job])]) == {0: "hy/lr1e-3"}
    jobs = [(0, "multirun/0", [job]), (1, "multirun/1", [job])]
    assert list(display_names(jobs).values()) == ["grpo_math (multirun/0)", "grpo_math (multirun/1)"]


def test_runs_of_one_name_are_told_apart() -> None:
    grpo = [(TRACKER, "grpo")]
    runs = [(0, SESSION, grpo), (1, OTHER, grpo), (2, "lr1e-3", grpo), (3, "ppo", [])]
    names = ["grpo (dqy890h6)", "grpo (a1b2c3d4)", "grpo (lr1e-3)", "ppo"]
    assert list(display_names(runs).values()) == names


def test_copies_of_one_run_are_told_apart_by_their_directories() -> None:
    grpo = [(TRACKER, "grpo")]
    copies = [(0, f"x/{SESSION}", grpo), (1, f"y/{SESSION}", grpo)]
    assert list(display_names(copies).values()) == ["grpo (x)", "grpo (y)"]
    names = ["grpo (x/dqy890h6)", "grpo (y/dqy890h6)", "grpo (x/a1b2c3d4)"]
    assert list(display_names([*copies, (2, f"x/{OTHER}", grpo)]).values()) == names
    names = ["grpo (x/dqy890h6)", "grpo (y/dqy890h6)", "grpo (x/lr1e-3)"]
    assert list(display_names([*copies, (2, "x/lr1e-3", grpo)]).values()) == names


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
