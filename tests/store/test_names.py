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


GRPO, TIME, GIVEN_JOB = [(TRACKER, "grpo")], "hy/2026-11-21/01-41-19", (JOB, "grpo_math")


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        # a given name comes before that of the directory, unless it is a setting and the directory says more
        ([(SESSION, [(TRACKER, "grpo-1.5b")])], ["grpo-1.5b"]),
        ([(SESSION, [(SETTING, "llama-sft")])], ["llama-sft"]),
        ([("sweep/lr1e-3", [(SETTING, "llama-sft")])], ["sweep/lr1e-3"]),
        ([("sweep/lr1e-3", [(TRACKER, "first"), (TRACKER, "second")])], ["sweep/lr1e-3"]),
        ([(SESSION, [])], [SESSION]),
        # a chosen name comes before that of any directory and after that of a tracker
        ([("sweep/lr1e-3", [(SETTING, "ppo"), (CHOSEN, "grpo-lr0.001")])], ["grpo-lr0.001"]),
        ([("sweep/lr1e-3", [(CHOSEN, "grpo-lr0.001"), (TRACKER, "grpo")])], ["grpo"]),
        # the job of hydra names a directory that is only a time
        ([(TIME, [GIVEN_JOB])], ["grpo_math"]),
        ([(TIME, [GIVEN_JOB, (SETTING, "ppo")])], ["ppo"]),
        ([("hy/lr1e-3", [GIVEN_JOB])], ["hy/lr1e-3"]),
        ([(f"multirun/{n}", [GIVEN_JOB]) for n in range(2)], ["grpo_math (multirun/0)", "grpo_math (multirun/1)"]),
        # runs of one name are told apart, copies of one run by their directories
        ([(SESSION, GRPO), (OTHER, GRPO), ("lr1e-3", GRPO), ("ppo", [])],
         ["grpo (dqy890h6)", "grpo (a1b2c3d4)", "grpo (lr1e-3)", "ppo"]),
        ([(f"{place}/{SESSION}", GRPO) for place in "xy"], ["grpo (x)", "grpo (y)"]),
        ([(f"x/{SESSION}", GRPO), (f"y/{SESSION}", GRPO), (f"x/{OTHER}", GRPO)],
         ["grpo (x/dqy890h6)", "grpo (y/dqy890h6)", "grpo (x/a1b2c3d4)"]),
        ([(f"x/{SESSION}", GRPO), (f"y/{SESSION}", GRPO), ("x/lr1e-3", GRPO)],
         ["grpo (x/dqy890h6)", "grpo (y/dqy890h6)", "grpo (x/lr1e-3)"]),
    ],
)  # fmt: skip
def test_display_names(runs: list[tuple[str, list[tuple[int, str]]]], names: list[str]) -> None:
    shown = display_names([(number, directory, given) for number, (directory, given) in enumerate(runs)])
    assert [shown[number] for number in range(len(runs))] == names


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
