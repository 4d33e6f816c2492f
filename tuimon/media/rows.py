"""Rows of text that show the items of a tag: heat map, two steps, curve, text, settings, or a list."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence

from tuimon.draw.numbers import format_value
from tuimon.draw.rows import fit_row, wrap_text
from tuimon.draw.table import aligned
from tuimon.media import Distribution, Item, PrecisionRecall, Setting
from tuimon.media.library import Tag, content_of
from tuimon.media.shape import area_under, is_exact, limited, mean, normalized, rebucket, total
from tuimon.media.table_chart import chart_rows
from tuimon.media.tables import Table, read_table
from tuimon.model.views import Role, Row, Size, Symbols
from tuimon.redact import redacted, redacted_text
from tuimon.text import clean, fit

HEAT, COMPARE = "heat map", "two steps"
VIEWS = (HEAT, COMPARE)
"""Views of a histogram."""
_AXIS = 10
"""Cells of the labels to the left of a picture."""
_LEVELS = {False: " ░▒▓█", True: " .:*#"}
"""Shades by level; True: ASCII. They can be distinguished without colour."""
_NUMBERS_FROM = 10
"""Rows from which the numbers of a distribution are shown below it."""
_BUCKETS = 100
"""Buckets of two distributions that are compared."""
_TEXT_LINES = 500
_CHART_FROM = 12
"""Rows from which the chart of a table is drawn above its rows."""
_WIDEST_CELL = 40
"""Maximum width of a column of a table, except the last one."""


def detail_rows(
    tag: Tag, width: int, height: int, view: str, step: int, marked: int | None, plain: bool, note: str = ""
) -> list[Row]:
    """Return at most `height` rows of `width` cells. step, marked: the selected step and the one that it is compared
    with (None: the first); plain: ASCII only; note: what is said of a kind whose content is not among the rows."""
    items = tag.items
    if width < 24 or height < 1 or not items:
        return []
    rows = _rows(items, width, height, view, step, marked, plain, note)
    return [fit_row(row, width) for row in rows[:height]]


def _rows(
    items: list[Item], width: int, height: int, view: str, step: int, marked: int | None, plain: bool, note: str
) -> list[Row]:
    item = nearest(items, step)
    other = items[0] if marked is None else nearest(items, marked)
    content = content_of(item)
    if isinstance(content, Distribution):
        if view == COMPARE:
            return _two_steps(other, item, width, height, plain)
        return _over_steps(items, item.step, width, height, plain)
    if isinstance(content, PrecisionRecall):
        return _curve(other, item, width, height, plain)
    if isinstance(content, str):
        return _text(item, content, width)
    if isinstance(content, dict):
        return _settings(content, width)
    return _table(item, width, height, plain) if item.file else _list(items, item, width, height, note)


def nearest(items: Sequence[Item], step: int) -> Item:
    """Return the item whose step is closest to `step`, the last one of these: that of the newest attempt."""
    return min(reversed(items), key=lambda item: abs(item.step - step))


def _over_steps(items: list[Item], step: int, width: int, height: int, plain: bool) -> list[Row]:
    """Draw distributions over steps: time to the right, values upward; the last one of each step. Below, the numbers of
    the selected step if there is room."""
    logged = {item.step: item.content for item in items if isinstance(item.content, Distribution)}
    numbers = _numbers(step, logged[step], width) if height >= _NUMBERS_FROM else []
    shapes = [(number, limited(shape)) for number, shape in logged.items()]
    room, tall = width - _AXIS, max(height - 2 - len(numbers), 1)
    count = min(len(shapes), room)
    columns = [shapes[round(index * (len(shapes) - 1) / max(count - 1, 1))] for index in range(count)]
    low = min(shape.edges[0] for _, shape in columns)
    high = max(shape.edges[-1] for _, shape in columns)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    cells = [_heat_column(shape, low, high, tall, plain) for _, shape in columns]
    cell = max(room // count, 1)
    rows = _with_axis(low, high, tall, lambda row: tuple((text * cell, role) for text, role in (c[row] for c in cells)))
    selected = min(range(count), key=lambda index: abs(columns[index][0] - step))
    pointer = " " * (_AXIS + selected * cell + (cell - 1) // 2) + "^"
    first, last = f"step {columns[0][0]}", str(columns[-1][0])
    axis = " " * _AXIS + first + last.rjust(max(cell * count - len(first), len(last) + 1))
    return [*rows, ((pointer, Role.ACCENT),), ((fit(axis, width), Role.AXIS),), *numbers]


def _numbers(step: int, shape: Distribution, width: int) -> list[Row]:
    """Return the limits, the mean and the count of a distribution."""
    within = limited(shape)
    low, high = (format_value(edge) for edge in (within.edges[0], within.edges[-1]))
    borders = "" if shape.moments else " (borders of buckets)"
    about = "" if is_exact(shape) else "about "
    count = total(shape)
    texts = [f"step {step}", f"min {low}, max {high}{borders}", f"mean {about}{format_value(mean(shape))}"]
    texts.append(f"{count:.15g} value{'s' if count != 1 else ''}")
    lines = [" " + texts[0]]
    for text in texts[1:]:
        if len(lines[-1]) + 2 + len(text) > width:
            lines.append(" ")
        lines[-1] += f"{'  ' if lines[-1].strip() else ''}{text}"
    return [((line, Role.MUTED),) for line in lines]


def _with_axis(low: float, high: float, tall: int, row: Callable[[int], Row]) -> list[Row]:
    """Put the values of the first, middle and last row in front of the rows."""
    labels = {0: high, tall - 1: low}
    if tall >= 5:
        labels[tall // 2] = high - (high - low) * (tall // 2 + 0.5) / tall
    return [
        ((f"{format_value(labels[index]) if index in labels else '':>{_AXIS - 1}} ", Role.AXIS), *row(index))
        for index in range(tall)
    ]


def _heat_column(shape: Distribution, low: float, high: float, tall: int, plain: bool) -> Row:
    levels = _LEVELS[plain]
    spans = []
    for part in reversed(normalized(rebucket(shape, low, high, tall))):
        level = 0 if part <= 0 else 1 + min(int(part * (len(levels) - 1)), len(levels) - 2)
        spans.append((levels[level], Role.SERIES_0))
    return tuple(spans)


def _two_steps(first: Item, second: Item, width: int, height: int, plain: bool) -> list[Row]:
    """Draw two distributions over the same buckets: values to the right, shares of all values upward."""
    shapes = [(item.step, limited(item.content)) for item in (first, second) if isinstance(item.content, Distribution)]
    low, high = min(s.edges[0] for _, s in shapes), max(s.edges[-1] for _, s in shapes)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    wide = (high - low) / _BUCKETS
    lines = {}
    for step, shape in shapes:
        counts = rebucket(shape, low, high, _BUCKETS)
        share = sum(counts) or 1.0
        lines[f"step {step}"] = [(low + (n + 0.5) * wide, count / share) for n, count in enumerate(counts)]
    return _lines_of_steps(("class", "value", "share"), lines, width, height, plain)


def _curve(first: Item, second: Item, width: int, height: int, plain: bool) -> list[Row]:
    """Draw the precision-recall curves of two steps: recall to the right, precision upward; only their areas if there
    is no room. Writers log 0 and 0 where nothing is predicted, and TensorBoard leaves it out."""
    lines = {
        f"step {item.step}: area {area_under(*item.content):.4g}": [
            (recall, precision) for precision, recall in zip(*item.content, strict=True) if precision or recall
        ]
        for item in (first, second)
        if isinstance(item.content, PrecisionRecall)
    }
    return _lines_of_steps(("class", "recall", "precision"), lines, width, height, plain)


def _lines_of_steps(
    columns: tuple[str, str, str], lines: dict[str, list[tuple[float, float]]], width: int, height: int, plain: bool
) -> list[Row]:
    """Return a chart of a line for each step, or only their names if there is no room."""
    points = tuple((name, *point) for name, line in lines.items() for point in line)
    alone = len(lines) == 1  # a chart of one line has no legend
    chart = chart_rows(Table(columns, points, len(points)), Size(width, height - alone), _symbols(plain), columns)
    heads: list[Row] = [((f" {name}", Role.MUTED),) for name in lines]
    return [*heads, *chart] if alone or not chart else chart


def _symbols(plain: bool) -> Symbols:
    return Symbols.ASCII if plain else Symbols.BRAILLE


def _text(item: Item, text: str, width: int) -> list[Row]:
    rows: list[Row] = [((f" step {item.step}", Role.MUTED),)]
    for line in redacted_text(text).split("\n")[:_TEXT_LINES]:
        rows += [((f" {piece}", Role.TEXT),) for piece in wrap_text(clean(line), width - 2)]
    return rows


def _settings(settings: dict[str, Setting], width: int) -> list[Row]:
    rows = [((clean(key), Role.MUTED), (clean(str(value)), Role.VALUE)) for key, value in redacted(settings).items()]
    return _indented(aligned(rows, width - 1, left=(0, 1)))


def _indented(rows: Sequence[Row]) -> list[Row]:
    return [((" ", Role.MUTED), *row) for row in rows]


def _table(item: Item, width: int, height: int, plain: bool) -> list[Row]:
    """Show the chart of a table if it has one, then its first rows, or why it cannot be read."""
    table = read_table(item.file)
    chart = chart_rows(table, Size(width, height * 2 // 3), _symbols(plain)) if height >= _CHART_FROM else []
    return [*chart, *_table_rows(table, item, width, height - len(chart))]


def _table_rows(table: Table, item: Item, width: int, height: int) -> list[Row]:
    head = f" step {item.step}  {clean(table.problem or item.detail)}"
    if table.problem or not table.columns:
        return [((head, Role.MUTED),)]
    listed = table.rows[: max(height - 2, 0)]
    last = len(table.columns) - 1  # often a text
    rows = [
        tuple(
            (_cell(value)[: width if column == last else _WIDEST_CELL], Role.TEXT) for column, value in enumerate(row)
        )
        for row in listed
    ]
    names = tuple((clean(name, _WIDEST_CELL), Role.ACCENT) for name in table.columns)
    left = table.count - len(listed)
    more = f"  {left} more rows" if left else ""
    shown = aligned([names, *rows], width - 1, left=range(len(table.columns)))
    return [((head + more, Role.MUTED),), *_indented(shown)]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return format_value(value)
    if isinstance(value, dict):  # an image or another object of W&B
        return clean(f"[{value.get('_type', 'object')}]", _WIDEST_CELL)
    return clean(" ".join(redacted_text(str(value)[:400]).split()), 400)


def _list(items: list[Item], item: Item, width: int, height: int, note: str) -> list[Row]:
    """Return a note, if there is one, then step, size and name of the items, with the selected step in view; the log
    file, too, of items that have their step in common."""
    same_step = Counter(shown.step for shown in items)
    height -= bool(note)
    place = items.index(item)
    top = max(0, min(place - height // 2, len(items) - height))
    rows: list[Row] = []
    for index, shown in enumerate(items[top : top + height], top):
        count = same_step[shown.step]
        number = index - bisect_left(items, shown.step, key=lambda other: other.step) + 1
        log = f", {number} of {count} at this step, from {shown.log}" if count > 1 else ""
        step = str(shown.step), Role.ACCENT if shown is item else Role.MUTED
        rows.append((step, (f"{shown.size} bytes", Role.VALUE), (clean((shown.detail + log).lstrip(", ")), Role.TEXT)))
    head: list[Row] = [((f" {note}", Role.MUTED),)] if note else []
    return [*head, *_indented(aligned(rows, width - 1, left=(2,)))]
