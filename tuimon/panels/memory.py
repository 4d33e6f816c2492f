"""Panels of memory: GPU memory by phase and device, at the stages of an operation, and over the run; CPU memory.

All of them read one table of the memory tags of a run: phases by devices, for each kind of measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite, nan
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.heat import fullest, level
from tuimon.draw.numbers import format_fraction, format_number, format_value
from tuimon.draw.rows import row_width
from tuimon.draw.table import aligned
from tuimon.model.views import SERIES_ROLES, ChartView, HeatView, Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.curve_panel import MAX_LINES
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.traces import Series
from tuimon.panels._metrics import MetricReading, by_concept, curve_or_none, reading_of
from tuimon.store import Run
from tuimon.vocabulary import BYTES, MemoryTag, memory_of, phase_of, unit_text

CONCEPTS = ("gpu.frac", "gpu.reserved", "gpu.allocated", "gpu.peak", "gpu.used", "memory.used")
FRACTIONS = {
    "max_reserved_frac": "reserved at most",
    "max_allocated_frac": "allocated at most",
    "used_frac": "in use",
}
"""Kinds that are fractions of the device, the preferred one first, and their words."""
_AMOUNTS = ("max_reserved", "max_allocated", "reserved", "allocated", "used", "max_memory", "memory")
"""Kinds that are amounts, in the same order."""
_WORDS = {"used": "in use", "memory": "in use"}
STAGES = (("start", "offload"), ("start", "onload"), ("end", "onload"), ("end", "offload"))
"""(snapshot, load) at the stages of ROLL's operations, in order: before, loaded, done, offloaded."""
_END = STAGES.index(("end", "onload"))
_PLACES = ((0, ""), (1, ""), (_END, "max_"), (_END, ""), (3, ""))
"""(index into STAGES, prefix of the kind) of the columns before, loaded, peak, done and left."""
_DONE, _LEFT = 3, 4
_COLUMNS = ("before", "loaded", "peak", "done", "left")
_SHORT = ("pre", "load", "peak", "done", "left")
"""Headings of these, and those for narrow panels."""
_ROLL_NOTE = "means over ranks, by each process's own device index"
_UNALARMING = 0.69
"""Fraction of the device whose colour the highest amount of memory has if the size of the device is not known."""
_AROUND, _AROUND_FRACTIONS = 4, 6
"""Rows besides those of the table: title, headings, number of the others, note; with fractions the scale and a longer
note."""
_SHORTEST_BAR, _LONGEST_BAR = 6, 40
"""Cells of a bar of the whole device; there is no bar if there is less room."""
_MAX_SAMPLES = 9
"""Maximum number of tags from which the size of a device is derived."""
_WASTED, _MUCH = 0.05, 0.15
"""Fractions of a device, reserved but not allocated, at which this is reported, and highlighted."""


# ---------------------------------------------------------------------- the table


class MemoryTable(Struct, frozen=True):
    """The GPU memory tags of a run by phase, device and kind."""

    phases: tuple[str, ...]
    """Phases as logged, in the order of the step; "" of tags without a phase."""
    columns: tuple[str, ...]
    """Devices: "0", "1" …; "node 1:0" on several machines; "all" if tags have no device."""
    kinds: tuple[str, ...]
    metric_of: Mapping[tuple[str, str, str], str]
    """(phase, column, kind) -> metric, of the snapshot that is closest to the peak of the phase."""
    staged: Mapping[tuple[str, str, int, str], str]
    """(phase, column, index into STAGES, kind) -> metric, for the amounts that ROLL logs by stage, in GiB."""
    scale_of: Mapping[str, float]
    """Metric -> factor to fractions, or to the unit of its meaning."""

    def has(self, *kinds: str) -> bool:
        """Whether any of these kinds was logged."""
        return any(kind in self.kinds for kind in kinds)

    def last(self, run: Run, metric: str | None) -> float:
        """Return the newest finite value of a metric in the unit of the table; NaN without one."""
        curve = curve_or_none(run, metric) if metric else None
        last = curve.last if curve else None
        return nan if last is None or metric is None else last.value * self.scale_of[metric]

    def title(self, kind: str = "") -> str:
        """Return the title of a panel: "GPU memory", or "memory" if no name says of which device it is; with what the
        kind measures, if one is given."""
        of_gpu = not {"memory", "max_memory"}.issuperset([kind] if kind else self.kinds) or not self.kinds
        return f"{'GPU ' if of_gpu else ''}memory {kind_words(kind)}".rstrip()


@lru_cache(maxsize=64)
def gpu_table(metrics: tuple[str, ...]) -> MemoryTable:
    """Return the table of the GPU memory tags among the metrics."""
    known = by_concept(metrics)
    tags = [(name, tag) for concept in CONCEPTS for name in known.get(concept, ()) if (tag := memory_of(name))]
    several_nodes = len({tag.node for _, tag in tags if tag.node is not None}) > 1
    best: dict[tuple[str, str, str], tuple[int, str]] = {}
    columns: dict[str, tuple[int, int]] = {}
    staged: dict[tuple[str, str, int, str], str] = {}
    for name, tag in tags:
        column = _column(tag, several_nodes)
        columns[column] = (tag.node or 0, -1 if tag.device is None else tag.device)
        # closest to the peak of the phase: the end with the state loaded, then the start
        peak = 2 * (tag.load == "onload") + (tag.snapshot == "end")
        key = (tag.phase, column, tag.kind)
        best[key] = max(best.get(key, (-1, "")), (peak, name))
        if (tag.snapshot, tag.load) in STAGES and not tag.fraction:
            staged[tag.phase, column, STAGES.index((tag.snapshot, tag.load)), tag.kind] = name
    return MemoryTable(
        tuple(sorted({tag.phase for _, tag in tags}, key=phase_order)),
        tuple(sorted(columns, key=columns.__getitem__)),
        tuple(dict.fromkeys(tag.kind for _, tag in tags)),
        MappingProxyType({key: name for key, (_, name) in best.items()}),
        MappingProxyType(staged),
        MappingProxyType({name: tag.scale for name, tag in tags}),
    )


def _column(tag: MemoryTag, several_nodes: bool) -> str:
    if tag.device is None:
        return "all"
    return f"node {tag.node}:{tag.device}" if several_nodes and tag.node is not None else str(tag.device)


def kind_words(kind: str) -> str:
    """Return what a kind of memory tag measures: "allocated", "reserved", "in use", or "peak" of any of them."""
    return "peak" if kind.startswith("max_") else _WORDS.get(kind, kind)


def phase_title(phase: str) -> str:
    """Return the name of a phase of memory tags, which is the logged one in all panels and at all widths."""
    return phase.replace("/", ".") or "whole step"


def phase_order(phase: str) -> tuple[int, str]:
    """Return a sort key for phases of memory tags: their order in the step."""
    known = phase_of(f"time/{phase}/total") if phase else None
    return (known.order if known else -1, phase)


def is_roll(run: Run) -> bool:
    """Whether the run's timers name operations of clusters, as ROLL's do."""
    phases = map(phase_of, by_concept(run.tracked_metrics).get("time.phase", ()))
    return any(phase is not None and phase.op and phase.cluster for phase in phases)


# ---------------------------------------------------------------------- by phase and device


class GpuMemory(Struct, frozen=True):
    """GPU memory by phase and device: fractions of the device as a heat map, or amounts as a table."""

    id: str = "gpu_memory"
    title: str = "GPU memory"
    order: int = 50
    kind: str = "heat"
    rows: int = 12
    concepts: tuple[str, ...] = CONCEPTS

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags, or is a ROLL run, which could log them.

        "mem" and "memory" are memory of the device only if they have a unit of memory: it may be that of a replay.
        """
        known = by_concept(run.tracked_metrics)
        if any(concept in known for concept in self.concepts if concept != "memory.used") or is_roll(run):
            return True
        return any(meaning_of(run, name).unit in BYTES for name in known.get("memory.used", ()))

    def fitted(self, run: Run) -> GpuMemory:
        """Return the panel with its title and the rows that its table and its notes take."""
        table = gpu_table(run.metrics)
        lines = {(phase, kind) for phase, _, kind in table.metric_of if kind in _AMOUNTS}
        rows = max(len(lines), len(table.columns)) + _AROUND
        if table.has(*FRACTIONS):
            rows = len(table.phases) + _AROUND_FRACTIONS
        return replace(self, title=table.title(), rows=min(rows, self.rows))

    def view(
        self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS
    ) -> HeatView | TextView:
        """Return a heat map of fractions, a table of amounts if the log has no fractions, or a hint how to log them."""
        table = gpu_table(run.metrics)
        if not table.phases:
            hint: Row = (("ROLL writes memory only with ROLL_DEBUG=1", Role.TEXT),) if is_roll(run) else ()
            return HeatView("GPU memory", (), (), (), (), sentence=hint, note="" if hint else "no points yet")
        if table.has(*FRACTIONS):
            return _heat_map(run, table)
        return _amount_table(run, table, size)


def _heat_map(run: Run, table: MemoryTable) -> HeatView:
    """Return the fractions of each phase on each device; the headline names the highest one, which has a mark."""
    first = next(kind for kind in FRACTIONS if table.has(kind))
    logged = [(phase, column) for phase, column, kind in table.metric_of if kind in FRACTIONS]
    phases = [phase for phase in table.phases if any(phase == own for own, _ in logged)]
    columns = [column for column in table.columns if any(column == own for _, own in logged)]

    def cells(kind: str) -> np.ndarray:
        return np.array([[table.last(run, table.metric_of.get((p, c, kind))) for c in columns] for p in phases])

    with_second = first == "max_reserved_frac" and table.has("max_allocated_frac")
    reserved = cells(first)
    names = tuple(map(phase_title, phases))
    headline: Row = ()
    if (peak := _highest(reserved)) is not None:
        highest = float(reserved[peak])
        role = Role.CRITICAL if highest >= 0.98 else Role.WARNING if highest >= 0.95 else Role.VALUE
        where = [f" in {names[peak[0]]}"] * (len(names) > 1) + [f" on device {columns[peak[1]]}"] * (columns != ["all"])
        headline = (format_fraction(highest), role), (" peak", Role.MUTED), *((words, Role.MUTED) for words in where)
    notes = [f"% of the device {FRACTIONS[first]}" + " / allocated" * with_second, *[_ROLL_NOTE] * any(phases)]
    second = _known(cells("max_allocated_frac")) if with_second else ()
    return HeatView("GPU memory", headline, names, tuple(columns), _known(reserved), second, peak, (), ", ".join(notes))


def _known(cells: np.ndarray) -> tuple[tuple[float | None, ...], ...]:
    """Return the cells of a heat map, None where there is no value."""
    return tuple(tuple(value if isfinite(value) else None for value in row) for row in cells.tolist())


def _highest(cells: np.ndarray) -> tuple[int, int] | None:
    """Return the place of the highest value; None if no value is known."""
    if not np.isfinite(cells).any():
        return None
    row, column = np.unravel_index(int(np.nanargmax(cells)), cells.shape)
    return int(row), int(column)


class _Line(Struct, frozen=True):
    """Amounts of one kind of memory in one phase, by device; they are in one unit."""

    phase: str
    kind: str
    unit: str
    numbers: list[float]
    """NaN where a device has none."""
    fractions: list[float]
    """The amounts relative to the memory of their device; NaN if that is not known."""

    @property
    def name(self) -> str:
        """Phase and kind: "train_step max reserved"."""
        words = "in use" if self.kind in ("memory", "used") else self.kind.replace("_", " ")
        return f"{phase_title(self.phase)} {words}" if self.phase else words

    def bytes_of(self, number: float) -> float:
        """Return a number of the line in bytes, as it is if the unit is not known."""
        return number * BYTES.get(self.unit, 1)

    def part(self, device: int, most: float) -> float:
        """Return the fraction of the device, or relative to an amount in bytes if its size is not known; NaN without a
        number."""
        number, fraction = self.numbers[device], self.fractions[device]
        return fraction if isfinite(fraction) or not most > 0 else self.bytes_of(number) / most

    def cell(self, device: int, most: float) -> Span:
        """Return the number of a device, coloured by the fraction of the device.

        If its size is not known, the colour is relative to the highest number, but not like that of a full device.
        """
        if not isfinite(number := self.numbers[device]):
            return "-", Role.FAINT
        full = 1.0 if isfinite(self.fractions[device]) else _UNALARMING
        return format_number(number, unit_text(self.unit)), level(full * self.part(device, most))


def _amount_table(run: Run, table: MemoryTable, size: Size) -> TextView:
    """Return a row for each phase and kind with the numbers of all devices, or a row for each of many devices."""
    lines = _lines(run, table)
    known = [
        (line.bytes_of(number), number, line, device)
        for line in lines
        for device, number in enumerate(line.numbers)
        if isfinite(number)
    ]
    if not known:
        return TextView(table.title(), (), note="no points yet")
    most, highest, top, device = max(known, key=lambda amount: amount[0])
    unit = unit_text(top.unit)
    text, words = format_value(highest, unit), f" {kind_words(top.kind)}"
    whole = device_memory(run, table.metric_of[top.phase, table.columns[device], top.kind])
    if whole is not None:
        number = format_number(highest, unit) if whole.unit == top.unit else text
        text = f"{number} of {format_value(whole.logged, unit_text(whole.unit))}"
        words += f", {format_fraction(top.part(device, most))}"
    idle = _idle(lines)
    notes = [f"{format_value(idle[0], unit_text(idle[1]))} reserved but not allocated"] if idle else []
    missing = "the log has no size of the device" if whole is None else ""
    if len({line.unit for line in lines}) == 1 and unit:
        notes.append(f"values in {unit}" + (f", as {missing}" if missing else ""))
    elif missing:
        notes.append(missing)
    rows = _amount_rows(table.columns, lines, most, size)
    headline: Row = ((text, Role.VALUE), (words, Role.MUTED))
    return TextView(table.title(), tuple(rows[: max(size.height, 1)]), headline, ", ".join(notes))


def _lines(run: Run, table: MemoryTable) -> list[_Line]:
    """Return the amounts by phase, kind and unit, as far as they have a value."""
    lines: dict[tuple[str, str, str], _Line] = {}
    for phase in table.phases:
        for kind in _AMOUNTS:
            for device, column in enumerate(table.columns):
                metric = table.metric_of.get((phase, column, kind))
                if metric is None or not isfinite(number := table.last(run, metric)):
                    continue
                key = phase, kind, meaning_of(run, metric).unit
                line = lines.setdefault(key, _Line(*key, [nan] * len(table.columns), [nan] * len(table.columns)))
                whole = device_memory(run, metric)
                line.numbers[device] = number
                line.fractions[device] = nan if whole is None else number / table.scale_of[metric] / whole.size
    return list(lines.values())


def _amount_rows(columns: Sequence[str], lines: Sequence[_Line], most: float, size: Size) -> list[Row]:
    """Return the rows of the table. Rows of devices have a bar of the highest fraction.

    If there are too many devices, the fullest are shown, and the number of the others. most: highest amount, in bytes.
    """
    several = len({line.unit for line in lines}) > 1
    names = [f"{line.name} {unit_text(line.unit)}".rstrip() if several else line.name for line in lines]
    devices = range(len(columns))
    parts = [max((p for line in lines if isfinite(p := line.part(device, most))), default=nan) for device in devices]
    rows: list[list[Span]] = []
    if by_device := len(columns) > len(lines):
        kept = fullest(parts, max(size.height - _AROUND, 1))
        rows = [[("device", Role.MUTED), *((name, Role.MUTED) for name in names)]]
        rows += [[(columns[device], Role.TEXT), *(line.cell(device, most) for line in lines)] for device in kept]
    else:
        if tuple(columns) != ("all",):
            rows = [[("", Role.MUTED), *((column, Role.MUTED) for column in columns)]]
        for name, line in zip(names, lines, strict=True):
            alone = [fraction for fraction in line.fractions if isfinite(fraction)] if len(columns) == 1 else []
            share: list[Span] = [(format_fraction(fraction), Role.MUTED) for fraction in alone]
            rows.append([(name, Role.TEXT), *(line.cell(device, most) for device in devices), *share])
    drawn = aligned(rows, size.width)
    if not by_device:
        return drawn
    bar = min(size.width - row_width(drawn[0]) - 2, _LONGEST_BAR)
    for row, device in enumerate(kept, 1):
        if bar >= _SHORTEST_BAR and isfinite(parts[device]):
            drawn[row] += ("  ", Role.MUTED), ("█" * round(min(parts[device], 1.0) * bar), SERIES_ROLES[0])
    more = len(columns) - len(kept)
    return [*drawn, ((f"+{more} more", Role.MUTED),)] if more else drawn


def _idle(lines: Sequence[_Line]) -> tuple[float, str] | None:
    """Return the highest amount of memory that is reserved but not allocated, and its unit, or None.

    Amounts in different units are not compared: a GB may be 1000**3 or 1024**3 bytes.
    """
    numbers_of = {(line.phase, line.kind, line.unit): line.numbers for line in lines}
    idle = []
    for line in lines:
        allocated = numbers_of.get((line.phase, line.kind.replace("reserved", "allocated"), line.unit), ())
        for number, used in zip(line.numbers, allocated, strict=False):
            if number > used:
                idle.append((line.bytes_of(number - used), number - used, line.unit))
    return max(idle)[1:] if idle else None


# ---------------------------------------------------------------------- at the stages of an operation


class GpuTimeline(Struct, frozen=True):
    """GPU memory at the stages of an operation: before, state loaded, peak, work done, state offloaded.

    For each phase the device with the most memory in use is displayed, with the reserved memory that is not allocated
    and the memory that offloading frees.
    """

    id: str = "gpu_moments"
    title: str = "GPU memory timeline"
    order: int = 52
    kind: str = "heat"
    rows: int = 12

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags of more than one stage of an operation."""
        return len({stage for _, _, stage, _ in gpu_table(run.metrics).staged}) > 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> HeatView:
        """Return allocated and reserved memory as fractions of the device, or of the maximum if its size is unknown."""
        table = gpu_table(run.metrics)
        phases = sorted({phase for phase, *_ in table.staged}, key=phase_order)
        read = [(phase_title(phase), _amounts(run, table, phase)) for phase in phases]
        read = [(name, amounts) for name, amounts in read if np.isfinite(amounts).any()]
        names = tuple(name for name, _ in read)
        amounts = np.array([own for _, own in read])
        most = float(np.nanmax(amounts)) if len(amounts) else 0.0
        total = _capacity(run, table)
        if (total or most) <= 0:
            return HeatView(self.title, (), (), (), (), note="no points yet")
        shares = amounts / (total or most)
        wide = size.width > max(map(len, names)) + len(_COLUMNS) * (len(_COLUMNS[0]) + 1)
        of = f"the device ({format_value(total, 'GiB')})" if total else f"the most ({format_value(most, 'GiB')})"
        return HeatView(
            self.title,
            ((format_value(most, "GiB"), Role.VALUE), (" peak", Role.MUTED)),
            names,
            _COLUMNS if wide else _SHORT,
            _known(shares[:, 1]),
            _known(shares[:, 0]),
            _highest(amounts[:, 1]),
            _stage_sentence(names, amounts, total),
            f"% of {of} reserved / allocated, of each phase on its fullest device",
        )


def _amounts(run: Run, table: MemoryTable, phase: str) -> np.ndarray:
    """Return (allocated, reserved) memory (GiB) at each stage on the fullest device, float64 (2, 5); NaN if unknown."""

    def last(column: str, stage: int, kind: str) -> float:
        return table.last(run, table.staged.get((phase, column, stage, kind)))

    def peak(column: str) -> float:
        kinds = ("max_reserved", "max_allocated", "reserved", "allocated")
        values = (last(column, stage, kind) for kind in kinds for stage in (_END, 1, 0, 3))
        return next(filter(isfinite, values), -1.0)

    column = max(sorted({column for _, column, *_ in table.staged}), key=peak)
    kinds = ("allocated", "reserved")
    return np.array([[last(column, stage, prefix + kind) for stage, prefix in _PLACES] for kind in kinds])


def _capacity(run: Run, table: MemoryTable) -> float:
    """Return the memory of a device (GiB), from peaks logged both in GiB and as a fraction; 0 if unknown."""
    sizes: list[float] = []
    for (phase, column, kind), metric in table.metric_of.items():
        if kind.endswith("_frac") and len(sizes) < _MAX_SAMPLES:
            amount = table.last(run, table.staged.get((phase, column, _END, kind.removesuffix("_frac"))))
            if isfinite(amount) and (fraction := table.last(run, metric)) > 0:
                sizes.append(amount / fraction)
    size = float(np.median(sizes)) if sizes else 0.0
    return size if isfinite(size) and size > 0 else 0.0


def _stage_sentence(names: Sequence[str], amounts: np.ndarray, device: float) -> Row:
    """Return the largest amount freed by offloading, and the largest reserved but unused. device: GiB; 0 unknown."""
    allocated, done = amounts[:, 0], amounts[:, :, _DONE]
    freed = np.nan_to_num(allocated[:, _DONE] - allocated[:, _LEFT])
    idle = np.nan_to_num(done[:, 1] - done[:, 0])
    spans: list[Span] = []
    if freed[most := int(np.argmax(freed))] > 0:
        of = f"{format_value(float(freed[most]), 'GiB')} of {format_value(float(allocated[most, _DONE]), 'GiB')}"
        spans.append((f"offload frees {of} in {names[most]}", Role.TEXT))
    if (unused := float(idle[most := int(np.argmax(idle))])) > device * _WASTED:
        share = f" ({format_fraction(unused / device)} of the device)" if device > 0 else ""
        amount = f"{format_value(unused, 'GiB')}{share} reserved but not allocated after {names[most]}"
        spans += [("; ", Role.TEXT)] * bool(spans)
        spans.append((amount, Role.WARNING if 0 < device * _MUCH < unused else Role.TEXT))
    return tuple(spans)


# ---------------------------------------------------------------------- over the run


_Curve = tuple[str, MetricReading]
"""(label, metric)."""


class GpuPeak(Struct, frozen=True):
    """GPU memory over the run, the peak if it is logged."""

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
        table = gpu_table(run.metrics)
        return replace(self, title=table.title(_drawn_kind(table)))

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
        lines: list[_Curve] = []
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
    run: Run, title: str, panel: str, lines: Iterable[_Curve], size: Size, symbols: Symbols, options: ChartOptions
) -> ChartView:
    """Return the chart of the lines with the highest last values, in the unit of the first: GB and GiB do not mix."""
    known = sorted(((line, last) for line in lines if (last := line[1].curve.last)), key=lambda item: -item[1].value)
    alike = [line for line, _ in known if line[1].meaning.unit == known[0][0][1].meaning.unit][:MAX_LINES]
    series = [Series(((run, reading),), label) for label, reading in alike]
    return chart_of(run, title, series, size, symbols, options, panel=panel, left=len(known) - len(alike))


def _fullest_devices(run: Run) -> Iterator[_Curve]:
    """Yield the fullest device of each phase: ("actor_train.train_step 7", its metric)."""
    table = gpu_table(run.metrics)
    for phase in table.phases:
        devices = [
            (reading.curve.last.value, column, reading)
            for column in table.columns
            if (metric := table.metric_of.get((phase, column, _drawn_kind(table)))) is not None
            and (reading := reading_of(run, (metric,))) is not None
            and reading.curve.last is not None
        ]
        if devices:
            _, column, reading = max(devices, key=lambda device: device[0])
            yield (f"{phase_title(phase)} {column}" if len(table.columns) > 1 else phase_title(phase)), reading


def _drawn_kind(table: MemoryTable) -> str:
    """Return the kind of memory tag that is drawn over the run: the first one that was logged."""
    kinds = ("max_reserved_frac", "max_allocated_frac", *_AMOUNTS)
    return next((kind for kind in kinds if table.has(kind)), "")


PANELS = (GpuMemory(), GpuTimeline(), GpuPeak(), CpuMemory())
