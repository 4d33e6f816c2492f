"""The table below a chart that has the screen to itself: what a line is made of, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuimon.draw.numbers import format_value
from tuimon.model.views import Role, Row, Rows, Symbols
from tuimon.panels._headline import exact, reading
from tuimon.panels._text import thousands
from tuimon.store import Curve, Run, Sample
from tuimon.text import cell_width, clean, fit

_DOT = {Symbols.BRAILLE: "●", Symbols.BLOCK: "●", Symbols.ASCII: "o"}
_MOST_DIGITS, _FEW_DIGITS = 12, 8
"""Characters of a value, in a wide table and in a narrow one."""
_WIDE = 120
_LABEL = 24


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
    the metric."""
    under = () if cursor is None else (f"step {cursor}",)
    heads: tuple[str, ...] = (
        "",
        *under,
        "last @ step",
        "min @ step",
        "max @ step",
        "mean ± deviation",
        "points",
        "from",
    )
    digits = _MOST_DIGITS if width >= _WIDE else _FEW_DIGITS
    table = [_row(line, symbols, cursor, digits) for line in lines]
    widths = [max(cell_width(cell) for cell in column) for column in zip(heads, *table, strict=True)]
    if symbols is Symbols.ASCII:
        heads = tuple(head.replace("±", "+-") for head in heads)
    rows: list[Row] = [((_laid(heads, widths), Role.MUTED),)]
    for line, cells in zip(lines, table, strict=True):
        rows.append(((fit(cells[0], widths[0]), line.role), ("  " + _laid(cells[1:], widths[1:]), Role.TEXT)))
    return tuple(rows)


def _laid(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(fit(cell, width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _row(line: Detail, symbols: Symbols, cursor: int | None, digits: int) -> tuple[str, ...]:
    curve, factor = line.curve, line.factor
    least, most = (curve.min, curve.max) if factor > 0 else (curve.max, curve.min)
    moments = curve.moments
    mean = "-"
    if moments.count and math.isfinite(moments.mean):
        sign = "+-" if symbols is Symbols.ASCII else "±"
        mean = f"{format_value(moments.mean * factor)} {sign} {format_value(moments.deviation * abs(factor))}"
    name = clean(line.label) or clean(line.metric)
    return (
        f"{line.glyph or _DOT[symbols]} {fit(name, min(cell_width(name), _LABEL), keep='end')}",
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
