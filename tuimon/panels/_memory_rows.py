"""Rows of amounts of GPU memory: a row for each kind, or a row with a bar for each device."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from tuimon.draw.heat import fullest, level
from tuimon.draw.numbers import format_fraction, format_number
from tuimon.model.views import SERIES_ROLES, Role, Row, Size, Span, Symbols
from tuimon.panels._memory import phase_title
from tuimon.vocabulary import BYTES, unit_text

_UNALARMING = 0.69
"""Fraction of the device whose colour the highest amount of memory has if the size of the device is not known."""
_AROUND_DEVICES = 4
"""Rows besides those of the devices: title, headings, number of the others, note."""
_SHORTEST_BAR, _LONGEST_BAR = 6, 40
"""Cells of a bar of the whole device; there is no bar if there is less room."""


class MemoryLine(Struct, frozen=True):
    """Amounts of one kind of memory in one phase, by device; they are in one unit."""

    phase: str
    kind: str
    unit: str
    numbers: tuple[float | None, ...]
    fractions: tuple[float | None, ...]
    """The amounts relative to the memory of their device; None if that is not known."""

    @property
    def name(self) -> str:
        return f"{phase_title(self.phase)} {self.words}" if self.phase else self.words

    @property
    def words(self) -> str:
        return "in use" if self.kind in ("memory", "used") else self.kind.replace("_", " ")

    def part(self, number: float, of: float) -> float:
        """Return the part that a number of the line is of an amount in bytes."""
        return number * bytes_of(self.unit) / of if of > 0 else 0.0


def bytes_of(unit: str) -> int:
    """Return the bytes of a unit, 1 if it is not known."""
    return BYTES.get(unit, 1)


def kind_rows(columns: Sequence[str], names: Sequence[str], lines: Sequence[MemoryLine], most: float) -> list[Row]:
    """Return a row for each line, with a number for each device. most: highest amount, in bytes."""
    width = max(map(len, names))
    rows: list[Row] = []
    if tuple(columns) != ("all",):
        rows.append(((" " * width + "".join(f"{column:>9}" for column in columns), Role.MUTED),))
    for name, line in zip(names, lines, strict=True):
        cells: list[Span] = [(f"{name:<{width}}", Role.TEXT)]
        for device, fraction in enumerate(line.fractions):
            cells.append((f"{_number(line, device):>9}", _role(line, device, most)))
            if fraction is not None and len(line.numbers) == 1:
                cells.append((f"{format_fraction(fraction):>7}", Role.MUTED))
        rows.append(tuple(cells))
    return rows


def device_rows(
    columns: Sequence[str], names: Sequence[str], lines: Sequence[MemoryLine], most: float, size: Size, symbols: Symbols
) -> list[Row]:
    """Return a row for each device: the numbers, and a bar of the highest one, relative to the device or to `most`.

    If there are too many devices, the fullest are shown, and the number of the others.
    """

    def part(line: MemoryLine, device: int) -> float:
        number, fraction = line.numbers[device], line.fractions[device]
        return fraction if fraction is not None else 0.0 if number is None else line.part(number, most)

    highest = [max(lines, key=lambda line: part(line, device)) for device in range(len(columns))]
    parts = [part(line, device) for device, line in enumerate(highest)]
    room = max(size.height - _AROUND_DEVICES, 1)
    kept = fullest(parts, room)
    width = max(len("device"), *map(len, columns))
    cell = [max(9, len(name) + 2) for name in names]
    free = size.width - width - sum(cell) - 2
    bar = min(free, _LONGEST_BAR) if free >= _SHORTEST_BAR else 0
    rows: list[Row] = [
        ((f"{'device':<{width}}" + "".join(f"{n:>{w}}" for n, w in zip(names, cell, strict=True)), Role.MUTED),)
    ]
    for device in kept:
        cells: list[Span] = [(f"{columns[device]:<{width}}", Role.TEXT)]
        cells += [
            (f"{_number(line, device):>{w}}", _role(line, device, most)) for line, w in zip(lines, cell, strict=True)
        ]
        length = round(min(parts[device], 1.0) * bar) if not math.isnan(parts[device]) else 0
        cells += [("  ", Role.MUTED), (("#" if symbols is Symbols.ASCII else "█") * length, SERIES_ROLES[0])]
        rows.append(tuple(cells))
    if len(kept) < len(columns):
        rows.append(((f"+{len(columns) - len(kept)} more", Role.MUTED),))
    return rows


def _number(line: MemoryLine, device: int) -> str:
    number = line.numbers[device]
    return "-" if number is None else format_number(number, unit_text(line.unit))


def _role(line: MemoryLine, device: int, most: float) -> Role:
    """Return the role of a number: the level of the fraction of the device, or else relative to the highest amount."""
    number, fraction = line.numbers[device], line.fractions[device]
    if number is None:
        return Role.FAINT
    return level(_UNALARMING * line.part(number, most) if fraction is None else fraction)
