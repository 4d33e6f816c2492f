"""StepUnit: whether the steps of a log are epochs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tuimon.model.points import Fact, Topic

_Mask = npt.NDArray[np.bool_]


class StepUnit:
    """Unit of the steps of one log, decided row by row and so independently of the batches.

    A progress fact names the unit "epoch" if the first row with a step has no step but its epoch, and "step" as soon as
    a later row has another step.
    """

    def __init__(self) -> None:
        self._unit = ""
        self._new: list[Fact] = []

    def examine(self, has_step: _Mask, is_epoch: _Mask) -> None:
        """Examine the next rows. has_step: whether a row has a step; is_epoch: whether that step is its epoch."""
        rows = np.flatnonzero(has_step)
        if self._unit == "step" or not len(rows):
            return
        if not self._unit and is_epoch[rows[0]]:
            self._set("epoch")
        if not is_epoch[rows].all():
            if self._unit:
                self._set("step")
            self._unit = "step"

    def take(self) -> list[Fact]:
        """Return the facts since the last call, and forget them."""
        new, self._new = self._new, []
        return new

    def _set(self, unit: str) -> None:
        self._unit = unit
        self._new.append(Fact(Topic.PROGRESS, {"unit": unit}))
