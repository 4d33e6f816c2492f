"""The option with which a trainer writes its generated texts to files, for runs that have none."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tuimon import lazy_re as re


class Trainer(NamedTuple):
    """How a trainer is recognised, and its option."""

    name: str
    option: str
    settings: Sequence[str] = ()
    """Names of settings that only this trainer has."""
    metrics: str = "(?!)"
    """Expression for the names of metrics that only this trainer has."""


@cache
def _trainers() -> Sequence[Trainer]:
    text = Path(__file__).with_name("options.toml").read_text("utf-8")
    return [Trainer(**entry) for entry in tomllib.loads(text)["trainer"]]


def trainer_of(settings: Mapping[str, Any], metrics: Iterable[str]) -> Trainer | None:
    """Return the trainer that a run's settings and metrics are typical of, or None."""
    names = {*settings, *(key for value in settings.values() if isinstance(value, Mapping) for key in value)}
    metrics = tuple(metrics)

    def score(trainer: Trainer) -> int:
        pattern = re.compile(trainer.metrics)
        return 2 * sum(name in names for name in trainer.settings) + any(map(pattern.match, metrics))

    trainer = max(_trainers(), key=score)
    return trainer if score(trainer) else None


def advice(settings: Mapping[str, Any], metrics: Iterable[str]) -> list[str]:
    """Return sentences about how to make a trainer write texts."""
    trainer = trainer_of(settings, metrics)
    if trainer is not None:
        lines = [f"The run looks like {trainer.name}. Its option: {trainer.option}"]
    else:
        lines = [
            "Trainers write texts if an option is set:",
            "  verl      trainer.rollout_data_dir=DIR trainer.validation_data_dir=DIR",
            "  TRL       log_completions=True",
            "  ms-swift  --log_completions true",
            "  ROLL      rollout_dump_dir: an absolute path",
        ]
    lines += [
        f"The settings name {name} = {place}: open it with --samples {place}" for name, place in _places(settings)
    ]
    return lines


_PLACES = ("rollout_data_dir", "validation_data_dir", "rollout_dump_dir", "export_path", "rollouts_save_path")


def _places(settings: Mapping[str, Any], depth: int = 0) -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from _places(value, depth + 1)
        elif isinstance(value, str) and value and key.rpartition(".")[2] in _PLACES:
            yield key, value
