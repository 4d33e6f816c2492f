"""The peak of GPU memory over the run: a line for each of the phases that fill a device most."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels._chart import chart_of
from tuimon.panels._curves import MAX_LINES
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._memory import gpu_table, short_titles
from tuimon.panels._select import curve_or_none
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

TITLE = "GPU memory peak"
_KINDS = ("max_reserved_frac", "max_allocated_frac", "max_reserved", "max_allocated", "reserved", "allocated", "used")
"""The first that is there is drawn."""


class GpuPeak(Struct, frozen=True):
    id: str = "gpu_peak"
    title: str = TITLE
    order: int = 98
    kind: str = "chart"
    rows: int = 0
    concepts: tuple[str, ...] = ()

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags."""
        return bool(gpu_table(run.metrics).phases)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> ChartView:
        """Each line is of the device that is fullest in its phase."""
        table = gpu_table(run.metrics)
        kind = next((kind for kind in _KINDS if table.has(kind)), "")
        found = sorted(self._fullest(run, kind), key=lambda one: -one[0])
        labels = {curve.metric: label for _, label, curve in found}
        curves = [(curve.metric, classify(curve.metric), curve) for *_, curve in found]
        shown = curves[:MAX_LINES]
        left = len(curves) - len(shown)
        return chart_of(run, TITLE, shown, size, symbols, "linear", left, (), look, labels.__getitem__, self.id)

    def _fullest(self, run: Run, kind: str) -> Iterator[tuple[float, str, Curve]]:
        """(highest value, label, curve) of each phase."""
        table = gpu_table(run.metrics)
        several = len(table.columns) > 1
        for phase, title in zip(table.phases, short_titles(table.phases), strict=True):
            known = []
            for column in table.columns:
                metric = table.metric_of.get((phase, column, kind))
                curve = curve_or_none(run, metric) if metric else None
                if curve is not None and curve.last is not None:
                    known.append((curve.last.value, column, curve))
            if known:
                value, column, curve = max(known, key=lambda one: one[0])
                yield value, f"{title} {column}" if several else title, curve


PANEL = GpuPeak()
