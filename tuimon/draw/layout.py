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
_SIDE_BY_SIDE = 100
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
        parts = [range(i, min(i + columns * rows, len(requests))) for i in range(0, len(requests), columns * rows)]
        return tuple(tuple(_cells(0, 0, width, height, part, columns, rows)) for part in parts)
    charts = [i for i, request in enumerate(requests) if request.kind == "chart"]
    others = [i for i, request in enumerate(requests) if request.kind != "chart"]
    if width >= 160 and others:
        first, charts, others = _beside(width, height, requests, charts, others)
    elif width >= _SIDE_BY_SIDE:
        first, charts, others = _above(width, height, requests, charts, others)
    else:
        first, charts, others = _stacked(width, height, requests, charts, others)
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
        boxes += _cells(0, y, width, rows, line, len(line), 1)
        y += rows
    return tuple(boxes)


Split = tuple[list[Box], list[int], list[int]]


def _beside(width: int, height: int, requests: Sequence[PanelRequest], charts: list[int], others: list[int]) -> Split:
    """Place charts in two or three columns and the other panels in a further one, with charts below (wide screens)."""
    if not charts:
        boxes, left = _column(0, 0, width, height, requests, others)
        return boxes, [], left
    side = max(56, width * 36 // 100)
    aside, left = _column(width - side, 0, side, height, requests, others)
    main = width - side - GAP
    below = max(box.y + box.height for box in aside) + 1
    free = max(0, height - below)  # charts get the rows that the other panels do not need
    columns, across = (2, 1) if width < _VERY_WIDE else (3, 2)
    columns = min(len(charts), columns)
    rows = most = max(1, height // _CHART_ROWS)
    for rows in range(1, most + 1):  # as few rows as possible: higher charts are easier to read
        if columns * rows + free // max(height // rows * 3 // 4, _CHART_ROWS) * across >= len(charts):
            break
    shown, later = charts[: rows * columns], charts[rows * columns :]
    more = later[: free // max(height // rows * 3 // 4, _CHART_ROWS - 2) * across]
    if more:  # not higher than the first ones, which matter more
        lines = -(-len(more) // across)
        free = min(free, lines * (height // rows))
        aside += _cells(width - side, below, side, free, more, min(across, len(more)), lines)
    return _cells(0, 0, main, height, shown, columns, rows) + aside, later[len(more) :], left


def _above(width: int, height: int, requests: Sequence[PanelRequest], charts: list[int], others: list[int]) -> Split:
    """Place charts in rows of three, and two other panels side by side below them (medium screens)."""
    below = others[:2]
    foot = 0
    if below:
        wanted = max(requests[i].rows or 12 for i in below)
        foot = height if not charts else min(wanted, max(_LEAST["bars"], height * 2 // 5))
        if foot >= height and charts:  # too low for both: only charts
            below, foot = [], 0
    body = height - foot
    boxes: list[Box] = []
    shown: list[int] = []
    if charts:
        columns = min(3 if width < _VERY_WIDE else 4, len(charts))
        rows = min(-(-len(charts) // columns), max(1, body // 10))
        shown = charts[: rows * columns]
        boxes = _cells(0, 0, width, body, shown, columns, rows)
    if below:
        boxes += _cells(0, body, width, foot, below, len(below), 1)
    return boxes, charts[len(shown) :], others[len(below) :]


def _stacked(width: int, height: int, requests: Sequence[PanelRequest], charts: list[int], others: list[int]) -> Split:
    """Place the first chart over the whole width, pairs of charts below it, and two other panels (narrow screens).

    The other panels are side by side, in a tall pane one above the other.
    """
    if not charts:
        boxes, left = _column(0, 0, width, height, requests, others)
        return boxes, [], left
    tall = height >= _TALL
    below = others[: 2 if width >= _PAIRS else 1] if height >= 18 else []
    wanted = [requests[i].rows or 12 for i in below]
    if tall and below:
        foot = min(sum(wanted) + len(below) - 1, height * 2 // 5)
    elif below:
        foot = min(
            max(wanted), max(height - 2 * _LEAST["chart"] - 1, _LEAST["bars"]), max(height * 9 // 20, _LEAST["bars"])
        )
    else:
        foot = 0
    body = height - foot
    least = min(_TALL_CHART, body) if tall else _LEAST["chart"]
    rows: list[list[int]] = []
    queue = list(charts)
    while queue and (len(rows) + 1) * least <= body:
        take = 2 if rows and width >= _PAIRS and len(queue) > 1 else 1
        rows.append(queue[:take])
        queue = queue[take:]
    if not rows:
        rows, queue, body, below = [charts[:1]], charts[1:], height, []
    boxes = []
    y = 0
    for number, row in enumerate(rows):
        part = (body - y) // (len(rows) - number)
        if number == 0 and len(rows) > 1:
            part = min(body - y - least * (len(rows) - 1), part + 1)
        boxes += _cells(0, y, width, part, row, len(row), 1)
        y += part
    if tall and below:
        placed, left = _column(0, body, width, foot, requests, below)
        return boxes + placed, queue, left + others[len(below) :]
    if below:
        boxes += _cells(0, body, width, foot, below, len(below), 1)
    return boxes, queue, others[len(below) :]


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
    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    return _cells(0, 0, width, height, shown, columns, rows), panels[len(shown) :]


def _cells(x: int, y: int, width: int, height: int, panels: Sequence[int], columns: int, rows: int) -> list[Box]:
    """Place panels in rows × columns of equal cells, row by row; panels in the last row share its width, and the first
    rows are higher by one if the height cannot be divided equally."""
    boxes = []
    for number, index in enumerate(panels):
        row, column = divmod(number, columns)
        inside = min(columns, len(panels) - row * columns)
        left = x + (width + GAP) * column // inside
        right = x + (width + GAP) * (column + 1) // inside - GAP
        top, bottom = y - (-height * row // rows), y - (-height * (row + 1) // rows)
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
