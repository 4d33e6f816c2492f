"""How charts are looked at: what a person's keys have chosen, the same for all charts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from tuimon.draw.window import Window
from tuimon.panels._over import Over
from tuimon.store import Run

Value = TypeVar("Value")
PASSING = {"passing": True}
SMOOTHINGS = (0.0, 0.6, 0.9, 0.97, 0.99)
Y_SCALES = ("auto", "linear", "log", "symlog")
Y_RANGES = ("full", "robust")


def passing(default: Value) -> Value:
    """A field that is not kept from one start to the next."""
    made: Value = field(default=default, metadata=PASSING)
    return made


@dataclass(frozen=True, slots=True)
class Look:
    """The default is what a person sees who has pressed nothing."""

    axis: str = "step"
    """What charts are drawn against, one of run.axes()."""
    window: Window | None = field(default=None, metadata=PASSING)
    """The part of that axis that is shown; None: all of it."""
    cursor: int | None = field(default=None, metadata=PASSING)
    """The step whose values are read off; None: the last values are told."""
    smoothing: float = 0.0
    """Weight of the average that is drawn over the raw values, 0 <= weight < 1; 0: none."""
    y_scale: str = "auto"
    """linear | log | symlog, or as each chart has it."""
    y_range: str = "full"
    """full: all that is in the window | robust: without outliers, which arrows tell of."""
    y_fixed: tuple[tuple[str, float, float], ...] = field(default=(), metadata=PASSING)
    """(id of a panel, low, high): charts whose limits stay as they are."""
    pins: tuple[str, ...] = ()
    """Ids of the charts that come first, the one pinned last at the end."""
    alone: bool = field(default=False, metadata=PASSING)
    """The chart has the screen to itself and may say more."""

    over: tuple[Over, ...] = field(default=(), metadata=PASSING)
    """What charts lay over each other, the run that is shown first; (): that run alone."""
    base: Run | None = field(default=None, metadata=PASSING)
    """What values are held against."""

    def axis_of(self, run: Run | None) -> str:
        """The axis, where the run has it; else step."""
        return self.axis if run is not None and (self.axis == "step" or self.axis in run.axes()) else "step"

    @property
    def weight(self) -> float:
        """That of the average; 0 where a kept view holds none that is one."""
        return self.smoothing if 0.0 <= self.smoothing < 1.0 else 0.0

    def fixed_limits(self, panel: str) -> tuple[float, float] | None:
        """The limits that a chart was given, if it was."""
        return next(((low, high) for id, low, high in self.y_fixed if id == panel), None)

    def with_limits(self, panel: str, limits: tuple[float, float] | None) -> Look:
        """Gives them to a chart, or takes them back."""
        others = tuple(one for one in self.y_fixed if one[0] != panel)
        return replace(self, y_fixed=others if limits is None else (*others, (panel, *limits)))

    @property
    def changes(self) -> tuple[str, ...]:
        """What differs from the default, in a word or two each; the axis says itself."""
        told = [f"step {self.cursor}"] if self.cursor is not None else []
        if self.window is not None:
            told.append(self.window.word)
        if self.weight:
            told.append(f"smooth {self.weight:g}")
        told += [word for word in (self.y_scale, self.y_range) if word not in ("auto", "full")]
        return (*told, "fixed") if self.y_fixed else tuple(told)


PLAIN = Look()
