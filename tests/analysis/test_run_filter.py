"""Run filters, applied to runs whose matches are listed by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis.run_filter import SYNONYMS, parse, unknown


@dataclass
class Run:
    fields: dict[str, object]
    config: Mapping[str, Any] = field(default_factory=dict)

    metrics: Mapping[str, float] = field(default_factory=dict)

    def field(self, name: str) -> object:
        value = self.fields.get(name)
        return (value, *SYNONYMS.get(str(value), ())) if name == "state" else value

    def metric(self, name: str) -> float | None:
        return self.metrics.get(name)


RUNS = {
    "grpo_a": Run(
        {
            "name": "grpo_a",
            "state": "running",
            "step": 50,
            "reward": 0.7,
            "age": 30.0,
            "alerts": 0,
            "note": ("first", "Rate too high"),
            "tag": ("baseline", "todo"),
        },
        {"optim": {"lr": 1e-3}, "algorithm": "GRPO", "model": "Qwen/Qwen3 VL", "flag": True, "seed": 1},
    ),
    "grpo_b": Run(
        {"name": "grpo_b", "state": "finished", "step": 200, "reward": math.nan, "age": 7200.0, "alerts": 2},
        {"optim": {"lr": 1e-6}, "algorithm": "GRPO", "model": "Llama", "lr_min": 1},
        {"val_loss": 0.4},
    ),
    "ppo_debug": Run(
        {"name": "ppo_debug", "state": "crashed", "step": None, "reward": None, "age": 600.0, "alerts": 0},
        {"learning_rate": "0.0005", "algorithm": "PPO", "wandb": {"tag": "Base"}},
    ),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "grpo_a grpo_b ppo_debug"),
        ("grpo", "grpo_a grpo_b"),
        ("tag:baseline", "grpo_a"),
        ("tag=todo", "grpo_a"),
        ("tag:base", "grpo_a ppo_debug"),
        ("-tag:todo", "grpo_b ppo_debug"),
        ("rate", "grpo_a"),
        ('"too high" first', "grpo_a"),
        ("note:high", "grpo_a"),
        ("none", ""),
        ("GRPO _b", "grpo_b"),
        ("g*a", "grpo_a"),
        ("lr>1e-5", "grpo_a ppo_debug"),
        ("lr<=1e-6", "grpo_b"),
        ("lr=0.001", "grpo_a"),
        ("optim.lr=1e-3", "grpo_a"),
        ("algo=grpo", "grpo_a grpo_b"),
        ("algo=gr", ""),
        ("algo:gr", "grpo_a grpo_b"),
        ("algo=g*", "grpo_a grpo_b"),
        ("algo!=grpo", "ppo_debug"),
        ("-algo=grpo", "ppo_debug"),
        ("-algo!=grpo", "grpo_a grpo_b"),
        ("state:running", "grpo_a"),
        ("!state:running", "grpo_b ppo_debug"),
        ("step>=50", "grpo_a grpo_b"),
        ("-step>=50", "ppo_debug"),
        ("reward>0.5", "grpo_a"),
        ("age<10m", "grpo_a"),
        ("age<=10m", "grpo_a ppo_debug"),
        ("age>1.5h", "grpo_b"),
        ("alerts>0", "grpo_b"),
        ('model="qwen/qwen3 vl"', "grpo_a"),
        ("model:vl algo=grpo", "grpo_a"),
        ("model:llama | algo=ppo", "grpo_b ppo_debug"),
        ("| ppo |", "ppo_debug"),
        ("flag=true", "grpo_a"),
        ("val_loss<0.5", "grpo_b"),
        ("val_loss>0.5", ""),
        ("failed", "ppo_debug"),
        ("state:failed", "ppo_debug"),
        ("-failed done", "grpo_b"),
        ("flag>0", ""),
        ("seed=1", "grpo_a"),
        ("nothing=1", ""),
        ("nothing!=1", "grpo_a grpo_b ppo_debug"),
        ("-debug", "grpo_a grpo_b"),
        ("__import__('os').system('x')=1", ""),
    ],
)
def test_filter_matches_these_runs(text: str, expected: str) -> None:
    wanted = parse(text)
    assert " ".join(name for name, run in RUNS.items() if wanted.matches(run)) == expected
    assert wanted.problem == ""


@pytest.mark.parametrize("text", ["lr>", "lr> ", "step>=many", "grpo lr<"])
def test_missing_number_matches_all_runs_and_is_reported(text: str) -> None:
    run_filter = parse(text)
    assert "needs a number" in run_filter.problem
    assert run_filter.matches(RUNS["grpo_a"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grpo lr>1e-9 val_loss<1 state:running failed", ""),
        ("val_los<1", "No setting or metric val_los; did you mean val_loss?"),
        ("algorithn=PPO", "No setting or metric algorithn; did you mean algorithm?"),
        ("nosuch<3", "No setting or metric nosuch; fields: name state step age reward loss alerts"),
        ("-nosuch<3 | grpo", "No setting or metric nosuch; fields: name state step age reward loss alerts"),
        ("state:runing", "No name, path or state runing; did you mean running?"),
        ("state:xyz", "No name, path or state xyz; states: running"),
        ("critical", "No name, path or state critical; "),
        ("critcal", "No name, path or state critcal; did you mean critical?"),
        ("debog", "No name, path or state debog; states: running"),
        ("grpo crashed", ""),
    ],
)
def test_unknown_words_are_named_with_the_nearest_known_ones(text: str, expected: str) -> None:
    wanted, runs = parse(text), list(RUNS.values())
    problem = unknown(wanted, runs, ["val_loss"], sum(wanted.matches(run) for run in runs))
    assert problem.startswith(expected)
    assert bool(problem) == bool(expected)


def test_missing_name_or_value_matches_all_runs() -> None:
    for text in ("state:", "algo=", "-", '"'):
        assert all(parse(text).matches(run) for run in RUNS.values()) == (text != "-"), text


@given(st.text('abl r>=<!:|-"*?1e.', max_size=20) | st.text(max_size=20))
def test_any_text_can_be_parsed(text: str) -> None:
    run_filter = parse(text)
    for run in RUNS.values():
        assert isinstance(run_filter.matches(run), bool)
