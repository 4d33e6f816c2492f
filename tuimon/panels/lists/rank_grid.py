"""The ranks of a job by node and GPU, and the quantities that a cell can show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from tuimon.model.ranks import RankRow
from tuimon.sources.grouped_files import natural_order

_PER_NODE = 8
"""Ranks in a row of the grid whose node is unknown."""


class Quantity(Struct, frozen=True):
    """A quantity of a rank that cells show by its distance from the median."""

    name: str
    of: Callable[[RankRow], float | None]
    limits: tuple[float, float, float, float]
    """Distances from the median from which on a cell is `-`, `=`, `#` and `X`."""
    relative: bool = True
    """Are the distances fractions of the median?"""
    unit: str = ""

    def level(self, value: float, usual: float) -> int:
        """Return 0 to 4: how far a value is from the median."""
        if value != value:
            return 4
        distance = abs(value - usual)
        if self.relative:
            distance = distance / abs(usual) if usual else float(distance > 0)
        return sum(distance >= limit for limit in self.limits)

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{value:.0%}" if self.unit == "%" else f"{value:.4g}{' ' if self.unit else ''}{self.unit}"

    def limit_texts(self) -> list[str]:
        """Return the limits as text."""
        if self.relative:
            return [f"{limit:.0%}" for limit in self.limits]
        return [f"{limit * (100 if self.unit == '%' else 1):g}" for limit in self.limits]


def _step(row: RankRow) -> float | None:
    return None if row.step is None else float(row.step)


QUANTITIES = (
    Quantity("state", lambda row: None, (0, 0, 0, 0)),
    Quantity("own time", lambda row: row.own, (0.02, 0.05, 0.1, 0.25), unit="s"),
    Quantity("wait", lambda row: row.wait, (0.1, 0.25, 0.5, 0.75), unit="s"),
    Quantity("memory", lambda row: row.memory, (0.02, 0.05, 0.1, 0.2), relative=False, unit="%"),
    Quantity("temperature", lambda row: row.temperature, (4, 7, 10, 20), relative=False, unit="°C"),
    Quantity("clock", lambda row: row.clock, (0.02, 0.05, 0.1, 0.25), unit="MHz"),
    Quantity("last step", _step, (1, 2, 5, 10), relative=False),
)


class Grid:
    """Ranks by node (row of the grid) and GPU (column of the grid)."""

    def __init__(self, rows: Sequence[RankRow]) -> None:
        self._rows = rows
        self._at: dict[tuple[str, int], int] = {}
        """Index of the strangest rank by (node, GPU)."""
        following: dict[str, int] = {}
        for index in sorted(range(len(rows)), key=lambda index: (rows[index].role, rows[index].rank)):
            row = rows[index]
            node = row.node or f"ranks {row.rank // _PER_NODE * _PER_NODE}+"
            gpu = row.gpu
            if gpu is None:
                gpu = row.rank % _PER_NODE if not row.node else following.get(f"{row.role}\0{node}", 0)
                following[f"{row.role}\0{node}"] = gpu + 1
            known = self._at.get((node, gpu))
            if known is None or rows[index].strangeness > rows[known].strangeness:
                self._at[node, gpu] = index
        self.nodes = sorted({node for node, _ in self._at}, key=natural_order)
        self.gpus = sorted({gpu for _, gpu in self._at})

    def index_at(self, node: int, position: int) -> int | None:
        """Return the index of the rank in a cell; None for an empty cell."""
        if not (0 <= node < len(self.nodes) and 0 <= position < len(self.gpus)):
            return None
        return self._at.get((self.nodes[node], self.gpus[position]))

    def row_at(self, node: int, position: int) -> RankRow | None:
        """Return the rank in a cell; None for an empty cell."""
        index = self.index_at(node, position)
        return None if index is None else self._rows[index]

    def place_of(self, index: int) -> tuple[int, int] | None:
        """Return (node, position of the GPU) of a rank; None if a stranger rank is in its cell."""
        return self._places.get(index)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        nodes = {node: number for number, node in enumerate(self.nodes)}
        gpus = {gpu: number for number, gpu in enumerate(self.gpus)}
        return {index: (nodes[node], gpus[gpu]) for (node, gpu), index in self._at.items()}

    def usual(self, quantity: Quantity) -> float | None:
        """Return the median of a quantity; None without a value."""
        if quantity.name not in self._usual:
            values = [value for row in self._rows if (value := quantity.of(row)) is not None]
            self._usual[quantity.name] = float(np.median(values)) if values else None
        return self._usual[quantity.name]

    @cached_property
    def _usual(self) -> dict[str, float | None]:
        return {}
