"""The table below a chart that has the screen to itself: what a line is made of, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuimon.draw.numbers import format_value, thousands
from tuimon.model.views import Role, Row, Rows, Symbols
from tuimon.panels._headline import exact, reading
from tuimon.store import Curve, Run, Sample
from tuimon.text import cell_width, clean, fit

_DOT = {Symbols.BRAILLE: "●", Symbols.BLOCK: "●", Symbols.ASCII: "o"}
_DIGITS = (12, 8)
"""Characters of a value where there is room for every column, and else."""
_LABEL = 24
_GAP = 2


class Detail(NamedTuple):
    """A line of the chart."""

    run: Run
    label: str
    role: Role
    metric: str
    curve: Curve
    factor: float
    glyph: str = ""
    """Its own; "" a dot."""


def details_of(lines: Sequence[Detail], symbols: Symbols, cursor: int | None, width: int) -> Rows:
    """A row of heads and a row for each line: the value under the cursor (step `cursor`), every digit of it; last,
    lowest and highest value with their steps, mean and deviation, how many points there are, and the sources that hold
    the metric. A column for which there is no room is left out, the later ones first."""
    under = () if cursor is None else (f"step {cursor}",)
    sign = "+-" if symbols is Symbols.ASCII else "±"
    heads = ("", *under, "last @ step", "min @ step", "max @ step", f"mean {sign} deviation", "points", "from")
    table: list[tuple[str, ...]] = []
    widths: list[int] = []
    for digits in _DIGITS:
        table = [_row(line, sign, symbols, cursor, digits, min(_LABEL, width // 4)) for line in lines]
        widths = [max(cell_width(cell) for cell in column) for column in zip(heads, *table, strict=True)]
        if sum(widths) + _GAP * (len(widths) - 1) <= width:
            break
    chosen = _fitting(widths, width)
    rows: list[Row] = [((_laid(heads, widths, chosen), Role.MUTED),)]
    for line, cells in zip(lines, table, strict=True):
        name, values = fit(cells[0], widths[0]), _laid(cells, widths, chosen[1:])
        rows.append(((name, line.role), (" " * _GAP + values, Role.TEXT)) if values else ((name, line.role),))
    return tuple(rows)


def _fitting(widths: Sequence[int], width: int) -> list[int]:
    """The columns that stand beside each other in `width` cells: each that fits beside the chosen ones before it."""
    chosen, used = [0], widths[0]
    for column, cells in enumerate(widths[1:], start=1):
        if used + _GAP + cells <= width:
            chosen.append(column)
            used += _GAP + cells
    return chosen


def _laid(cells: Sequence[str], widths: Sequence[int], chosen: Sequence[int]) -> str:
    return (" " * _GAP).join(fit(cells[column], widths[column]) for column in chosen).rstrip()


def _row(line: Detail, sign: str, symbols: Symbols, cursor: int | None, digits: int, label: int) -> tuple[str, ...]:
    curve, factor = line.curve, line.factor
    least, most = (curve.min, curve.max) if factor > 0 else (curve.max, curve.min)
    moments = curve.moments
    mean = "-"
    if moments.count and math.isfinite(moments.mean):
        mean = f"{format_value(moments.mean * factor)} {sign} {format_value(moments.deviation * abs(factor))}"
    name = clean(line.label) or clean(line.metric)
    return (
        f"{line.glyph or _DOT[symbols]} {fit(name, min(cell_width(name), label), keep='end')}",
        *(() if cursor is None else ("".join(reading(curve, factor, cursor, True)),)),
        *(_at(sample, factor, digits) for sample in (curve.last, least, most)),
        mean,
        thousands(len(curve)),
        _sources(line.run, line.metric),
    )


def _at(sample: Sample | None, factor: float, digits: int) -> str:
    return f"{exact(sample.value * factor, digits)} @ {sample.step}" if sample is not None else "-"


def _sources(run: Run, metric: str) -> str:
    try:
        held = run.provenance(metric)
    except KeyError:
        return ""
    if len(held) == 1:
        return clean(held[0][0])
    return ", ".join(f"{clean(source)} {thousands(count)}" for source, count in held)
