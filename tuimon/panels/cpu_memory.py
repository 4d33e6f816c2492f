"""Memory of the training processes: the resident set in each phase, to detect leaks."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.numbers import format_value
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.curve_panel import MAX_LINES
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._memory import in_one_unit, phase_order
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.store import Run
from tuimon.vocabulary import memory_of, unit_text

TITLE = "CPU memory"


class CpuMemory(Struct, frozen=True):
    id: str = "cpu_memory"
    title: str = TITLE
    order: int = 140
    kind: str = "chart"
    rows: int = 0
    concepts: tuple[str, ...] = ("cpu.memory",)

    def relevant(self, run: Run) -> bool:
        """Whether the run logs memory of its processes."""
        return "cpu.memory" in by_concept(run.tracked_metrics)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return a line for each of the phases with the largest processes; the note has the virtual memory."""
        resident: list[tuple[float, tuple[int, str], str]] = []
        virtual: list[tuple[float, str]] = []
        for name in by_concept(run.tracked_metrics).get("cpu.memory", ()):
            tag, curve = memory_of(name), curve_or_none(run, name)
            last = curve.last if curve else None
            if tag is None or last is None:
                continue
            if tag.kind == "vms":
                virtual.append((last.value * tag.scale, unit_text(meaning_of(run, name).unit)))
            elif tag.snapshot != "start":
                resident.append((-last.value, phase_order(tag.phase), name))
        chosen = [name for *_, name in sorted(resident)]
        curves = in_one_unit([(name, meaning_of(run, name), run.curve(name)) for name in chosen])[:MAX_LINES]
        left = len(chosen) - len(curves)
        view = chart_of(run, TITLE, curves, size, symbols, left=left, options=options, label=_label, panel=self.id)
        virtual_note = [f"virtual {format_value(*max(virtual))}"] if virtual else []
        return replace(view, note=", ".join(filter(None, [*virtual_note, view.note])))


def _label(name: str) -> str:
    tag = memory_of(name)
    return tag.phase.replace("/", ".") if tag else ""


PANEL = CpuMemory()
