"""GPU memory by phase and device: reserved and allocated fractions, the peak, outliers among the devices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.forecast import forecast_text, near_step
from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.numbers import format_fraction, format_number, format_value
from tuimon.model.views import HeatView, Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._memory import (
    CONCEPTS,
    Forecast,
    MemoryTable,
    forecast_words,
    gpu_table,
    kind_words,
    memory_title,
    phase_title,
    soonest_full,
)
from tuimon.panels._memory_rows import MemoryLine, bytes_of, device_rows, kind_rows
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.store import Run
from tuimon.vocabulary import BYTES, phase_of, unit_text

TITLE = "GPU memory"
FRACTIONS = ("max_reserved_frac", "max_allocated_frac", "used_frac")
"""Kinds that are fractions of the device, the preferred one first."""
_FRACTION_WORDS = {FRACTIONS[0]: "reserved at most", FRACTIONS[1]: "allocated at most", FRACTIONS[2]: "in use"}
_AMOUNTS = ("max_reserved", "max_allocated", "reserved", "allocated", "used", "max_memory", "memory")
_MAD_TO_SIGMA = 1.4826
_OUTLIER_DEVIATIONS = 3.0
_OUTLIER_POINTS = 0.05
"""Minimum distances of an outlier from the median device: robust deviations, and fraction of the memory."""
_FEWEST_DEVICES = 3
_ROLL_NOTE = "means over ranks, by each process's own device index"

_AROUND, _AROUND_FRACTIONS = 4, 8
"""Rows besides those of the phases: title, headings or forecast, note; with fractions the scale and longer texts."""

Cells = list[list[float | None]]


class GpuMemory(Struct, frozen=True):
    id: str = "gpu_memory"
    title: str = TITLE
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
        """Return the panel with its title and the rows that its table, its sentence and its notes take."""
        table = gpu_table(run.metrics)
        title = memory_title(table)
        if table.has(*FRACTIONS):
            return replace(self, title=title, rows=min(len(table.phases) + _AROUND_FRACTIONS, self.rows))
        lines = {(phase, kind) for phase, _, kind in table.metric_of if kind in _AMOUNTS}
        return replace(self, title=title, rows=min(max(len(lines), len(table.columns)) + _AROUND, self.rows))

    def view(
        self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS
    ) -> HeatView | TextView:
        """Return a heat map of fractions, a table of amounts if the log has no fractions, or a hint how to log them."""
        table = gpu_table(run.metrics)
        if not table.phases:
            hint: Row = (("ROLL writes memory only with ROLL_DEBUG=1", Role.TEXT),) if is_roll(run) else ()
            return HeatView(TITLE, (), (), (), (), sentence=hint, note="" if hint else "no points yet")
        if table.has(*FRACTIONS):
            return _fractions(run, table)
        return _amounts(run, table, size, symbols)


def is_roll(run: Run) -> bool:
    """Whether the run's timers name operations of clusters, as ROLL's do."""
    phases = map(phase_of, by_concept(run.tracked_metrics).get("time.phase", ()))
    return any(phase is not None and phase.op and phase.cluster for phase in phases)


def _fractions(run: Run, table: MemoryTable) -> HeatView:
    first = next(kind for kind in FRACTIONS if table.has(kind))
    phases = [
        phase
        for phase in table.phases
        if any((phase, c, k) in table.metric_of for c in table.columns for k in FRACTIONS)
    ]
    columns = [c for c in table.columns if any((phase, c, k) in table.metric_of for phase in phases for k in FRACTIONS)]
    cells = _cells(run, table, phases, columns, first)
    second = (
        _cells(run, table, phases, columns, FRACTIONS[1]) if first == FRACTIONS[0] and table.has(FRACTIONS[1]) else []
    )
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in cells])
    peak = None
    headline: Row = ()
    if np.isfinite(values).any():
        row, column = np.unravel_index(int(np.nanargmax(values)), values.shape)
        peak = (int(row), int(column))
        headline = ((format_fraction(float(values[peak])), Role.VALUE), (" peak", Role.MUTED))
    names = tuple(map(phase_title, phases))
    fullest: list[tuple[str, str, str, float]] = []
    for phase, row_of_cells in zip(phases, cells, strict=True):
        known = [(value, device) for value, device in zip(row_of_cells, columns, strict=True) if value is not None]
        if known:
            metric = table.metric_of[phase, max(known)[1], first]
            fullest.append((phase, max(known)[1], metric, table.scale_of[metric]))
    forecast = soonest_full(run, fullest)
    notes = [f"% of the device {_FRACTION_WORDS[first]}" + (" / allocated" if second else "")]
    if any(phases):
        notes.append(_ROLL_NOTE)
    return HeatView(
        TITLE,
        headline,
        names,
        tuple(columns),
        tuple(map(tuple, cells)),
        tuple(map(tuple, second)),
        peak,
        _sentence(values, names, columns, peak, forecast),
        ", ".join(notes),
    )


def _cells(run: Run, table: MemoryTable, phases: Sequence[str], columns: Sequence[str], kind: str) -> Cells:
    return [[_last(run, table, phase, column, kind) for column in columns] for phase in phases]


def _last(run: Run, table: MemoryTable, phase: str, column: str, kind: str) -> float | None:
    """Return the newest finite value in the table's unit, or None."""
    metric = table.metric_of.get((phase, column, kind))
    curve = curve_or_none(run, metric) if metric else None
    last = curve.last if curve else None
    return None if last is None or metric is None else last.value * table.scale_of[metric]


def _sentence(
    values: np.ndarray,
    names: Sequence[str],
    columns: list[str],
    peak: tuple[int, int] | None,
    forecast: Forecast | None,
) -> Row:
    if peak is None:
        return ()
    highest, column = float(values[peak]), columns[peak[1]]
    where = "" if column == "all" else f" on device {column}"
    during = f" in {names[peak[0]]}" if len(names) > 1 else ""
    role = Role.CRITICAL if highest >= 0.98 else Role.WARNING if highest >= 0.95 else Role.TEXT
    spans: list[Span] = [(f"peak {format_fraction(highest)}{where}{during}", role)]
    if forecast is not None:
        name = phase_title(forecast.phase)
        here = (names.index(name), columns.index(forecast.column)) == peak
        spans.append(forecast_words(forecast, "" if here else name))
    outlier = outlier_device(values)
    if outlier is not None and outlier[:2] == peak:
        spans.append((f", {abs(outlier[2]) * 100:.0f} points above the median device", Role.WARNING))
    if outlier is not None and outlier[:2] != peak:
        row, index, distance = outlier
        side = "above" if distance > 0 else "below"
        text = f"; device {columns[index]} is {abs(distance) * 100:.0f} points {side} the median device in {names[row]}"
        spans.append((text, Role.WARNING))
    return tuple(spans)


def outlier_device(values: np.ndarray) -> tuple[int, int, float] | None:
    """Return (row, column, difference from the row's median) of the largest outlier among the devices, or None.

    values: float64 (phases, devices), NaN if unknown. An outlier differs by more than 3 robust deviations (median
    absolute deviation times 1.4826, the standard deviation of normal values) and by more than 5 percentage points.
    """
    best: tuple[int, int, float] | None = None
    for row, line in enumerate(values):
        known = line[np.isfinite(line)]
        if len(known) < _FEWEST_DEVICES:
            continue
        distances = line - np.median(known)
        spread = np.median(np.abs(known - np.median(known))) * _MAD_TO_SIGMA
        column = int(np.nanargmax(np.abs(distances)))
        distance = float(distances[column])
        if abs(distance) > max(_OUTLIER_DEVIATIONS * spread, _OUTLIER_POINTS) and (
            best is None or abs(distance) > abs(best[2])
        ):
            best = (row, column, distance)
    return best


def _amounts(run: Run, table: MemoryTable, size: Size, symbols: Symbols) -> TextView:
    """Return a row for each phase and kind, a number for each device, coloured by the fraction of the device; a row
    with a bar for each device if there are more of them.

    If the size of the device is not known, the colour is relative to the highest number, but not like that of a device
    that is nearly full.
    """
    lines = _lines(run, table)
    known = [
        (number * bytes_of(line.unit), number, line, column)
        for line in lines
        for column, number in enumerate(line.numbers)
        if number is not None
    ]
    title = memory_title(table)
    if not known:
        return TextView(title, (), note="no points yet")
    most, highest, fullest, column = max(known, key=lambda amount: amount[0])
    units = dict.fromkeys(line.unit for line in lines)
    names = [f"{line.name} {unit_text(line.unit)}".rstrip() if len(units) > 1 else line.name for line in lines]
    by_device = len(table.columns) > len(lines)
    rows = (
        device_rows(table.columns, names, lines, most, size, symbols)
        if by_device
        else kind_rows(table.columns, names, lines, most)
    )
    if forecast := _full(run, table, lines):
        rows.append((forecast,))
    unit, words = unit_text(fullest.unit), f" {kind_words(fullest.kind)}"
    device = device_memory(run, table.metric_of[fullest.phase, table.columns[column], fullest.kind])
    text = format_value(highest, unit)
    if device is not None and device.unit == fullest.unit:
        text = f"{format_number(highest, unit)} of {format_value(device.logged, unit)}"
    elif device is not None:
        text += f" of {format_value(device.logged, unit_text(device.unit))}"
    idle = _idle(run, table)
    notes = [f"{format_value(idle[0], unit_text(idle[1]))} reserved but not allocated"] if idle else []
    if len(units) == 1 and unit:
        notes.append(f"values in {unit}")
    if all(fraction is None for line in lines for fraction in line.fractions):
        missing = "the log has no fraction of the device"
        if len(units) == 1 and unit:
            notes[-1] += f", as {missing}"
        else:
            notes.append(missing)
    headline: Row = ((text, Role.VALUE), (words, Role.MUTED))
    return TextView(title, tuple(rows[: max(size.height, 1)]), headline, ", ".join(notes))


def _full(run: Run, table: MemoryTable, lines: Sequence[MemoryLine]) -> Span | None:
    """Return "full in 35 steps (30 to 41), near step 535" for the first device to be full before the run ends, of the
    fullest of each phase, or None."""
    fullest: dict[str, tuple[float, str, str]] = {}
    for line in lines:
        for column, fraction in zip(table.columns, line.fractions, strict=True):
            if fraction is not None and fraction > fullest.get(line.phase, (0.0, "", ""))[0]:
                fullest[line.phase] = fraction, column, line.kind
    metrics = [(phase, column, table.metric_of[phase, column, kind]) for phase, (_, column, kind) in fullest.items()]
    sized = [(*entry, 1 / device.size) for entry in metrics if (device := device_memory(run, entry[2])) is not None]
    forecast, last = soonest_full(run, sized), run.last_step
    if forecast is None or last is None:
        return None
    names = [phase_title(forecast.phase)] * bool(forecast.phase)
    names += [f"device {forecast.column}"] * (forecast.column != "all")
    when = f"{forecast_text(forecast.growth)}, near step {near_step(last, forecast.growth)}"
    return f"{''.join(f'{name}, ' for name in names)}full in {when}", Role.WARNING


def _lines(run: Run, table: MemoryTable) -> list[MemoryLine]:
    """Return the amounts by phase, kind and unit, as far as they have a value."""
    lines = []
    for phase in table.phases:
        for kind in _AMOUNTS:
            amounts = [_amount(run, table, phase, column, kind) for column in table.columns]
            for unit in dict.fromkeys(amount[1] for amount in amounts if amount):
                own = [amount if amount and amount[1] == unit else None for amount in amounts]
                numbers = tuple(amount[0] if amount else None for amount in own)
                fractions = tuple(amount[2] if amount else None for amount in own)
                lines.append(MemoryLine(phase, kind, unit, numbers, fractions))
    return lines


def _amount(run: Run, table: MemoryTable, phase: str, column: str, kind: str) -> tuple[float, str, float | None] | None:
    """Return (the newest finite value, its unit, the fraction of the device), or None."""
    number = _last(run, table, phase, column, kind)
    if number is None:
        return None
    metric = table.metric_of[phase, column, kind]
    device = device_memory(run, metric)
    fraction = None if device is None else number / table.scale_of[metric] / device.size
    return number, meaning_of(run, metric).unit, fraction


def _idle(run: Run, table: MemoryTable) -> tuple[float, str] | None:
    """Return the highest amount of memory that is reserved but not allocated, and its unit, or None.

    Amounts in different units are not compared: a GB may be 1000**3 or 1024**3 bytes.
    """
    idle: list[tuple[float, str]] = []
    for phase in table.phases:
        for column in table.columns:
            for begin in ("max_", ""):
                reserved = _amount(run, table, phase, column, f"{begin}reserved")
                allocated = _amount(run, table, phase, column, f"{begin}allocated")
                if reserved and allocated and reserved[1] == allocated[1] and reserved[0] > allocated[0]:
                    idle.append((reserved[0] - allocated[0], reserved[1]))
    return max(idle, key=lambda amount: amount[0] * bytes_of(amount[1]), default=None)


PANEL = GpuMemory()
