"""The machine that the logs are on: GPUs (memory, load, power, temperature, processes), CPU, memory, free disk space.

Displayed for an active run, if the machine has GPUs or runs out of memory or disk space (a common cause of crashes).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import ACTIVE
from tuimon.draw.heat import level
from tuimon.draw.numbers import format_bytes, format_fraction
from tuimon.draw.table import aligned
from tuimon.model.machine import Disk, Gpu, GpuProcess, Machine
from tuimon.model.views import Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels.system_history import HOT, IDLE, WORKING
from tuimon.store import Run
from tuimon.store.arrays import median
from tuimon.text import cell_width, clean, fit

MEMORY_SHORT = 0.95
"""Fraction of the machine's memory in use at which a warning is displayed."""
_BAR = 10
_GAP: Span = ("  ", Role.MUTED)


class MachinePanel(Panel, frozen=True):
    """GPUs, CPU, memory and disk as they are now."""

    def relevant(self, run: Run) -> bool:
        """Whether the run is active, and the machine has GPUs or is short of memory or disk space."""
        machine = run.machine
        if machine is None:
            return False
        disk = machine.disk_of(run.path)
        if not (machine.gpus or short_of_memory(machine) or (disk is not None and disk.nearly_full())):
            return False
        return progress_of(run, machine.time).state in ACTIVE

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return a row for each GPU, and one for CPU, memory and disk."""
        machine = run.machine
        if machine is None:
            return TextView(self.title, (), note="the first measurement of this machine has not arrived yet")
        host = _host(machine, machine.disk_of(run.path))
        room = max(size.height - 2, 1)
        gpus = _gpus(machine.gpus, size.width)
        left = len(gpus) - room
        if left > 0:
            gpus = [*gpus[: room - 1], ((f"+{left + 1} more", Role.MUTED),)]
        return TextView(self.title, (*gpus, host) if size.height > 1 or not gpus else (host,), _headline(machine.gpus))


def short_of_memory(machine: Machine) -> bool:
    """Whether the memory of the machine (not its GPUs) is nearly used up."""
    return (machine.memory_used or 0) > (machine.memory_total or 0) * MEMORY_SHORT > 0


def _headline(gpus: Sequence[Gpu]) -> Row:
    """Return the mean utilisation, and the model if all GPUs have the same."""
    names = {_model(gpu) for gpu in gpus}
    known = [gpu.utilisation for gpu in gpus if gpu.utilisation is not None]
    spans: list[Span] = [(f"{format_fraction(sum(known) / len(known))} busy", Role.VALUE)] if known else []
    if len(names) == 1:
        spans.append((f"  {len(gpus)} × {names.pop()}" if len(gpus) > 1 else f"  {names.pop()}", Role.MUTED))
    return tuple(spans)


def _model(gpu: Gpu) -> str:
    return clean(gpu.name).removeprefix("NVIDIA ")


def _host(machine: Machine, disk: Disk | None) -> Row:
    parts: list[Row] = []
    if machine.cpu is not None:
        cores = (f" of {machine.cores}", Role.MUTED)
        parts.append((("CPU ", Role.MUTED), (format_fraction(machine.cpu), Role.TEXT), cores))
    if machine.memory_used is not None and machine.memory_total:
        role = Role.WARNING if short_of_memory(machine) else Role.TEXT
        parts.append((("RAM ", Role.MUTED), (_of(machine.memory_used, machine.memory_total), role)))
    if disk is not None:
        role = Role.WARNING if disk.nearly_full() else Role.TEXT
        left = f"{format_bytes(disk.free)} of {format_bytes(disk.total)} left"
        parts.append((("disk ", Role.MUTED), (left, role)))
    parts.sort(key=lambda part: part[1][1] is not Role.WARNING)  # warnings first: they are not cut off
    return tuple(span for number, part in enumerate(parts) for span in ((_GAP,) if number else ()) + part)


def _gpus(gpus: Sequence[Gpu], width: int) -> list[Row]:
    """Return rows with aligned columns; the rightmost are left out if they do not fit (processes, then temperature)."""
    several = len({_model(gpu) for gpu in gpus}) > 1
    known = [gpu.utilisation for gpu in gpus if gpu.utilisation is not None]
    working = bool(known) and median(np.array(known)) > WORKING
    cells = [_cells(gpu, several, working) for gpu in gpus]
    texts = {place for place in range(len(cells[0])) if cells[0][place][1] is Role.MUTED} if cells else set()
    return aligned(cells, width, left={1, *texts})


def _cells(gpu: Gpu, named: bool, working: bool) -> tuple[Span, ...]:
    """Return the cells of a GPU. named: with its model; working: most GPUs are busy, so an idle one is highlighted."""
    part = gpu.memory_used / gpu.memory_total if gpu.memory_total else 0.0
    bar = round(min(part, 1.0) * _BAR)
    idle = working and gpu.utilisation is not None and gpu.utilisation < IDLE
    hot = (gpu.celsius or 0.0) >= HOT
    return (
        (str(gpu.index), Role.TEXT),
        ("█" * bar + "░" * (_BAR - bar), level(part)),
        (_of(gpu.memory_used, gpu.memory_total), Role.VALUE),
        (_percent(gpu.utilisation), Role.WARNING if idle else Role.TEXT),
        ("" if gpu.watts is None else f"{gpu.watts:.0f} W", Role.TEXT),
        ("" if gpu.celsius is None else f"{gpu.celsius:.0f} °C", Role.WARNING if hot else Role.TEXT),
        (fit(_model(gpu), min(cell_width(_model(gpu)), 20)) if named else "", Role.MUTED),
        (", ".join(map(_process, gpu.processes[:2])), Role.MUTED),
    )


def _process(process: GpuProcess) -> str:
    name = clean(process.name)
    return f"{fit(name, min(cell_width(name), 24))} {process.pid}".strip()


def _percent(part: float | None) -> str:
    return "" if part is None else format_fraction(part)


def _of(used: int, total: int) -> str:
    """Return "71.0/80.0 GiB"."""
    unit = format_bytes(total).rpartition(" ")[2]
    return f"{format_bytes(used, unit).removesuffix(f' {unit}')}/{format_bytes(total)}"


PANEL = MachinePanel("machine", "machine", 54, rows=10, live=True)
