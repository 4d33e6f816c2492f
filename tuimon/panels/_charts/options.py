"""Display options of charts: what the user has chosen by keys, the same for all charts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from tuimon.analysis.aligned_steps import step_name
from tuimon.draw.window import Window
from tuimon.model.alerts import Alert
from tuimon.panels._charts.overlay_lines import OverlayLine
from tuimon.run_notes import NO_NOTE, RunNote
from tuimon.store import Run

Value = TypeVar("Value")
_TRANSIENT = {"transient": True}
SMOOTHINGS = (0.0, 0.6, 0.9, 0.97, 0.99)
X_KINDS = dict.fromkeys(("step", "relative step", "samples", "tokens"), "step") | {
    "time": "time",
    "duration": "duration",
}
"""Name of an x axis -> Axis.kind; all others are plain numbers."""
Y_SCALES = ("auto", "linear", "log")
Y_RANGES = ("full", "robust")


def transient(default: Value) -> Value:
    """Define a dataclass field that is not saved for the next start."""
    value: Value = field(default=default, metadata=_TRANSIENT)
    return value


@dataclass(frozen=True, slots=True)
class ChartOptions:
    """Display options; the defaults apply until the user presses a key."""

    axis: str = "step"
    """Name of the x axis: one of run.axes(), or "metric:NAME"."""
    axis_named: bool = transient(False)
    """The axis is named elsewhere on the screen, so that charts do not repeat it."""
    window: Window | None = field(default=None, metadata=_TRANSIENT)
    """The visible part of the x axis; None for all of it."""
    cursor: int | None = field(default=None, metadata=_TRANSIENT)
    """Step whose values charts display; None for the last values."""
    smoothing: float | None = None
    """Weight of the exponential average, 0 <= weight < 1; 0 turns it off. None: only noisy runs that are drawn over
    each other are smoothed, see `traces.is_noisy`."""
    y_scale: str = "auto"
    """linear | log | auto (each panel's own scale)."""
    y_range: str = "full"
    """full: all values in the window | robust: without outliers, which arrows at the edge indicate."""
    y_fixed: tuple[tuple[str, float, float], ...] = field(default=(), metadata=_TRANSIENT)
    """(panel id, low, high) of charts with fixed y limits."""
    pins: tuple[str, ...] = ()
    """Ids of the panels that come first, in the order in which they were pinned."""
    fullscreen: bool = field(default=False, metadata=_TRANSIENT)
    """The chart has the screen to itself and shows more details."""

    thresholds: tuple[tuple[str, tuple[float, ...]], ...] = transient(())
    """(panel, metric, concept or pattern, values in the unit of the chart) that are drawn as lines."""
    values: tuple[str, ...] = transient(())
    """Patterns of metrics whose last value the header shows."""

    alerts: tuple[Alert, ...] = transient(())
    """Alerts whose beginnings are marked on charts of their metrics, and whose number the header has."""
    note: RunNote = field(default=NO_NOTE, metadata=_TRANSIENT)
    """Note of the user about the displayed run, whose steps are marked."""

    overlay: tuple[OverlayLine, ...] = field(default=(), metadata=_TRANSIENT)
    """Lines of runs drawn over each other, the displayed run first; () to draw that run alone."""
    base: Run | None = field(default=None, metadata=_TRANSIENT)
    """The run with which values are compared."""
    seeds: tuple[Run, ...] = field(default=(), metadata=_TRANSIENT)
    """The base and the runs that differ from it only in their seed, which lie behind the chart of another run."""

    def axis_of(self, run: Run | None) -> str:
        """Return the chosen axis if the run has it, else the steps, or the time if it counts none."""
        if run is None:
            return "step"
        usual = run.axes()[0]
        return self.axis if self.axis != "step" and run.has_axis(self.axis) else usual

    @property
    def weight(self) -> float:
        """Weight of the average; 0 if a saved view holds an invalid one."""
        return self.smoothing if self.smoothing is not None and 0.0 <= self.smoothing < 1.0 else 0.0

    def fixed_limits(self, panel: str) -> tuple[float, float] | None:
        """Return the fixed y limits of the panel with this id, or None."""
        return next(((low, high) for id, low, high in self.y_fixed if id == panel), None)

    def with_limits(self, panel: str, limits: tuple[float, float] | None) -> ChartOptions:
        """Return a copy in which the panel has these y limits; None removes them."""
        others = tuple(entry for entry in self.y_fixed if entry[0] != panel)
        return replace(self, y_fixed=others if limits is None else (*others, (panel, *limits)))

    def changes(self, run: Run | None) -> tuple[str, ...]:
        """Return the differences from the defaults, in one or two words each; without the axis, which charts label.

        run: the run that is shown.
        """
        words = []
        if self.cursor is not None:
            words.append(f"{'step' if run is None else step_name(run)} {self.cursor}")
        if self.window is not None:
            words.append(self.window.word(X_KINDS.get(self.axis_of(run), "number")))
        if self.weight:
            words.append(f"smooth {self.weight:g}")
        words += [word for word in (self.y_scale, self.y_range) if word not in ("auto", "full")]
        return (*words, "fixed") if self.y_fixed else tuple(words)


DEFAULTS = ChartOptions()
