"""Parallel coordinates: an axis for each result and setting of the listed runs, and a line for each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.comparing import is_seed, number_of
from tuimon.draw.raster import glyphs
from tuimon.draw.rows import fit_row, row_width
from tuimon.model.points import Floats
from tuimon.model.views import SERIES_ROLES, Role, Row, Span, Symbols
from tuimon.panels.lists.hparam_rows import Settings, cell_text
from tuimon.panels.lists.run_metrics import METRIC, RESULTS, is_name_of_falling, repeated_columns
from tuimon.panels.lists.runs import Listing, headed, run_columns
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_AXIS_WIDTH = 16
"""Minimum cells from one axis to the next."""
_MOST_RUNS = 2000
_LOG_RATIO = 10.0
"""Ratio of the largest to the smallest value, all positive, above which an axis is logarithmic, unless it has seeds."""
_OTHER, _BEST, _SELECTED = 0, 5, 6
_ROLES = (Role.MUTED, *(SERIES_ROLES[index] for index in (5, 3, 6, 1)), Role.GOOD, Role.ACCENT)
"""Colours of the lines, those in front last where high results are better, none like that of the selection: runs
without a result, quarters from the lowest to the highest result, the run with the best result, the selected run. Where
a theme has its own colours, the quarters are violet, pink or purple, red and orange, an order of hues as in a heat map.
"""


class Axis(Struct, frozen=True):
    """A vertical axis with a value of each run, None where a run has none."""

    head: str
    values: Sequence[Any]
    is_result: bool = False
    is_falling: bool = False
    """Whether lower values of a result are better."""


def axes_of(runs: Sequence[Run], listing: Listing) -> list[Axis]:
    """Return the axes of the listed runs: results, then settings; only those in which the runs differ."""
    axes = []
    for column in headed(run_columns(listing), runs):
        if column.id in (METRIC, *RESULTS) and column.id not in repeated_columns(runs, listing.metric):
            falls = is_name_of_falling(listing.metric) if column.id == METRIC else not column.down
            axes.append(Axis(column.full or column.head, [column.value(run) for run in runs], True, falls))
    settings = listing.settings or Settings()
    for place, name in enumerate(settings.names):
        values = [settings.values[run.id][place] for run in runs]
        axes.append(Axis(clean(name.rpartition(".")[2]), values))
    return [axis for axis in axes if len({cell_text(value) for value in axis.values}) > 1]


def parallel_rows(axes: Sequence[Axis], selected: int, width: int, height: int, symbols: Symbols) -> list[Row]:
    """Return `height` rows: names, highest values, lines, lowest values; [] for fewer than two axes.

    The colour of a line shows the quarter of the first result of its run, see `quarters_row`. The selected run and the
    one with the best result are in front, then better quarters. A line has a gap where a value is missing.
    """
    axes = axes[: max((width - _AXIS_WIDTH) // _AXIS_WIDTH + 1, 1)]
    tall = height - 3
    if len(axes) < 2 or tall < 2:
        return []
    scaled = [_scaled(axis.values[:_MOST_RUNS], not is_seed(axis.head), axis.is_result) for axis in axes]
    step = (width - _AXIS_WIDTH) / (len(axes) - 1)
    places = [round(_AXIS_WIDTH / 2 + index * step) for index in range(len(axes))]
    heights = np.array([parts for parts, *_ in scaled])
    result = result_of(axes)
    layers, roles = _quarters(result, heights.shape[1]), _ROLES
    if result is not None and result.is_falling:
        layers = [_BEST - layer if layer else _OTHER for layer in layers]
        roles = (_ROLES[_OTHER], *_ROLES[_BEST - 1 : _OTHER : -1], *_ROLES[_BEST:])
    if (best := _best(result)) >= 0:
        layers[best] = _BEST
    if 0 <= selected < len(layers):
        layers[selected] = _SELECTED
    owners, masks = _drawn(heights, places, width, tall, layers, symbols)
    codes = glyphs(symbols).codes
    drawn: list[Row] = []
    for y in range(tall):
        spans: list[Span] = []
        for x in range(width):
            mask = int(masks[y, x])
            if mask:
                spans.append((chr(int(codes[mask])), roles[int(owners[y, x])]))
            else:
                spans.append(("│" if x in places else " ", Role.AXIS))
        drawn.append(tuple(spans))
    heads = [axis.head + " (log)" * is_log for axis, (*_, is_log) in zip(axes, scaled, strict=True)]
    names = _labels(heads, places, width, Role.TITLE)
    highest = _labels([high for _, _, high, _ in scaled], places, width, Role.AXIS)
    lowest = _labels([low for _, low, *_ in scaled], places, width, Role.AXIS)
    return [fit_row(row, width) for row in (names, highest, *drawn, lowest)]


def result_of(axes: Sequence[Axis]) -> Axis | None:
    """Return the first axis if it is that of a result."""
    return axes[0] if axes and axes[0].is_result else None


def quarters_row(result: Axis | None, room: int) -> Row:
    """Return the meaning of the colours of the lines; () if the runs have no result or it does not fit in `room` cells.

    The quarters are numbered, because the colours of a terminal with 16 of them have no order.
    """
    if result is None:
        return ()
    spans: list[Span] = [(f"  {result.head}:", Role.MUTED)]
    for role, quarter in zip(_ROLES[1 : _BEST + 1], ("lowest", "2nd", "3rd", "highest quarter", "best"), strict=True):
        spans += ((" ■", role), (f" {quarter}", Role.MUTED))
    return tuple(spans) if row_width(spans) <= room else ()


def _numbers(result: Axis | None, count: int) -> Floats:
    """Return the first `count` results, NaN where a run has none."""
    values = result.values[:count] if result is not None else [None] * count
    numbers = [number_of(value) for value in values]
    return np.array([math.nan if number is None or not math.isfinite(number) else number for number in numbers])


def _quarters(result: Axis | None, count: int) -> list[int]:
    """Return the layer of each run: the quarter of its result, 1 to 4; 0 without a result."""
    numbers = _numbers(result, count)
    known = np.isfinite(numbers)
    if not known.any():
        return [_OTHER] * count
    limits = np.percentile(numbers[known], (25, 50, 75))
    layers: list[int] = np.where(known, 1 + np.searchsorted(limits, numbers), _OTHER).tolist()
    return layers


def _scaled(values: Sequence[Any], may_be_log: bool, is_result: bool) -> tuple[Floats, str, str, bool]:
    """Return the place of each value on its axis (0 to 1; NaN without a value), the labels of its ends, and whether the
    axis is logarithmic. is_result: whether four digits are enough for the labels."""
    found = [number_of(value) for value in values]
    numbers = np.array([math.nan if number is None else number for number in found])
    known = numbers[np.isfinite(numbers)]
    if len(known) and all(value is None or number is not None for value, number in zip(values, found, strict=True)):
        low, high = float(known.min()), float(known.max())
        is_log = may_be_log and low > 0 and high / low > _LOG_RATIO
        if is_log:
            parts = (np.log(np.where(numbers > 0, numbers, np.nan)) - math.log(low)) / math.log(high / low)
        else:
            parts = (numbers - low) / ((high - low) or 1.0)
        return (
            np.where(np.isfinite(parts), parts, np.nan),
            cell_text(low, is_result),
            cell_text(high, is_result),
            is_log,
        )
    names = sorted({cell_text(value) for value in values if value is not None})
    order = {name: index / max(len(names) - 1, 1) for index, name in enumerate(names)}
    parts = np.array([math.nan if value is None else order[cell_text(value)] for value in values])
    return parts, clean(names[0]), clean(names[-1]), False


def _best(result: Axis | None) -> int:
    """Return the index of the run with the best result; -1 without any."""
    numbers = _numbers(result, _MOST_RUNS)
    if result is None or not np.isfinite(numbers).any():
        return -1
    return int(np.nanargmin(numbers) if result.is_falling else np.nanargmax(numbers))


def _drawn(
    heights: Floats, places: Sequence[int], width: int, tall: int, layers: Sequence[int], symbols: Symbols
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return (layer in front, mask of its dots) of each cell. heights: axis × run; layers: the layer of each run."""
    form = glyphs(symbols)
    dots = np.zeros((len(_ROLES), tall * form.rows, width * form.columns), bool)
    rows_of_dots = tall * form.rows - 1
    for left in range(len(places) - 1):
        begin, end = places[left] * form.columns, places[left + 1] * form.columns
        parts = np.linspace(0.0, 1.0, 2 * max(end - begin, rows_of_dots) + 1)
        x = np.rint(begin + (end - begin) * parts).astype(int)
        for run in range(heights.shape[1]):
            y = heights[left, run] + (heights[left + 1, run] - heights[left, run]) * parts
            if not np.isnan(y[0]):
                dots[layers[run], np.rint((1 - y) * rows_of_dots).astype(int), x] = True
    cells = dots.reshape(len(_ROLES), tall, form.rows, width, form.columns)
    bits = 1 << (np.arange(form.rows)[:, None] + np.arange(form.columns)[None, :] * form.rows)
    masks = (cells * bits[None, None, :, None, :]).sum(axis=(2, 4))
    front = len(_ROLES) - 1 - np.argmax(masks[::-1] > 0, axis=0)
    return front, np.take_along_axis(masks, front[None], axis=0)[0]


def _labels(texts: Sequence[str], places: Sequence[int], width: int, role: Role) -> Row:
    """Return a row with each text centred at its place, cut if it does not fit between its neighbours."""
    spans: list[Span] = []
    end, step = 0, places[1] - places[0]
    for text, place in zip(texts, places, strict=True):
        room = (step + _AXIS_WIDTH) // 2 if place in (places[0], places[-1]) else step
        shown = fit(text, room - 2, keep="end").strip()
        start = min(max(place - cell_width(shown) // 2, end), max(width - cell_width(shown), end))
        spans += [(" " * (start - end), role), (shown, role)]
        end = start + cell_width(shown)
    return tuple(spans)
