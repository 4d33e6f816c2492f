"""GPU memory over the run, the peak if it is logged: a line for each of the phases that use most."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.printed_units import meaning_of
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.curve_panel import MAX_LINES
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._memory import gpu_table, in_one_unit, memory_title, phase_title
from tuimon.panels._metrics import curve_or_none
from tuimon.store import Curve, Run

TITLE = "GPU memory peak"
_KINDS = (
    "max_reserved_frac", "max_allocated_frac", "max_reserved", "max_allocated", "reserved", "allocated", "used",
    "max_memory", "memory",
)  # fmt: skip
"""Kinds of memory tags by priority; the first one that was logged is drawn."""


class GpuPeak(Struct, frozen=True):
    id: str = "gpu_peak"
    title: str = TITLE
    order: int = 98
    kind: str = "chart"
    rows: int = 0

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags."""
        return bool(gpu_table(run.metrics).phases)

    def fitted(self, run: Run) -> GpuPeak:
        """Return the panel with the title of what it draws."""
        return replace(self, title=memory_title(gpu_table(run.metrics), _kind(run)))

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return a line per phase, of the device with the most memory in use."""
        table = gpu_table(run.metrics)
        kind = _kind(run)
        peaks = sorted(self._peaks(run, kind), key=lambda peak: -peak[0])
        labels = {curve.metric: label for _, label, curve in peaks}
        curves = [(curve.metric, meaning_of(run, curve.metric), curve) for *_, curve in peaks]
        shown = in_one_unit(curves)[:MAX_LINES]
        left = len(curves) - len(shown)
        title = memory_title(table, kind)
        return chart_of(run, title, shown, size, symbols, "linear", left, (), options, labels.__getitem__, self.id)

    def _peaks(self, run: Run, kind: str) -> Iterator[tuple[float, str, Curve]]:
        """Yield (last value, label, curve) of the fullest device of each phase."""
        table = gpu_table(run.metrics)
        several = len(table.columns) > 1
        for phase in table.phases:
            title, known = phase_title(phase), []
            for column in table.columns:
                metric = table.metric_of.get((phase, column, kind))
                curve = curve_or_none(run, metric) if metric else None
                if curve is not None and curve.last is not None:
                    known.append((curve.last.value, column, curve))
            if known:
                value, column, curve = max(known, key=lambda entry: entry[0])
                yield value, f"{title} {column}" if several else title, curve


def _kind(run: Run) -> str:
    """Return the kind of memory tag that is drawn."""
    table = gpu_table(run.metrics)
    return next((kind for kind in _KINDS if table.has(kind)), "")


PANEL = GpuPeak()
