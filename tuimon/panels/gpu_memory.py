"""GPU memory by phase and device: fractions of the device as a heat map, or amounts as a table."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.printed_units import meaning_of
from tuimon.draw.heat import fullest, level
from tuimon.draw.numbers import format_fraction, format_number, format_value
from tuimon.model.views import SERIES_ROLES, HeatView, Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._memory import CONCEPTS, MemoryTable, gpu_table, kind_words, memory_title, phase_title
from tuimon.panels._metrics import by_concept, curve_or_none
from tuimon.store import Run
from tuimon.vocabulary import BYTES, phase_of, unit_text

TITLE = "GPU memory"
FRACTIONS = ("max_reserved_frac", "max_allocated_frac", "used_frac")
"""Kinds that are fractions of the device, the preferred one first."""
_FRACTION_WORDS = {FRACTIONS[0]: "reserved at most", FRACTIONS[1]: "allocated at most", FRACTIONS[2]: "in use"}
_AMOUNTS = ("max_reserved", "max_allocated", "reserved", "allocated", "used", "max_memory", "memory")
_ROLL_NOTE = "means over ranks, by each process's own device index"
_UNALARMING = 0.69
"""Fraction of the device whose colour the highest amount of memory has if the size of the device is not known."""
_AROUND, _AROUND_FRACTIONS = 4, 6
"""Rows besides those of the table: title, headings, number of the others, note; with fractions the scale and a longer
note."""
_SHORTEST_BAR, _LONGEST_BAR = 6, 40
"""Cells of a bar of the whole device; there is no bar if there is less room."""


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
        """Return the panel with its title and the rows that its table and its notes take."""
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
            return _heat_map(run, table)
        return _amount_table(run, table, size, symbols)


def is_roll(run: Run) -> bool:
    """Whether the run's timers name operations of clusters, as ROLL's do."""
    phases = map(phase_of, by_concept(run.tracked_metrics).get("time.phase", ()))
    return any(phase is not None and phase.op and phase.cluster for phase in phases)


def _last(run: Run, table: MemoryTable, phase: str, column: str, kind: str) -> float | None:
    """Return the newest finite value in the table's unit, or None."""
    metric = table.metric_of.get((phase, column, kind))
    curve = curve_or_none(run, metric) if metric else None
    last = curve.last if curve else None
    return None if last is None or metric is None else last.value * table.scale_of[metric]


def _heat_map(run: Run, table: MemoryTable) -> HeatView:
    """Return the fractions of each phase on each device; the headline names the highest one, which has a mark."""
    first = next(kind for kind in FRACTIONS if table.has(kind))
    logged = [(phase, column) for phase, column, kind in table.metric_of if kind in FRACTIONS]
    phases = [phase for phase in table.phases if any(phase == own for own, _ in logged)]
    columns = [column for column in table.columns if any(column == own for _, own in logged)]

    def cells(kind: str) -> tuple[tuple[float | None, ...], ...]:
        return tuple(tuple(_last(run, table, phase, column, kind) for column in columns) for phase in phases)

    reserved = cells(first)
    second = cells(FRACTIONS[1]) if first == FRACTIONS[0] and table.has(FRACTIONS[1]) else ()
    known = [(value, (r, c)) for r, row in enumerate(reserved) for c, value in enumerate(row) if value is not None]
    names = tuple(map(phase_title, phases))
    headline: Row = ()
    peak = None
    if known:
        highest, peak = max(known, key=lambda cell: cell[0])
        role = Role.CRITICAL if highest >= 0.98 else Role.WARNING if highest >= 0.95 else Role.VALUE
        where = [f" in {names[peak[0]]}"] * (len(names) > 1) + [f" on device {columns[peak[1]]}"] * (columns != ["all"])
        headline = (format_fraction(highest), role), (" peak", Role.MUTED), *((words, Role.MUTED) for words in where)
    notes = [f"% of the device {_FRACTION_WORDS[first]}" + (" / allocated" if second else "")]
    if any(phases):
        notes.append(_ROLL_NOTE)
    return HeatView(TITLE, headline, names, tuple(columns), reserved, second, peak, (), ", ".join(notes))


class _Line(Struct, frozen=True):
    """Amounts of one kind of memory in one phase, by device; they are in one unit."""

    phase: str
    kind: str
    unit: str
    numbers: tuple[float | None, ...]
    fractions: tuple[float | None, ...]
    """The amounts relative to the memory of their device; None if that is not known."""

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
        if fraction is None and number is not None:
            return self.bytes_of(number) / most if most > 0 else 0.0
        return nan if fraction is None else fraction


def _amount_table(run: Run, table: MemoryTable, size: Size, symbols: Symbols) -> TextView:
    """Return a row for each phase and kind with a number for each device, or a row for each device if there are more.

    Numbers are coloured by the fraction of the device. If its size is not known, the colour is relative to the highest
    number, but not like that of a device that is nearly full.
    """
    lines = _lines(run, table)
    title = memory_title(table)
    known = [
        (line.bytes_of(number), number, line, device)
        for line in lines
        for device, number in enumerate(line.numbers)
        if number is not None
    ]
    if not known:
        return TextView(title, (), note="no points yet")
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
    units = {line.unit for line in lines}
    missing = "the log has no size of the device" if whole is None else ""
    if len(units) == 1 and unit:
        notes.append(f"values in {unit}" + (f", as {missing}" if missing else ""))
    elif missing:
        notes.append(missing)
    rows = _rows(table.columns, lines, most, size, symbols)
    headline: Row = ((text, Role.VALUE), (words, Role.MUTED))
    return TextView(title, tuple(rows[: max(size.height, 1)]), headline, ", ".join(notes))


def _lines(run: Run, table: MemoryTable) -> list[_Line]:
    """Return the amounts by phase, kind and unit, as far as they have a value."""
    lines: dict[tuple[str, str, str], tuple[list[float | None], list[float | None]]] = {}
    for phase in table.phases:
        for kind in _AMOUNTS:
            for device, column in enumerate(table.columns):
                number = _last(run, table, phase, column, kind)
                if number is None:
                    continue
                metric = table.metric_of[phase, column, kind]
                empty: list[float | None] = [None] * len(table.columns)
                key = phase, kind, meaning_of(run, metric).unit
                numbers, fractions = lines.setdefault(key, (empty, [*empty]))
                whole = device_memory(run, metric)
                numbers[device] = number
                fractions[device] = None if whole is None else number / table.scale_of[metric] / whole.size
    return [_Line(*key, tuple(numbers), tuple(fractions)) for key, (numbers, fractions) in lines.items()]


def _rows(columns: Sequence[str], lines: Sequence[_Line], most: float, size: Size, symbols: Symbols) -> list[Row]:
    """Return the rows of the table. Rows of devices have a bar of the highest fraction.

    If there are too many devices, the fullest are shown, and the number of the others. most: highest amount, in bytes.
    """
    units = {line.unit for line in lines}
    names = [f"{line.name} {unit_text(line.unit)}".rstrip() if len(units) > 1 else line.name for line in lines]
    by_device = len(columns) > len(lines)
    heads, labels = (names, columns) if by_device else (columns, names)
    corner = "device" if by_device else ""
    width = max(len(corner), *map(len, labels))
    cells = [max(9, len(head) + 2 * by_device) for head in heads]
    parts = [max((line.part(device, most) for line in lines), key=lambda part: (part == part, part))
             for device in range(len(columns))]  # fmt: skip
    kept = fullest(parts, max(size.height - _AROUND, 1)) if by_device else range(len(labels))
    free = size.width - width - sum(cells) - 2
    bar = min(free, _LONGEST_BAR) if by_device and free >= _SHORTEST_BAR else 0
    rows: list[Row] = []
    if by_device or tuple(columns) != ("all",):
        texts = (f"{head:>{cell}}" for head, cell in zip(heads, cells, strict=True))
        rows.append(((f"{corner:<{width}}{''.join(texts)}", Role.MUTED),))
    for row in kept:
        spans: list[Span] = [(f"{labels[row]:<{width}}", Role.TEXT)]
        for column, cell in enumerate(cells):
            line, device = (lines[column], row) if by_device else (lines[row], column)
            number, fraction = line.numbers[device], line.fractions[device]
            text = "-" if number is None else format_number(number, unit_text(line.unit))
            colour = _UNALARMING * line.part(device, most) if fraction is None else fraction
            spans.append((f"{text:>{cell}}", Role.FAINT if number is None else level(colour)))
            if fraction is not None and len(columns) == 1:
                spans.append((f"{format_fraction(fraction):>7}", Role.MUTED))
        if bar and parts[row] == parts[row]:
            mark = "#" if symbols is Symbols.ASCII else "█"
            spans += [("  ", Role.MUTED), (mark * round(min(parts[row], 1.0) * bar), SERIES_ROLES[0])]
        rows.append(tuple(spans))
    if len(kept) < len(labels):
        rows.append(((f"+{len(labels) - len(kept)} more", Role.MUTED),))
    return rows


def _idle(lines: Sequence[_Line]) -> tuple[float, str] | None:
    """Return the highest amount of memory that is reserved but not allocated, and its unit, or None.

    Amounts in different units are not compared: a GB may be 1000**3 or 1024**3 bytes.
    """
    numbers_of = {(line.phase, line.kind, line.unit): line.numbers for line in lines}
    idle = []
    for line in lines:
        allocated = numbers_of.get((line.phase, line.kind.replace("reserved", "allocated"), line.unit), ())
        for number, used in zip(line.numbers, allocated, strict=False):
            if number is not None and used is not None and number > used:
                idle.append((line.bytes_of(number - used), number - used, line.unit))
    return max(idle)[1:] if idle else None


PANEL = GpuMemory()
