"""Rows of lines by the layout of their shape, and the named numbers of a part of a line."""

from __future__ import annotations

from math import nan
from typing import TypeAlias

from tuimon import lazy_re as re
from tuimon.formats.console.shapes.cutting import MISSING, cut, number
from tuimon.formats.console.shapes.labels import unit_after
from tuimon.formats.console.shapes.numbers import WORD, Column
from tuimon.formats.console.shapes.roles import Layout, examine, exponent_of, is_power
from tuimon.formats.console.shapes.values import Pair, Quantity

Cells: TypeAlias = list[str]
"""The numbers of a line, as they are printed."""
_LAYOUTS: dict[tuple[str | bool, ...], Layout] = {}
"""By the texts between the numbers and whether each of these is an integer: steps print the same names."""
_MAX_LAYOUTS = 256
_WITHIN = re.compile("[\ue000-\uf8ff]")
_WHOLE = re.compile(r"\s?/\s?(\d{1,12}(?:\.\d{1,9})?)(?=\s?[kMGT]i?B)", re.ASCII)


def row_of(layout: Layout, cells: Cells) -> list[Pair]:
    """Return the metrics of a line whose shape has this layout: [("loss", 0.5), ("acc", 0.8)]."""
    row = [(_name(column, cells), _value(column, cells)) for column in layout.columns]
    if MISSING.isdisjoint(cells):
        return row
    return [pair for pair, column in zip(row, layout.columns, strict=True) if cells[column.first] not in MISSING]


def integer(column: Column, cells: Cells) -> int:
    """Return a number that counts something: 1500 for "1.5k"."""
    printed = "".join(cells[column.first : column.last + 1])
    return round(float(f"{printed}e{column.exponent}")) if column.exponent else int(printed)


def has_whole_counts(layout: Layout, cells: Cells) -> bool:
    """Return whether the steps and totals of a line are integers, as in the line that was examined."""
    counts = (layout.step, layout.epoch, layout.total, layout.epochs)
    return all(
        column is None or column.exponent or "".join(cells[column.first : column.last + 1]).lstrip("+-").isdecimal()
        for column in counts
    )


def pairs_of(text: str) -> list[Pair]:
    """Return the named numbers of a part of a line, without those that count steps: "loss: 0.5 lr=1e-5"."""
    return row_of(*layout_of(" ".join(text.split())))


def layout_of(text: str) -> tuple[Layout, Cells]:
    """Return the layout of the named numbers of a part of a line, and its numbers."""
    parts = cut(text)
    cells = parts[1::2]
    key: tuple[str | bool, ...] = (*parts[::2], *map(str.isdecimal, cells))
    layout = _LAYOUTS.get(key)
    if layout is None:
        layout = examine(text, is_part=True) or Layout([])
        if len(_LAYOUTS) >= _MAX_LAYOUTS:
            _LAYOUTS.clear()
        if not layout.varies:
            _LAYOUTS[key] = layout
    return layout, cells


def quantity_before(name: str, value: float, printed: str, text: str) -> float | None:
    """Return the value of a number before a text with the factor and the unit that the text begins with, such as "k
    tok/s"; None if the factor is not certain."""
    whole = _WHOLE.match(text)
    factor, unit, _ = unit_after(text[whole.end() :] if whole else text)
    if factor and not is_power(name, printed, factor):
        return None
    value = float(f"{printed}e{exponent_of(factor)}") if factor and printed[-1:].isdecimal() else value
    return Quantity(value, unit, float(whole[1]) if whole else None) if unit else value


def _name(column: Column, cells: Cells) -> str:
    """Return the name of a metric with the numbers that belong to it."""
    name = column.name
    return _WITHIN.sub(lambda sign: cells[ord(sign[0]) - WORD], name) if not name.isascii() else name


def _value(column: Column, cells: Cells) -> float:
    printed = cells[column.first]
    if column.last > column.first:
        printed = column.joint.join(cells[column.first : column.last + 1])
    if column.exponent:
        return float(f"{printed}e{column.exponent}")
    value = number(printed)
    if column.share is not None:
        return value / (number(cells[column.share]) or nan)
    if column.unit:
        return Quantity(value, column.unit, None if column.whole is None else number(cells[column.whole]))
    return value
