"""Run filters, applied to runs whose matches are listed by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.value_cases import values_of

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


test_filters = values_of(globals())


def matched(text: str) -> str:
    wanted = parse(text)
    assert wanted.problem == ""
    return " ".join(name for name, run in RUNS.items() if wanted.matches(run))


def problem_of(text: str, begin: str) -> bool:
    """Return whether the problem of a filter begins so; "": it has none."""
    wanted, runs = parse(text), list(RUNS.values())
    problem = unknown(wanted, runs, ["val_loss"], sum(wanted.matches(run) for run in runs))
    return problem.startswith(begin) and bool(problem) == bool(begin)


@pytest.mark.parametrize("text", ["lr>", "lr> ", "step>=many", "grpo lr<"])
def test_missing_number_matches_all_runs_and_is_reported(text: str) -> None:
    run_filter = parse(text)
    assert "needs a number" in run_filter.problem
    assert run_filter.matches(RUNS["grpo_a"])


def test_missing_name_or_value_matches_all_runs() -> None:
    for text in ("state:", "algo=", "-", '"'):
        assert all(parse(text).matches(run) for run in RUNS.values()) == (text != "-"), text


@given(st.text('abl r>=<!:|-"*?1e.', max_size=20) | st.text(max_size=20))
def test_any_text_can_be_parsed(text: str) -> None:
    run_filter = parse(text)
    for run in RUNS.values():
        assert isinstance(run_filter.matches(run), bool)
