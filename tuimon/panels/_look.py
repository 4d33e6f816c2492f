"""How charts are looked at: what a person's keys have chosen, the same for all charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from tuimon.store import Run

Value = TypeVar("Value")


def passing(default: Value) -> Value:
    """A field that is not kept from one start to the next."""
    made: Value = field(default=default, metadata={"passing": True})
    return made


@dataclass(frozen=True, slots=True)
class Look:
    """The default is what a person sees who has pressed nothing."""

    axis: str = "step"
    """What charts are drawn against, one of run.axes()."""

    def axis_of(self, run: Run | None) -> str:
        """The axis, where the run has it; else step."""
        return self.axis if run is not None and (self.axis == "step" or self.axis in run.axes()) else "step"


PLAIN = Look()
