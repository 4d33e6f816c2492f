"""Formats that are measured, discovered as modules of this package with a CASE (or CASES), and their shared code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

Series: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Metric -> (its steps, its values), in the order of logging."""

WALL = 1_795_226_051.25
NAMES = tuple(f"{group}/metric {index}/mean" for group in ("train", "eval", "time", "env") for index in range(5))


@dataclass(frozen=True, slots=True)
class Case:
    """One log and the peers that read it."""

    what: str
    write: Callable[[Path, int], None]
    """(empty directory, steps): write the log of one run there, as its library writes it."""
    peers: Mapping[str, Callable[[Path], Series]]
    """Alternative readers by name: (that directory) -> all points. Raise ImportError if not installed."""


def table(steps: int) -> np.ndarray:
    """Values as (steps, metrics): random walks."""
    return np.cumsum(np.random.default_rng(7).normal(0, 0.1, (steps, len(NAMES))), axis=0)


class Collected(dict[str, tuple[list[float], list[float]]]):
    """Series that are collected point by point, as in a script."""

    def __missing__(self, name: str) -> tuple[list[float], list[float]]:
        self[name] = series = ([], [])
        return series

    def row(self, step: float, values: Iterable[tuple[str, float]]) -> None:
        for name, value in values:
            steps, logged = self[name]
            steps.append(step)
            logged.append(value)
