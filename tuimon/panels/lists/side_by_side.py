"""Runs side by side as a table: the settings that differ, and how far their metrics lie apart against their noise.

A metric's level is the mean of the last tenth of its points up to the last step that all of the runs have reached. What
differs is told, and whether noise explains it; what caused it is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.analysis.comparing import MISSING, aligned, common_step, compared_settings, first_name, telling_names
from tuimon.analysis.level import Level, level
from tuimon.analysis.progress_inputs import progress_of
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import row_width
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._briefs import settings_of
from tuimon.panels._headline import in_context
from tuimon.panels._order import ASIDE, telling
from tuimon.panels._over import marker_of
from tuimon.panels._reading import Reading, reading_of
from tuimon.panels._text import plural, signed
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_NAME, _LEAST_NAME = 40, 16
_VALUE = 28
_GAP: Span = ("  ", Role.MUTED)


def side_by_side(runs: Sequence[Run], now: float, symbols: Symbols, width: int = 0) -> list[Row]:
    """The table; the first run is what the others are held against.

    width: cells into which it is to fit, if it can be helped: without counts of points, with shorter names; 0: any.
    """
    names = telling_names([clean(run.name) for run in runs])
    heads: list[Row] = [
        ((f"{sign} {fit(name, min(len(name), _VALUE), 'ends')}", role),)
        for name, (sign, role) in zip(names, (marker_of(run, symbols) for run in runs), strict=True)
    ]
    told = [progress_of(run, now) for run in runs]
    steps = [f"{one.step}" + (f" of {one.total}" if one.total else "") if one.step is not None else "-" for one in told]
    differences, same = compared_settings([settings_of(run) for run in runs])
    metrics, counted = _metrics(runs, symbols, True), True
    body: list[tuple[Span, list[Row]]] = [
        (("state", Role.MUTED), [((one.state, Role.TEXT),) for one in told]),
        (("step", Role.MUTED), [((step, Role.TEXT),) for step in steps]),
    ]
    settings = [((clean(key), Role.TEXT), [_setting(value) for value in values]) for key, values in differences]
    widths = _widths(heads, [*body, *settings, *metrics])
    if 0 < width < _whole(widths):
        metrics, counted = _metrics(runs, symbols, False), False
        widths = _widths(heads, [*body, *settings, *metrics])
        widths[0] = min(widths[0], max(widths[0] + width - _whole(widths), _LEAST_NAME))
    made: list[Row] = [_laid(("", Role.MUTED), heads, widths), *(_laid(*one, widths) for one in body), ()]
    made += [_title("Settings that differ", _same(len(differences), len(same)))]
    made += [_laid(*one, widths) for one in settings]
    made += [
        (),
        _title(
            "Metrics",
            f"level {_plus_minus(symbols)} noise of a point{', points' * counted}; difference to the first run",
        ),
    ]
    made += [_laid(*one, widths) for one in metrics] or [(("  they have none in common", Role.MUTED),)]
    tilde = "~" if symbols is Symbols.ASCII else "≈"
    made += [
        (),
        (
            (
                f"Level: mean of the last tenth of the points up to the last step of all. {tilde}: noise explains it.",
                Role.MUTED,
            ),
        ),
        (("Settings and metrics that differ stand side by side: none is shown to cause the other.", Role.MUTED),),
    ]
    return made


def _title(text: str, told: str) -> Row:
    return ((text, Role.TITLE), (f"   {told}", Role.MUTED))


def _same(different: int, same: int) -> str:
    if not different and not same:
        return "no run tells its configuration"
    return ("none; " if not different else "") + f"{plural(same, 'setting')} the same"


def _setting(value: object) -> Row:
    if value is MISSING:
        return (("-", Role.MUTED),)
    text = format_value(value) if isinstance(value, float) else clean(str(value), 160)
    return ((fit(text, min(len(text), _VALUE), "ends"), Role.VALUE),)


def _metrics(runs: Sequence[Run], symbols: Symbols, counted: bool) -> list[tuple[Span, list[Row]]]:
    """The metrics that two runs have at least, those first that tell most."""
    rows = []
    for names in aligned([[name for name in run.metrics if name in run.main_metrics] for run in runs], telling):
        readings = [reading_of(run, [name]) if name else None for run, name in zip(runs, names, strict=True)]
        known = [one for one in readings if one is not None]
        if len(known) < 2 or known[0].meaning.panel in ASIDE:
            continue
        step = common_step([one.curve for one in known])
        levels = [None if one is None else _level(one, step) for one in readings]
        direction = in_context(runs[0], known[0].meaning).direction
        cells = [_cell(one, levels[0] if at else None, direction, symbols, counted) for at, one in enumerate(levels)]
        rows.append(((fit(clean(first_name(names)), min(len(first_name(names)), _NAME), "ends"), Role.TEXT), cells))
    return rows


def _level(reading: Reading, step: int | None) -> Level:
    """In the unit of the concept."""
    curve = reading.curve
    end = len(curve) if step is None else int(curve.steps.searchsorted(step, "right"))
    return level(curve.values[:end] * reading.factor)


def _cell(one: Level | None, base: Level | None, direction: str, symbols: Symbols, counted: bool) -> Row:
    if one is None:
        return (("-", Role.MUTED),)
    spans: list[Span] = [(format_value(one.value), Role.VALUE)]
    if math.isfinite(one.noise):
        spans.append((f" {_plus_minus(symbols)} {format_value(one.noise)}", Role.MUTED))
    if counted:
        spans.append((f", {one.count}", Role.MUTED))
    if base is not None:
        text, role = signed(one.value - base.value, direction)
        apart = one.differs_from(base) and math.isfinite(one.value - base.value)
        near = "" if apart or not text or one.value == base.value else " ~" if symbols is Symbols.ASCII else " ≈"
        spans.append((f"  {text}{near}", role if apart else Role.MUTED))
    return tuple(spans)


def _plus_minus(symbols: Symbols) -> str:
    return "+-" if symbols is Symbols.ASCII else "±"


def _widths(heads: Sequence[Row], rows: Sequence[tuple[Span, Sequence[Row]]]) -> list[int]:
    return [
        min(max(cell_width(name) for (name, _), _ in rows), _NAME),
        *(max(map(row_width, (head, *(cells[at] for _, cells in rows)))) for at, head in enumerate(heads)),
    ]


def _whole(widths: Sequence[int]) -> int:
    return sum(widths) + len(widths) * row_width((_GAP,))


def _laid(name: Span, cells: Sequence[Row], widths: Sequence[int]) -> Row:
    made: list[Span] = [_GAP, (fit(name[0], widths[0], "ends"), name[1])]
    for cell, width in zip(cells, widths[1:], strict=True):
        made += [_GAP, *cell, (" " * (width - row_width(cell)), Role.MUTED)]
    return tuple(made)
