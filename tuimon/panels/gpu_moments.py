"""What an operation does to GPU memory: before it, with its state loaded, at its peak, when done, moved back; how much
of what is reserved lies idle, and what offloading gives back. Of each phase, the device that is fullest in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from tuimon.draw.numbers import format_fraction, format_value
from tuimon.model.views import HeatView, Role, Row, Size, Span, Symbols
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._memory import MOMENTS, gpu_table, moments_of, phase_order, phase_title, short_titles
from tuimon.panels._select import curve_or_none
from tuimon.store import Run

TITLE = "GPU memory by moment"
COLUMNS = ("before", "loaded", "peak", "done", "left")
_SHORT = ("pre", "load", "peak", "done", "left")
"""What the columns are called where there is no room."""
_READ = ((0, ""), (1, ""), (2, "max_"), (2, ""), (3, ""))
"""Of each column: the moment, and the beginning of the kind."""
_DONE, _LEFT = 3, 4
_ASKED = 9
"""Tags that a device's size is worked out from."""
_END = MOMENTS.index(("end", "onload"))
_WASTED = 0.05
"""Part of a device that is reserved and idle, from which it is said …"""
_MUCH = 0.15
"""… and coloured."""


class PhaseMoments(Struct, frozen=True):
    """One phase on the device that is fullest in it. GiB by column, NaN where not logged."""

    phase: str
    device: str
    allocated: tuple[float, ...]
    reserved: tuple[float, ...]

    @property
    def idle(self) -> float:
        """Reserved but not allocated when the work is done: what fragments hold."""
        return self.reserved[_DONE] - self.allocated[_DONE]

    @property
    def given_back(self) -> float:
        """By the offload, of what was allocated."""
        return self.allocated[_DONE] - self.allocated[_LEFT]


class GpuMoments(Struct, frozen=True):
    id: str = "gpu_moments"
    title: str = TITLE
    order: int = 52
    kind: str = "heat"
    rows: int = 12
    concepts: tuple[str, ...] = ()

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags of more than one moment of an operation."""
        return len({moment for _, _, moment, _ in moments_of(run.metrics)}) > 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> HeatView:
        """Allocated and reserved as parts of the device; of the largest number where its size is not known."""
        found = read_moments(run)
        total, known = capacity(run)
        most = max(
            (value for one in found for value in (*one.allocated, *one.reserved) if np.isfinite(value)), default=0
        )
        whole = total if known else most
        if not found or whole <= 0:
            return HeatView(TITLE, (), (), (), (), note="no points yet")
        phases = [one.phase for one in found]
        names = tuple(map(phase_title, phases))
        if max(map(len, names)) > size.width * 2 // 5:
            names = short_titles(phases)
        cells = tuple(_parts(one.reserved, whole) for one in found)
        heads = COLUMNS if size.width > max(map(len, names)) + len(COLUMNS) * (len(COLUMNS[0]) + 1) else _SHORT
        of = f"the device ({format_value(total, 'GiB')})" if known else f"the most ({format_value(most, 'GiB')})"
        headline: Row = ((format_value(most, "GiB"), Role.VALUE), (" peak", Role.MUTED))
        return HeatView(
            TITLE,
            headline,
            names,
            heads,
            cells,
            tuple(_parts(one.allocated, whole) for one in found),
            _highest(cells),
            _sentence(found, names, whole if known else 0.0),
            f"% of {of} reserved / allocated, of each phase on its fullest device",
        )


def read_moments(run: Run) -> list[PhaseMoments]:
    """The newest numbers of each phase, in the order of the step."""
    metrics = moments_of(run.metrics)
    phases = sorted({phase for phase, *_ in metrics}, key=phase_order)
    columns = sorted({column for _, column, *_ in metrics})
    found = []
    for phase in phases:
        column = max(columns, key=lambda column: _peak(run, metrics, phase, column))
        numbers = _numbers(run, metrics, phase, column)
        if np.isfinite(numbers).any():
            found.append(PhaseMoments(phase, column, *numbers))
    return found


def _peak(run: Run, metrics: Mapping[tuple[str, str, int, str], str], phase: str, column: str) -> float:
    """The highest of a phase on a device in GiB, by the first kind that was logged; below 0 where none was."""
    for kind in ("max_reserved", "max_allocated", "reserved", "allocated"):
        for moment in (_END, 1, 0, 3):
            metric = metrics.get((phase, column, moment, kind))
            curve = curve_or_none(run, metric) if metric else None
            if curve is not None and curve.last is not None:
                return curve.last.value
    return -1.0


def _numbers(
    run: Run, metrics: Mapping[tuple[str, str, int, str], str], phase: str, column: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    def last(moment: int, kind: str) -> float:
        metric = metrics.get((phase, column, moment, kind))
        curve = curve_or_none(run, metric) if metric else None
        return curve.last.value if curve is not None and curve.last is not None else float("nan")

    allocated, reserved = (
        tuple(last(moment, begin + kind) for moment, begin in _READ) for kind in ("allocated", "reserved")
    )
    return allocated, reserved


def capacity(run: Run) -> tuple[float, bool]:
    """(GiB of a device, whether it is known): a peak in GiB by the same peak as a part of the device."""
    table, metrics = gpu_table(run.metrics), moments_of(run.metrics)
    sizes = []
    for (phase, column, kind), fraction in table.metric_of.items():
        plain = metrics.get((phase, column, _END, kind.removesuffix("_frac"))) if kind.endswith("_frac") else None
        part, size = curve_or_none(run, fraction), curve_or_none(run, plain) if plain else None
        if part is None or size is None or part.last is None or size.last is None or part.last.value <= 0:
            continue
        sizes.append(size.last.value / (part.last.value * table.scale_of[fraction]))
        if len(sizes) == _ASKED:
            break
    found = float(np.median(sizes)) if sizes else 0.0
    return found, bool(np.isfinite(found)) and found > 0


def _parts(numbers: Sequence[float], whole: float) -> tuple[float | None, ...]:
    return tuple(number / whole if np.isfinite(number) else None for number in numbers)


def _highest(cells: Sequence[Sequence[float | None]]) -> tuple[int, int] | None:
    known = [(value, (r, c)) for r, row in enumerate(cells) for c, value in enumerate(row) if value is not None]
    return max(known, key=lambda one: one[0])[1] if known else None


def _sentence(found: Sequence[PhaseMoments], names: Sequence[str], device: float) -> Row:
    """What offloading gives back at most, and where most is reserved for nothing. device: GiB; 0 unknown."""
    said: list[Span] = []
    back = [(one.given_back, one, name) for one, name in zip(found, names, strict=True) if one.given_back > 0]
    if back:
        gained, one, name = max(back, key=lambda item: item[0])
        of = f"{format_value(gained, 'GiB')} of {format_value(one.allocated[_DONE], 'GiB')}"
        said.append((f"offload gives back {of} in {name}", Role.TEXT))
    wasted = [(one.idle, name) for one, name in zip(found, names, strict=True) if one.idle > device * _WASTED]
    if wasted:
        idle, name = max(wasted)
        share = f" ({format_fraction(idle / device)} of the device)" if device > 0 else ""
        text = f"{'; ' if said else ''}{format_value(idle, 'GiB')}{share} reserved but not allocated after {name}"
        said.append((text, Role.WARNING if 0 < device * _MUCH < idle else Role.TEXT))
    return tuple(said)


PANEL = GpuMoments()
