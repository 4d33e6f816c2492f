"""Panels of memory: GPU memory by phase and device, at the stages of an operation, and over the run; CPU memory.

All of them read one table of the memory tags of a run: phases by devices, for each kind of measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite, isnan, nan
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.device_memory import DeviceMemory, device_memory
from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.heat import fullest, level
from tuimon.draw.numbers import format_fraction, format_number, format_value
from tuimon.draw.rows import row_width
from tuimon.draw.table import aligned
from tuimon.model.views import SERIES_ROLES, ChartView, HeatView, Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.curve_panel import MAX_LINES
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
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
_COLUMNS = ("before", "loaded", "peak", "done", "left")
_SHORT = ("pre", "load", "peak", "done", "left")
"""Headings of these, and those for narrow panels."""
_ROLL_NOTE = "means over ranks, by each process's own device index"
_UNALARMING = 0.69
"""Fraction of the device whose colour the highest amount of memory has if the size of the device is not known."""
_AROUND, _AROUND_FRACTIONS = 3, 6
"""Rows besides those of the table: title, number of the others, note; with fractions headings, scale, a longer note."""
_SHORTEST_BAR, _LONGEST_BAR = 6, 40
"""Cells of a bar of the whole device; there is no bar if there is less room."""
_MAX_SAMPLES = 9
"""Maximum number of tags from which the size of a device is derived."""


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


class GpuMemory(Panel, frozen=True):
    """GPU memory by phase and device: fractions of the device as a heat map, or amounts as a table."""

    def relevant(self, run: Run) -> bool:
        """Whether the run has memory tags, or is a ROLL run, which could log them.

        "mem" and "memory" are memory of the device only if they have a unit of memory: it may be that of a replay.
        """
        known = by_concept(run.tracked_metrics)
        if any(concept in known for concept in self.concepts if concept != "memory.used") or is_roll(run):
            return True
        return any(meaning_of(run, name).unit in BYTES for name in known.get("memory.used", ()))

    def fitted(self, run: Run) -> GpuMemory:
        """Return the panel with the rows of its title, its table and its notes."""
        table = gpu_table(run.metrics)
        rows = sum(kind in _AMOUNTS for _, _, kind in table.metric_of) + _AROUND
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


class _Amount(Struct, frozen=True):
    """An amount of memory of one kind in one phase on one device."""

    line: str
    """Phase and kind: "train_step max reserved"."""
    device: str
    kind: str
    number: float
    unit: str
    whole: DeviceMemory | None
    """Memory of the device; None if that is not known."""
    fraction: float
    """The amount relative to the memory of the device; NaN if that is not known."""

    @property
    def size(self) -> float:
        """The number in bytes, as it is if the unit is not known."""
        return self.number * BYTES.get(self.unit, 1)


def _amount_table(run: Run, table: MemoryTable, size: Size) -> TextView:
    """Return a row for each phase, kind and device; of too many the fullest, and the number of the others."""
    amounts = list(_logged_amounts(run, table))
    if not amounts:
        return TextView(table.title(), (), note="no points yet")
    top = max(amounts, key=lambda amount: amount.size)
    unit = unit_text(top.unit)
    text, words = format_value(top.number, unit), f" {kind_words(top.kind)}"
    if top.whole is not None:
        number = format_number(top.number, unit) if top.whole.unit == top.unit else text
        text = f"{number} of {format_value(top.whole.logged, unit_text(top.whole.unit))}"
        words += f", {format_fraction(top.fraction)}"
    parts = [amount.size / (top.size or 1.0) if isnan(amount.fraction) else amount.fraction for amount in amounts]
    kept = fullest(parts, max(size.height - _AROUND, 1))
    rows = aligned([_amount_cells(amounts[place], parts[place]) for place in kept], size.width, left={0})
    bar = min(size.width - row_width(rows[0]) - 2, _LONGEST_BAR)
    if bar >= _SHORTEST_BAR:
        fills = ["█" * round(min(parts[place], 1.0) * bar) for place in kept]
        rows = [(*row, ("  ", Role.MUTED), (fill, SERIES_ROLES[0])) for row, fill in zip(rows, fills, strict=True)]
    if more := len(amounts) - len(kept):
        rows.append(((f"+{more} more", Role.MUTED),))
    note = "" if top.whole is not None else "the log has no size of the device"
    headline: Row = ((text, Role.VALUE), (words, Role.MUTED))
    return TextView(table.title(), tuple(rows[: max(size.height, 1)]), headline, note)


def _logged_amounts(run: Run, table: MemoryTable) -> Iterator[_Amount]:
    """Yield the amounts by phase, kind and device, as far as they have a value."""
    for phase in table.phases:
        for kind in _AMOUNTS:
            for device in table.columns:
                metric = table.metric_of.get((phase, device, kind))
                if metric is None or not isfinite(number := table.last(run, metric)):
                    continue
                words = "in use" if kind in _WORDS else kind.replace("_", " ")
                line = f"{phase_title(phase)} {words}" if phase else words
                whole = device_memory(run, metric)
                fraction = nan if whole is None else number / table.scale_of[metric] / whole.size
                yield _Amount(line, device, kind, number, meaning_of(run, metric).unit, whole, fraction)


def _amount_cells(amount: _Amount, part: float) -> list[Span]:
    """Return kind, device, number, and the fraction of the device.

    The number has the colour of that fraction. If the size of the device is not known, the colour is relative to the
    highest number, but not like that of a full device.
    """
    is_known = isfinite(amount.fraction)
    role = level(part if is_known else _UNALARMING * part)
    device = "" if amount.device == "all" else amount.device
    return [
        (amount.line, Role.TEXT),
        (device, Role.TEXT),
        (format_value(amount.number, unit_text(amount.unit)), role),
        (format_fraction(amount.fraction) if is_known else "", Role.MUTED),
    ]


# ---------------------------------------------------------------------- at the stages of an operation


class GpuTimeline(Panel, frozen=True):
    """GPU memory at the stages of an operation: before, state loaded, peak, work done, state offloaded.

    For each phase the device with the most memory in use is displayed.
    """

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
            note=f"% of {of} reserved / allocated, of each phase on its fullest device",
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


# ---------------------------------------------------------------------- over the run


_Curve = tuple[str, MetricReading]
"""(label, metric)."""


class GpuPeak(Panel, frozen=True):
    """GPU memory over the run, the peak if it is logged."""

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


class CpuMemory(Panel, frozen=True):
    """Memory of the training processes: the resident set in each phase, to detect leaks."""

    def relevant(self, run: Run) -> bool:
        """Whether the run logs memory of its processes."""
        return "cpu.memory" in by_concept(run.tracked_metrics)

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> ChartView:
        """Return a line for each of the phases with the largest processes."""
        names = by_concept(run.tracked_metrics).get("cpu.memory", ())
        lines = [
            (tag, reading)
            for reading in filter(None, (reading_of(run, (name,)) for name in names))
            if (tag := memory_of(reading.metric)) is not None and tag.kind != "vms" and tag.snapshot != "start"
        ]
        lines.sort(key=lambda line: phase_order(line[0].phase))
        named = [(tag.phase.replace("/", "."), reading) for tag, reading in lines]
        return _chart(run, self.title, self.id, named, size, symbols, options)


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


PANELS = (
    GpuMemory("gpu_memory", "GPU memory", 50, CONCEPTS, kind="heat", rows=12),
    GpuTimeline("gpu_moments", "GPU memory timeline", 52, kind="heat", rows=12),
    GpuPeak("gpu_peak", "GPU memory peak", 98, kind="chart"),
    CpuMemory("cpu_memory", "CPU memory", 140, ("cpu.memory",), kind="chart"),
)
