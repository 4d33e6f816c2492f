"""Memory over the run, as a line for each of the phases that use most: of the GPUs, and of the training processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from tuimon.draw.numbers import format_value
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.curve_panel import MAX_LINES
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.traces import Series
from tuimon.panels._memory import gpu_table, memory_title, phase_order, phase_title
from tuimon.panels._metrics import MetricReading, by_concept, reading_of
from tuimon.store import Run
from tuimon.vocabulary import memory_of, unit_text

_KINDS = (
    "max_reserved_frac", "max_allocated_frac", "max_reserved", "max_allocated", "reserved", "allocated", "used",
    "max_memory", "memory",
)  # fmt: skip
"""Kinds of memory tags by priority; the first one that was logged is drawn."""

_Line = tuple[str, MetricReading]
"""(label, metric)."""


class GpuPeak(Struct, frozen=True):
    """GPU memory, the peak if it is logged."""

    id: str = "gpu_peak"
    title: str = "GPU memory peak"
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
        return _chart(run, self.fitted(run).title, self.id, _fullest_devices(run), size, symbols, options)


class CpuMemory(Struct, frozen=True):
    """Memory of the training processes: the resident set in each phase, to detect leaks."""

    id: str = "cpu_memory"
    title: str = "CPU memory"
    order: int = 140
    kind: str = "chart"
    rows: int = 0
    concepts: tuple[str, ...] = ("cpu.memory",)

    def relevant(self, run: Run) -> bool:
        """Whether the run logs memory of its processes."""
        return "cpu.memory" in by_concept(run.tracked_metrics)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return a line for each of the phases with the largest processes; the note has the virtual memory."""
        lines: list[_Line] = []
        virtual: list[tuple[float, str]] = []
        names = by_concept(run.tracked_metrics).get("cpu.memory", ())
        for reading in filter(None, (reading_of(run, (name,)) for name in names)):
            tag, last = memory_of(reading.metric), reading.curve.last
            if tag is not None and last is not None and tag.kind == "vms":
                virtual.append((last.value * tag.scale, unit_text(reading.meaning.unit)))
            elif tag is not None and tag.snapshot != "start":
                lines.append((tag.phase, reading))
        lines.sort(key=lambda line: phase_order(line[0]))
        named = [(phase.replace("/", "."), reading) for phase, reading in lines]
        view = _chart(run, self.title, self.id, named, size, symbols, options)
        note = f"virtual {format_value(*max(virtual))}" if virtual else ""
        return replace(view, notes=(note, *view.notes)) if note else view


def _chart(
    run: Run, title: str, panel: str, lines: Iterable[_Line], size: Size, symbols: Symbols, options: ChartOptions
) -> ChartView:
    """Return the chart of the lines with the highest last values, in the unit of the first: GB and GiB do not mix."""
    known = sorted(((line, last) for line in lines if (last := line[1].curve.last)), key=lambda item: -item[1].value)
    alike = [line for line, _ in known if line[1].meaning.unit == known[0][0][1].meaning.unit][:MAX_LINES]
    series = [Series(((run, reading),), label) for label, reading in alike]
    return chart_of(run, title, series, size, symbols, options, panel=panel, left=len(known) - len(alike))


def _fullest_devices(run: Run) -> Iterator[_Line]:
    """Yield the fullest device of each phase: ("actor_train.train_step 7", its metric)."""
    table, kind = gpu_table(run.metrics), _kind(run)
    for phase in table.phases:
        devices = [
            (reading.curve.last.value, column, reading)
            for column in table.columns
            if (metric := table.metric_of.get((phase, column, kind))) is not None
            and (reading := reading_of(run, (metric,))) is not None
            and reading.curve.last is not None
        ]
        if devices:
            _, column, reading = max(devices, key=lambda device: device[0])
            yield (f"{phase_title(phase)} {column}" if len(table.columns) > 1 else phase_title(phase)), reading


def _kind(run: Run) -> str:
    """Return the kind of memory tag that is drawn."""
    table = gpu_table(run.metrics)
    return next((kind for kind in _KINDS if table.has(kind)), "")


PANELS = (GpuPeak(), CpuMemory())
