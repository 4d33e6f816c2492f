"""Layout of panels on pages, in cells.

The first page is the dashboard: charts by relevance, beside or above the panels about the step (phases, memory). Panels
that do not fit are placed on further pages. Below 100 columns panels are stacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

GAP = 2
"""Blank cells between two panels side by side."""


class Box(Struct, frozen=True):
    """Place of a panel, in cells."""

    index: int
    x: int
    y: int
    width: int
    height: int


class PanelRequest(Struct, frozen=True):
    """Space that a panel asks for."""

    kind: str
    """chart | bars | heat | text | heading."""
    rows: int = 0
    """Number of rows it can use; 0 for any number (charts)."""


Page = tuple[Box, ...]

_LEAST = {"chart": 6, "bars": 5, "heat": 5, "text": 3}
_LEAST_WIDTH = 22
_NARROW, _WIDE = 100, 160
"""Columns up to which the first chart has a row of its own, and from which other panels are beside the charts."""
_CHART_ROWS = 11
"""Minimum rows of a chart on a large screen."""
_VERY_WIDE = 240
"""Columns from which a row has one more chart."""
_PAIRS = 60
"""Minimum columns of a page with two panels side by side."""
_TALL = 45
"""Rows from which a narrow pane has charts of at least _TALL_CHART rows, and other panels one above the other."""
_TALL_CHART = 9


def pages(width: int, height: int, requests: Sequence[PanelRequest], larger: int = 0) -> tuple[Page, ...]:
    """Return the pages with all panels, at least one page; every box is within width × height.

    larger: if not 0, all pages are grids with cells larger (> 0) or smaller than usual. With headings, all pages are
    divided into sections.
    """
    if width < 1 or height < 1 or not requests:
        return ((),)
    headings = [request.kind == "heading" for request in requests]
    if any(headings):
        return sectioned(width, height, headings, *grid_shape(width, height, larger))
    if larger:
        columns, rows = grid_shape(width, height, larger)
        parts = _chunks(range(len(requests)), columns * rows)
        return tuple(tuple(_place_lines(0, 0, width, height, _chunks(part, columns), rows)) for part in parts)
    charts = [i for i, request in enumerate(requests) if request.kind == "chart"]
    others = [i for i, request in enumerate(requests) if request.kind != "chart"]
    if not charts:
        first, others = _column(0, 0, width, height, requests, others)
    elif width >= _WIDE and others:
        first, charts, others = _beside(width, height, requests, charts, others)
    else:
        first, charts, others = _above(width, height, requests, charts, others)
    result = [tuple(first)] if first else []
    rest = others + charts
    while rest:
        page, rest = _grid(width, height, requests, rest)
        result.append(tuple(page))
    return tuple(result) or ((),)


def grid_shape(width: int, height: int, larger: int) -> tuple[int, int]:
    """Return (columns, rows) of a page of charts. larger: see `pages`."""
    columns = 1 if width < 60 else 2 if width < 120 else 3 if width < _VERY_WIDE else 4
    rows = max(1, height // 10 if columns > 1 else height // 8)
    most = max(1, (width + GAP) // (_LEAST_WIDTH + GAP)), max(1, height // _LEAST["chart"])
    return min(max(columns - larger, 1), most[0]), min(max(rows - larger, 1), most[1])


def sectioned(width: int, height: int, headings: Sequence[bool], columns: int, rows: int) -> tuple[Page, ...]:
    """Return pages of headings (full width, one row), each followed by its charts.

    A heading is not the last row of a page if its charts begin on the next one. Charts of a full page share the
    remaining height.
    """
    tall = max(min(_LEAST["chart"], height), (height - 1) // rows)
    result: list[list[range]] = [[]]
    left = height
    for line, next_line in pairwise([*_lines(headings, columns), range(0)]):
        need = 1 if headings[line[0]] else tall
        leads = headings[line[0]] and len(next_line) > 0 and not headings[next_line[0]]
        if result[-1] and need + (tall if leads else 0) > left:
            result.append([])
            left = height
        result[-1].append(line)
        left -= need
    return tuple(_page(width, height, lines, headings, tall, full=lines is not result[-1]) for lines in result)


def _lines(headings: Sequence[bool], columns: int) -> Iterator[range]:
    """Yield the indices of each row of panels: a heading, or charts of one section."""
    start = 0
    while start < len(headings):
        end = start + 1
        while not headings[start] and end < len(headings) and not headings[end] and end - start < columns:
            end += 1
        yield range(start, end)
        start = end


def _page(
    width: int, height: int, lines: Sequence[range], headings: Sequence[bool], tall: int, full: bool
) -> tuple[Box, ...]:
    charts = sum(not headings[line[0]] for line in lines)
    spare = height - (len(lines) - charts) - charts * tall if full and charts else 0
    boxes: list[Box] = []
    y = done = 0
    for line in lines:
        rows = 1
        if not headings[line[0]]:
            rows = min(tall + spare * (done + 1) // charts - spare * done // charts, height - y)
            done += 1
        boxes += _place_lines(0, y, width, rows, [line])
        y += rows
    return tuple(boxes)


Split = tuple[list[Box], list[int], list[int]]


def _beside(width: int, height: int, requests: Sequence[PanelRequest], charts: list[int], others: list[int]) -> Split:
    """Place charts in two or three columns and the other panels in a further one, with charts below (wide screens)."""
    side = max(56, width * 36 // 100)
    aside, left = _column(width - side, 0, side, height, requests, others)
    main = width - side - GAP
    below = max(box.y + box.height for box in aside) + 1
    free = max(0, height - below)  # charts get the rows that the other panels do not need
    columns, across = (2, 1) if width < _VERY_WIDE else (3, 2)
    rows = most = max(1, height // _CHART_ROWS)
    for rows in range(1, most + 1):  # as few rows as possible: higher charts are easier to read
        if columns * rows + free // max(height // rows * 3 // 4, _CHART_ROWS) * across >= len(charts):
            break
    shown, later = charts[: rows * columns], charts[rows * columns :]
    more = later[: free // max(height // rows * 3 // 4, _CHART_ROWS - 2) * across]
    if more:  # not higher than the first ones, which matter more
        lines = -(-len(more) // across)
        free = min(free, lines * (height // rows))
        aside += _place_lines(width - side, below, side, free, _chunks(more, across), lines)
    return _place_lines(0, 0, main, height, _chunks(shown, columns), rows) + aside, later[len(more) :], left


def _above(width: int, height: int, requests: Sequence[PanelRequest], charts: list[int], others: list[int]) -> Split:
    """Place lines of charts, and one or two other panels below them: side by side, or in a column of a tall pane.

    In a narrow pane the first chart has a line of its own, and panels below leave room for a second one.
    """
    narrow = width < _NARROW
    tall = narrow and height >= _TALL
    least = (_TALL_CHART if tall else _LEAST["chart"]) if narrow else _CHART_ROWS - 1
    below = others[: 2 if width >= _PAIRS else 1] if height >= _LEAST["chart"] * (3 if narrow else 1) else []
    wanted = [requests[i].rows or 12 for i in below]
    most = sum(wanted) + len(below) - 1 if tall else max(wanted, default=0)
    share = min(height * 2 // 5, height - 2 * _LEAST["chart"] - 1) if narrow else height * 2 // 5
    foot = min(most, max(_LEAST["bars"], share)) if below else 0
    body = height - foot
    columns = (2 if width >= _PAIRS else 1) if narrow else 3 if width < _VERY_WIDE else 4
    first = 1 if narrow else columns
    lines = [charts[:first], *_chunks(charts[first:], columns)][: max(body // least, 1)]
    boxes = _place_lines(0, 0, width, body, lines)
    left: list[int] = []
    if tall and below:
        column, left = _column(0, body, width, foot, requests, below)
        boxes += column
    elif below:
        boxes += _place_lines(0, body, width, foot, [below])
    return boxes, charts[sum(map(len, lines)) :], left + others[len(below) :]


def _column(
    x: int, y: int, width: int, height: int, requests: Sequence[PanelRequest], panels: list[int]
) -> tuple[list[Box], list[int]]:
    """Stack panels, each with the rows it can use; return (boxes, panels that do not fit)."""
    shown: list[int] = []
    need = 0
    for index in panels:
        least = _LEAST[requests[index].kind]
        if need + least > height and shown:
            break
        shown.append(index)
        need += least
    boxes = []
    bottom = y + height
    for number, index in enumerate(shown):
        later = sum(_LEAST[requests[i].kind] + 1 for i in shown[number + 1 :])
        rows = min(requests[index].rows or bottom - y, max(1, bottom - y - later))
        boxes.append(Box(index, x, y, width, rows))
        y += rows + (1 if number + 1 < len(shown) else 0)
    return boxes, panels[len(shown) :]


def _grid(width: int, height: int, requests: Sequence[PanelRequest], panels: list[int]) -> tuple[list[Box], list[int]]:
    """Place panels in a page of equal cells; return (boxes, remaining panels)."""
    columns, rows = grid_shape(width, height, 0)
    if any(requests[i].kind != "chart" for i in panels[: columns * rows]):
        columns = min(columns, 2)
    shown = panels[: columns * rows]
    return _place_lines(0, 0, width, height, _chunks(shown, columns)), panels[len(shown) :]


def _chunks(panels: Sequence[int], size: int) -> list[Sequence[int]]:
    return [panels[start : start + size] for start in range(0, len(panels), size)]


def _place_lines(
    x: int, y: int, width: int, height: int, lines: Sequence[Sequence[int]], count: int | None = None
) -> list[Box]:
    """Place lines of panels below each other; the panels of a line share its width, and the first lines get the rows
    that are left over. count: lines that have room, if not all of them are used."""
    boxes = []
    count = count or len(lines)
    for number, line in enumerate(lines):
        top, bottom = y - (-height * number // count), y - (-height * (number + 1) // count)
        for place, index in enumerate(line):
            left = x + (width + GAP) * place // len(line)
            right = x + (width + GAP) * (place + 1) // len(line) - GAP
            boxes.append(Box(index, left, top, max(1, right - left), max(1, bottom - top)))
    return boxes


def side_by_side(page: Page) -> list[list[int]]:
    """Return the positions in the page of the boxes of each row: those at the same y and of the same height."""
    rows: dict[tuple[int, int], list[int]] = {}
    for position, box in enumerate(page):
        rows.setdefault((box.y, box.height), []).append(position)
    return list(rows.values())


def neighbour(page: Page, current: int, direction: str) -> int | None:
    """Return the index of the panel next to panel `current` in a direction, None at the edge."""
    here = next((box for box in page if box.index == current), None)
    if here is None:
        return page[0].index if page else None
    best: tuple[float, int] | None = None
    for box in page:
        if box.index == current:
            continue
        dx = (box.x + box.width / 2) - (here.x + here.width / 2)
        dy = ((box.y + box.height / 2) - (here.y + here.height / 2)) * 2
        ahead, aside = {"left": (-dx, dy), "right": (dx, dy), "up": (-dy, dx), "down": (dy, dx)}[direction]
        if direction in ("up", "down") and box.x < here.x + here.width and here.x < box.x + box.width:
            aside = 0  # right above or below
        if ahead <= 0.5 or abs(aside) > 2 * ahead:
            continue
        distance = ahead + 2 * abs(aside)
        if best is None or distance < best[0]:
            best = (distance, box.index)
    return None if best is None else best[1]
