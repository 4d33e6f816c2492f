"""StepUnit: what the steps of a log count."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Fact, Topic

_Mask = npt.NDArray[np.bool_]


class StepUnit:
    """Unit of the steps of one log, decided row by row and so independently of the batches.

    A progress fact names the unit of the first row with a step if it is not "step", and "step" as soon as a later row
    has another unit.
    """

    def __init__(self) -> None:
        self._unit = ""
        self._new: list[tuple[int, Fact]] = []

    def examine(self, has_step: _Mask, is_epoch: _Mask) -> None:
        """Examine the next rows. has_step: whether a row has a step; is_epoch: whether that step is its epoch."""
        rows = np.flatnonzero(has_step)
        if self._unit == "step" or not len(rows):
            return
        self.note("epoch" if is_epoch[rows[0]] else "step", int(rows[0]))
        others = rows[~is_epoch[rows]]
        if len(others):
            self.note("step", int(others[0]))

    def note(self, unit: str, row: int = 0) -> None:
        """Record the unit of the step of the next row: "step", "epoch", "round" or "iteration". row: its index."""
        if unit == self._unit or self._unit == "step":
            return
        if self._unit:
            unit = "step"
        if self._unit or unit != "step":
            self._new.append((row, Fact(Topic.PROGRESS, {"unit": unit})))
        self._unit = unit

    def take(self) -> list[Fact]:
        """Return the facts since the last call, and forget them."""
        return [fact for _, fact in self.take_by_row()]

    def take_by_row(self) -> list[tuple[int, Fact]]:
        """Return (index of the row among those examined, fact) for each fact since the last call, and forget them."""
        new, self._new = self._new, []
        return new
