"""GPU memory at the stages of an operation: before, state loaded, peak, work done, state offloaded.

For each phase the device with the most memory in use is displayed, with the reserved memory that is not allocated and
the memory that offloading frees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from tuimon.draw.numbers import format_fraction, format_value
from tuimon.model.views import HeatView, Role, Row, Size, Span, Symbols
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._memory import STAGES, gpu_table, phase_order, phase_title, stage_metrics
from tuimon.panels._metrics import curve_or_none
from tuimon.store import Run

TITLE = "GPU memory timeline"
COLUMNS = ("before", "loaded", "peak", "done", "left")
_SHORT = ("pre", "load", "peak", "done", "left")
"""Short headings for narrow panels."""
_CELLS = ((0, ""), (1, ""), (2, "max_"), (2, ""), (3, ""))
"""(index into STAGES, prefix of the kind) of each column."""
_DONE, _LEFT = 3, 4
_MAX_SAMPLES = 9
"""Maximum number of tags from which the size of a device is derived."""
_END = STAGES.index(("end", "onload"))
_WASTED, _MUCH = 0.05, 0.15
"""Fractions of a device, reserved but not allocated, at which this is reported, and highlighted."""


class PhaseTimeline(Struct, frozen=True):
    """Memory (GiB, NaN if not logged) by column, of one phase on the device with the most memory in use."""

    phase: str
    allocated: tuple[float, ...]
    reserved: tuple[float, ...]

    @property
    def name(self) -> str:
        """Name of the phase in all panels."""
        return phase_title(self.phase)

    @property
    def idle(self) -> float:
        """Memory reserved but not allocated at the end of the work: lost to fragmentation."""
        return self.reserved[_DONE] - self.allocated[_DONE]

    @property
    def freed(self) -> float:
        """Allocated memory that offloading frees."""
        return self.allocated[_DONE] - self.allocated[_LEFT]


class GpuTimeline(Struct, frozen=True):
    id: str = "gpu_moments"
    title: str = TITLE
    order: int = 52
    kind: str = "heat"
    rows: int = 12

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags of more than one stage of an operation."""
        return len({stage for _, _, stage, _ in stage_metrics(run.metrics)}) > 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> HeatView:
        """Return allocated and reserved memory as fractions of the device, or of the maximum if its size is unknown."""
        timelines = read_timelines(run)
        total = capacity(run)
        amounts = np.array([[line.allocated, line.reserved] for line in timelines])
        most = float(np.nanmax(amounts)) if np.isfinite(amounts).any() else 0.0
        whole = total or most
        if whole <= 0:
            return HeatView(TITLE, (), (), (), (), note="no points yet")
        names = tuple(line.name for line in timelines)
        shares = [
            [tuple(x if np.isfinite(x) else None for x in row) for row in pair] for pair in (amounts / whole).tolist()
        ]
        second, cells = zip(*shares, strict=True)
        reserved = amounts[:, 1]
        row, column = np.unravel_index(int(np.argmax(np.nan_to_num(reserved, nan=-1.0))), reserved.shape)
        heads = COLUMNS if size.width > max(map(len, names)) + len(COLUMNS) * (len(COLUMNS[0]) + 1) else _SHORT
        of = f"the device ({format_value(total, 'GiB')})" if total else f"the most ({format_value(most, 'GiB')})"
        headline: Row = ((format_value(most, "GiB"), Role.VALUE), (" peak", Role.MUTED))
        note = f"% of {of} reserved / allocated, of each phase on its fullest device"
        peak = (int(row), int(column)) if np.isfinite(reserved).any() else None
        return HeatView(TITLE, headline, names, heads, cells, second, peak, _sentence(timelines, total), note)


_StageMetrics = Mapping[tuple[str, str, int, str], str]


def read_timelines(run: Run) -> list[PhaseTimeline]:
    """Return the newest values of each phase, in the order of the step."""
    metrics = stage_metrics(run.metrics)
    phases = sorted({phase for phase, *_ in metrics}, key=phase_order)
    columns = sorted({column for _, column, *_ in metrics})
    timelines = []
    for phase in phases:
        column = max(columns, key=lambda column: _peak(run, metrics, phase, column))
        allocated, reserved = (
            tuple(_last(run, metrics, (phase, column, stage, prefix + kind)) for stage, prefix in _CELLS)
            for kind in ("allocated", "reserved")
        )
        if np.isfinite((allocated, reserved)).any():
            timelines.append(PhaseTimeline(phase, allocated, reserved))
    return timelines


def _peak(run: Run, metrics: _StageMetrics, phase: str, column: str) -> float:
    """Return the peak (GiB) of a phase on a device, by the first kind that was logged; -1 without a value."""
    for kind in ("max_reserved", "max_allocated", "reserved", "allocated"):
        for stage in (_END, 1, 0, 3):
            value = _last(run, metrics, (phase, column, stage, kind))
            if np.isfinite(value):
                return value
    return -1.0


def _last(run: Run, metrics: _StageMetrics, key: tuple[str, str, int, str]) -> float:
    """Return the last finite value of a metric; NaN without one."""
    metric = metrics.get(key)
    curve = curve_or_none(run, metric) if metric else None
    return curve.last.value if curve is not None and curve.last is not None else float("nan")


def capacity(run: Run) -> float:
    """Return the memory of a device (GiB), from peaks logged both in GiB and as a fraction; 0 if unknown."""
    table, metrics = gpu_table(run.metrics), stage_metrics(run.metrics)
    sizes: list[float] = []
    for (phase, column, kind), fraction in table.metric_of.items():
        if not kind.endswith("_frac") or len(sizes) == _MAX_SAMPLES:
            continue
        gibibytes = _last(run, metrics, (phase, column, _END, kind.removesuffix("_frac")))
        curve = curve_or_none(run, fraction)
        if np.isfinite(gibibytes) and curve is not None and curve.last is not None and curve.last.value > 0:
            sizes.append(gibibytes / (curve.last.value * table.scale_of[fraction]))
    size = float(np.median(sizes)) if sizes else 0.0
    return size if np.isfinite(size) and size > 0 else 0.0


def _sentence(timelines: Sequence[PhaseTimeline], device: float) -> Row:
    """Return the largest amount freed by offloading, and the largest reserved but unused. device: GiB; 0 unknown."""
    spans: list[Span] = []
    freed = [line for line in timelines if line.freed > 0]
    if freed:
        line = max(freed, key=lambda line: line.freed)
        of = f"{format_value(line.freed, 'GiB')} of {format_value(line.allocated[_DONE], 'GiB')}"
        spans.append((f"offload frees {of} in {line.name}", Role.TEXT))
    wasted = [line for line in timelines if line.idle > device * _WASTED]
    if wasted:
        line = max(wasted, key=lambda line: line.idle)
        share = f" ({format_fraction(line.idle / device)} of the device)" if device > 0 else ""
        amount = f"{format_value(line.idle, 'GiB')}{share} reserved but not allocated after {line.name}"
        spans += [("; ", Role.TEXT)] * bool(spans)
        spans.append((amount, Role.WARNING if 0 < device * _MUCH < line.idle else Role.TEXT))
    return tuple(spans)


PANEL = GpuTimeline()
