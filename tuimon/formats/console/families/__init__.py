"""Families of console lines: one module for each kind of metric lines that needs code.

Lines of names and numbers in any layout are read by `shaped`, and those of trainers, also blocks of lines, by a row of
trainers.toml; a module is for what neither can express, such as progress bars.

To add a family, add a module to this package that defines FAMILY; the registry finds it.

How lines are read:

- Only lines that contain one of the `marks` of a family are decoded for it, so that other output costs little.
- Each line is offered to the readers in ascending `order` until the `read` of one of them returns True.
- A reader of a block of lines sets `lines_awaited` at the head of the block; the lines in it need no mark.
- A reader passes each row (metrics logged together at one step) to `Sink.add_row`. Each log has its own readers, so a
  reader may keep state, for example the current step or an open table.

Values with units keep the first unit of their name; the factors are exact:

    950ms, then 1.2s       1200 ms
    900MB, then 1.1GB      1100 MB: kB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB are powers of 1024

Regular expressions must match or fail in linear time on any line: repetitions are bounded or possessive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from math import isfinite

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats._shared.row_steps import StepUnit
from tuimon.formats.console.families._line import PROGRESS_BAR, Line, parse_timestamp
from tuimon.formats.console.shapes.values import NUMBER, Pair, Quantity, number, numbers, pairs, printed_dict
from tuimon.model.points import Fact, Item, PointsBuilder, Topic
from tuimon.registry import discover
from tuimon.vocabulary import BYTES

__all__ = (
    "NUMBER", "PROGRESS_BAR", "Family", "Line", "LineReader", "Pair", "Quantity", "Sink", "families", "number",
    "numbers", "pairs", "parse_timestamp", "printed_dict",
)  # fmt: skip

_MAX_STEPS_OF_NUMBERED = 16
"""Number of steps at which new names that differ only in a number ("class 3") are taken to be metrics of their own."""
_RATE = re.compile(r"[\d:]{4,20}<[\d:?, day]{1,30},\s{0,8}(\d{1,9}\.\d{1,9})(it/s|s/it)", re.ASCII)
"""Elapsed time, time left and rate in a bar of tqdm."""
_SECOND = 10**6
_TIMES = {"us": 1, "ms": 1000, "s": _SECOND, "min": 60 * _SECOND, "h": 3600 * _SECOND, "days": 86400 * _SECOND}
_SIZES = (_TIMES | {"seconds": _TIMES["s"], "minutes": _TIMES["min"], "hours": _TIMES["h"]}, BYTES)
_NUMBER_IN_NAME = re.compile(r"(?<=\s)[+-]?\.?\d\S*")


class LineReader(ABC):
    """Base class of readers: recognises the lines of one family in one log and adds their rows to a sink."""

    lines_awaited = 0
    """Number of the next lines of the log that are offered to this reader whatever they contain, as they belong to a
    block of lines that has begun. Set by `read`; each line lowers it."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    @abstractmethod
    def read(self, line: Line) -> bool:
        """Return True if the line belongs to this family and no other reader needs it. Never raises on any content."""

    def reads_alone(self, line: Line) -> bool:
        """Return True if the row of a line that was read depends on no other line."""
        return False

    @property
    def is_neutral(self) -> bool:
        """Whether no line before this place influences how the lines that `reads_alone` accepts are read."""
        return True

    def note_row(self, step: int, row: Sequence[Pair]) -> None:
        """Note a row of such a line that was added without this reader."""
        return

    def flush(self) -> None:
        """Add rows that were held back, as no more lines come for now."""
        return

    @property
    def awaits_end(self) -> bool:
        """Whether rows are held back until later lines, or the end of the log, tell their step."""
        return False

    def end(self) -> None:
        """Add rows that were held back until later lines tell their step, as the log has ended."""
        return

    def interrupt(self) -> None:
        """Note that lines are missing here: forget the open block, and steps that only lines before this place name."""
        self.lines_awaited = 0


class Family(Struct, frozen=True):
    """One shape of console lines."""

    id: str
    marks: tuple[str, ...]
    """Substrings; every line of the family contains at least one of them."""
    reader: Callable[[Sink], LineReader]
    order: int = 50
    """Families with a lower value are tried first: strict shapes first, "step 3 loss 0.5" last."""
    self_closing: bool = False
    """True if a closing bracket marks the end of a line, so that the last line can be read before its newline."""


class LogFacts:
    """Facts of one log besides its points: progress, units of metrics, and what its steps count."""

    def __init__(self) -> None:
        self.step_unit = StepUnit()
        self._new_units: dict[str, dict[str, str | float]] = {}
        self._facts: list[Item] = []
        self._total: int | None = None
        self._counted = ""
        """What the log itself counts, see `Topic.PROGRESS`."""
        self._bar_step: int | None = None
        """Steps of the total that the bar showed last."""
        self._has_moved = False
        """Whether these have not been emitted yet."""
        self._seconds = 0.0
        """Time (s) per step that was not emitted yet; 0 for none."""

    def report_progress(self, step: int, total: int, counted: str = "") -> None:
        """Emit a Fact("progress", ...) if the total number of steps, or what is counted, has changed.

        counted: see `Topic.PROGRESS`."""
        counted = counted or self._counted
        if (total, counted) != (self._total, self._counted) and total > 0:
            self._total, self._counted, self._bar_step, self._has_moved = total, counted, None, False
            value = {"step": step, "total": total}
            self._facts.append(Fact(Topic.PROGRESS, {**value, "counted": counted} if counted else value))

    def note_bar(self, done: int, total: int) -> None:
        """Emit the steps done as a Fact("progress", ...) with the next items, if `total` is the reported one."""
        if total == self._total and done != self._bar_step:
            self._bar_step, self._has_moved = done, True

    def note_rate(self, total: int, inside: str) -> None:
        """Emit the time per step as a Fact("progress", ...) with the next items, if `total` is the reported one.

        inside: what a bar of tqdm shows in brackets, such as "00:10<01:30,  2.00it/s, loss=0.5"."""
        if total == self._total and (match := _RATE.match(inside)) and (rate := float(match[1])):
            self._seconds = rate if match[2] == "s/it" else 1 / rate

    def report_unit(self, name: str, unit: str, whole: float | None) -> None:
        """Emit the unit of a metric, and the whole of which its first value is a part, with the next items."""
        self._new_units[name] = {"unit": unit} if whole is None else {"unit": unit, "whole": whole}

    def take(self) -> tuple[list[Item], list[Item]]:
        """Return and forget the units of new metrics, and the other facts."""
        facts, self._facts = [*self.step_unit.take(), *self._facts], []
        if self._has_moved:
            facts.append(Fact(Topic.PROGRESS, {"step": self._bar_step, "total": self._total}))
            self._has_moved = False
        if self._seconds:
            facts.append(Fact(Topic.PROGRESS, {"seconds_per_step": self._seconds}))
            self._seconds = 0.0
        units, self._new_units = self._new_units, {}
        return [Fact(Topic.UNITS, units)] if units else [], facts


class Sink:
    """Collects the rows that the readers of one log have read."""

    def __init__(self) -> None:
        self.step: int | None = None
        """Step of the last row, from any reader. Lines that name no step belong to it."""
        self.last_row: list[Pair] = []
        self.last_offset = -1
        """Offset of the line of the last row."""
        self.row_count = 0
        self.numbered_count = 0
        """Number of rows whose step is their number, as the log names none."""
        self.computed_count = 0
        """Number of rows whose step is computed from their epoch."""
        self.interrupted = False
        """Whether lines are missing since the last row that named its step."""
        self.held_count = 0
        """Number of rows that readers have held back to add them later."""
        self.disproved = False
        """True if a metric of bars or a counted row was wrong; passed on as `StreamDecoder.must_reread`."""
        self.held_fallback: list[tuple[list[Pair], int, float]] = []
        """(row, step, time) that `release_fallback` passes to `add_fallback` when the log has been read to its end."""
        self.fallback_names: set[str] = set()
        """Names of metrics that were added by `add_fallback`."""
        self.bar_in_epoch: tuple[int, int] = (-1, 0)
        """(epoch, step) of the last progress bar that is named after its epoch."""
        self.bar_names: frozenset[str] = frozenset()
        """Names of the metrics of that bar."""
        self.heading: int | None = None
        """Epoch or step of a line that names nothing else; the rows below it are of it until one names another step."""
        self.heading_unit = "step"
        """What it counts, see `Topic.PROGRESS`."""
        self.rows_at_heading = 0
        """Number of rows when it was read, with those below it."""
        self.line_steps: list[tuple[int, int]] | None = None
        """(offset of the line, step) of each row whose step was logged; None if they are not recorded."""
        self.points = PointsBuilder()
        """Points for the next `take`."""
        self._numbered: dict[str, set[int]] = {}
        """Steps at which new names with a number occurred, by the name without the number."""
        self._units: dict[str, str] = {}
        """The first unit that was printed for each metric; the unit of all its points."""
        self.has_converted = False
        """Whether a number of the last row was printed in another unit than the first of its metric."""
        self.facts = LogFacts()
        """Facts of the log, which its tasks share."""

    def add_row(
        self,
        values: Iterable[Pair],
        step: int | None,
        line: Line,
        counted: bool = False,
        keep_step: bool = False,
        unit: str = "step",
    ) -> bool:
        """Add the numbers logged together at `step`; return False if `values` is empty.

        step: None for the step of the last row, or 0 if there is no row yet.
        counted: no line names the step; it was counted from the beginning of the log.
        keep_step: do not make `step` the step of lines that name none.
        unit: what `step` is, see `Topic.PROGRESS`.
        """
        row = list(values)
        if not row:
            return False
        step_before = self.step
        if step is None:
            if self.interrupted:
                return True  # its step may be named in the missing lines
            step, counted = self.place or 0, self.place is None
        elif not keep_step:
            self.facts.step_unit.note(unit)
        if not counted and not keep_step:
            self.interrupted = False
        self._add_points(row, step, line)
        self.step, self.last_row, self.last_offset = step, row, line.offset
        self.row_count += 1
        if keep_step:
            self.step = step_before
        if self.line_steps is not None and not counted:
            self.line_steps.append((line.offset, step))
        return True

    def note_heading(self, step: int, unit: str = "step") -> None:
        """Note a line that names an epoch or a step and nothing else."""
        self.heading, self.heading_unit, self.rows_at_heading = step, unit, self.row_count

    @property
    def is_below_heading(self) -> bool:
        """Whether all rows since the last heading are of it."""
        return self.heading is not None and self.row_count == self.rows_at_heading

    @property
    def place(self) -> int | None:
        """The step of a line that names none: that of the heading above it, else of the row above it."""
        if self.is_below_heading:
            return self.heading
        return None if self.interrupted else self.step

    def add_below(self, row: Iterable[Pair], place: int, line: Line) -> bool:
        """Add a row that names no step at a `place`; what follows is still below the heading."""
        below = self.is_below_heading
        used = self.add_row(row, place, line, keep_step=True)
        if below:
            self.facts.step_unit.note(self.heading_unit)
            self.rows_at_heading = self.row_count
        return used

    def _add_points(self, row: list[Pair], step: int, line: Line) -> None:
        self.has_converted = False
        for name, value in row:
            if " " in name and not self._is_lasting(name, step):
                continue
            if type(value) is Quantity:
                name, value = self._in_first_unit(name, value)
            self.points.add(name, step, value, line.time)
        if self.fallback_names and not self.fallback_names.isdisjoint(name for name, _ in row):
            self.disproved = True

    def add_fallback(self, row: Iterable[Pair], step: int, time: float) -> None:
        """Add the points of a row whose metrics have only been read from progress bars. `disproved` is set if another
        line gives one of them later."""
        for name, value in row:
            if name in self.fallback_names or (not self.points.has(name) and self._is_lasting(name, step)):
                if type(value) is Quantity:
                    name, value = self._in_first_unit(name, value)
                self.fallback_names.add(name)
                self.points.add(name, step, value, time)

    def release_fallback(self) -> None:
        """Add the rows that are held back, where no other line gives their metrics."""
        for row, step, time in self.held_fallback:
            self.add_fallback(row, step, time)
        self.held_fallback = []

    def _in_first_unit(self, name: str, value: Quantity) -> Pair:
        """Return the number in the first unit of the metric. Without an exact factor it is a metric of its own."""
        first = self._units.get(name)
        if first == value.unit:
            return name, value
        unit = spelled(value.unit)
        if first is None:
            self._units[name] = unit
            self.facts.report_unit(name, unit, value.whole)
        elif first != unit:
            self.has_converted = True
            number_in_first = converted(value, unit, first)
            if number_in_first is None:
                return self._in_first_unit(f"{name} ({unit})", value)
            return name, number_in_first
        return name, value

    def _is_lasting(self, name: str, step: int) -> bool:
        """Return False if the name contains a number that changes with the step: it would be a metric per value."""
        if self.points.has(name) or (shape := _NUMBER_IN_NAME.sub("#", name)) == name:
            return True
        steps = self._numbered.setdefault(shape, set())
        if len(steps) < _MAX_STEPS_OF_NUMBERED:
            steps.add(step)
        return step in steps

    def step_of_epoch(self, epoch: int, row: list[Pair]) -> int | None:
        """Return the last step of an epoch whose batches are counted by a progress bar, or None. If all metrics of the
        bar are those of other lines, such as this row, the bar gives no points and its steps are not used."""
        names = {name for name, _ in row}
        given = any(
            name not in names and (name in self.fallback_names or not self.points.has(name)) for name in self.bar_names
        )
        return self.bar_in_epoch[1] if given and epoch == self.bar_in_epoch[0] else None

    def interrupt(self) -> None:
        """Note that lines are missing here: rows that name no step are left out until one names it."""
        self.step, self.last_row, self.interrupted, self.heading = None, [], True, None

    def take(self) -> list[Item]:
        """Return and forget the collected items: the units of new metrics, at most one Points, then other facts."""
        units, facts = self.facts.take()
        return [*units, *self.points.take(), *facts]

    def __len__(self) -> int:
        return len(self.points)


@cache
def families() -> tuple[Family, ...]:
    """Return all families in the order in which they are tried."""
    plugins: tuple[Family, ...] = discover("tuimon.formats.console.families", "FAMILY")
    return tuple(sorted(plugins, key=lambda family: family.order))


def spelled(unit: str) -> str:
    """Return a printed unit as it is shown: "s" for "sec" and "s/it", "ms" for "ms/step", otherwise as printed."""
    if "s/" in unit[:3]:
        return unit.partition("/")[0]
    return f"{unit[:-3]}s" if unit in ("sec", "Sec") or unit.endswith("/sec") else unit


def converted(value: float, unit: str, wanted: str) -> float | None:
    """Return the value in another unit, correctly rounded; None if the units have no exact factor."""
    for sizes in _SIZES:
        if unit in sizes and wanted in sizes:
            factor = Fraction(sizes[unit], sizes[wanted])
            return float(Fraction(repr(float(value))) * factor) if isfinite(value) else float(value)
    return None
