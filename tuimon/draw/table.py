"""Tables: which columns fit, how wide they are, their heads and rows, and the order of the rows.

    fitted = fit_columns(columns, runs, 80)
    [head_row(fitted, Order("reward")), *(table_row(fitted, run) for run in runs)]

Every table of the screen and of the text output is made here: runs, settings, metrics, ranks, samples, comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from tuimon.draw.rows import blank_role, fit_row, join, row_width, stripped_row
from tuimon.model.views import Role, Row, Span
from tuimon.text import cell_width, fit

Item = TypeVar("Item")
_WIDEST = 1 << 16
KEPT = 100
"""`Column.keep` of a column that is never left out."""
GAP = 2
"""Blank cells between two columns."""


class Column(Struct, Generic[Item], frozen=True):
    """A column of a table: Column("loss", "loss", loss_of, shown_loss, least=8, keep=5)."""

    id: str
    head: str
    value: Callable[[Item], Any]
    """Exact value, by which rows are sorted; None or NaN if it is unknown."""
    show: Callable[[Item, int], Row]
    """(item, width) -> content of the cell, which is cut and filled to its width afterwards."""
    least: int = 5
    """Width in cells below which the column is left out."""
    keep: int = 0
    """Columns with the lowest number are left out first if there is no room."""
    wish: tuple[tuple[int, int], ...] = ()
    """Larger widths, ascending, as (keep, width): each is given before columns with a lower `keep` are."""
    most: int = 0
    """Width up to which the column grows into cells that no column needs: as far as its content is wide."""
    fills: bool = False
    """Whether it grows up to `most` whatever its content: a curve."""
    right: bool = True
    """Whether cells are aligned to the right, as numbers are."""
    down: bool = False
    """Whether the largest value comes first where the table is sorted by the column."""
    full: str = ""
    """Longer head, which is shown where it fits."""

    def texts(self, items: Iterable[Item]) -> list[str]:
        """Return the cells of items as text, as wide as they are."""
        return ["".join(text for text, _ in self.show(item, _WIDEST)).strip() for item in items]


def text_column(
    id: str,
    head: str,
    text: Callable[[Item], Span | str],
    least: int,
    keep: int = KEPT,
    role: Role = Role.MUTED,
    cut: str = "start",
    **more: Any,
) -> Column[Item]:
    """Return a column of texts, which have their own roles or this one; "" is no value. cut: see `fit`."""

    def span(item: Item) -> Span:
        found = text(item)
        return (found, role) if isinstance(found, str) else found

    def show(item: Item, width: int) -> Row:
        own, role = span(item)
        return ((fit(own, min(cell_width(own), width), cut), role),) if own else ()

    return Column(id, head, lambda item: span(item)[0], show, least, keep, **more)


class TextColumn(Struct, frozen=True):
    """A column of cleaned texts, a cell for each row."""

    head: str
    cells: Sequence[str]
    need: int = 0
    """Priority: 0 is never left out, otherwise the greatest is left out first."""
    left: bool = False
    """Whether it has words, which are aligned to the left."""
    wraps: bool = False
    """Whether long words go on in the next line of a page."""
    brief: Sequence[str] = ()
    """Shorter cells, which are used if there is little room."""


class TextTable(Struct, frozen=True):
    """A table of cleaned texts, which text, HTML, LaTeX and the screen show."""

    title: str
    names: Sequence[str]
    """Name of each row, in the first column."""
    columns: Sequence[TextColumn]
    head: str = ""
    """Head of the names."""
    remarks: Sequence[str] = ()
    """A remark on each row, or ""."""
    note: str = ""
    """Said below the table."""
    is_by_run: bool = False
    """Whether a column is that of a run."""

    @property
    def known(self) -> list[TextColumn]:
        """The columns with a text."""
        return [column for column in self.columns if any(column.cells)]


Fitted: TypeAlias = "tuple[tuple[Column[Item], int], ...]"
"""Columns that fit, with their widths in cells."""


class Order(Struct, frozen=True):
    """Order of the rows of a table."""

    by: str = ""
    """Id of a column; "" for the order in which rows are given."""
    reverse: bool = False


def fit_columns(
    columns: Iterable[Column[Item]],
    items: Sequence[Item],
    width: int,
    gap: int = GAP,
    by: str = "",
    seen: dict[str, int] | None = None,
) -> Fitted[Item]:
    """Return the columns that fit side by side into `width` cells, in their order, with their widths.

    - A column without a known value in any of the items is left out, unless it is kept or its id is in `seen`.
    - `seen` (id -> width of the content) is updated, so that columns neither vanish nor shrink where a list scrolls.
    - Columns are placed by `keep`, the highest first; one that does not fit is skipped. The column that the table is
      sorted by is placed like a kept one.
    - Kept columns are cut if even they do not fit.
    - What is left goes to columns with wider content, and then to those that fill the width.
    """
    content = {} if seen is None else seen
    known = [c for c in columns if c.keep >= KEPT or c.id in content or any(is_known(c.value(item)) for item in items)]
    for column in known:
        content[column.id] = max(_content(column, items, column.id == by), content.get(column.id, 0))
    demands = [
        (KEPT if not wish and column.id == by else keep, -place, wish, min(cells, content[column.id]), column)
        for place, column in enumerate(known)
        for wish, (keep, cells) in enumerate(((column.keep, column.least), *column.wish))
    ]
    demands.sort(key=lambda demand: demand[:2], reverse=True)
    given: dict[str, int] = {}
    left = width
    for keep, _, wish, cells, column in demands:
        before = given.get(column.id, 0)
        needed = cells - before + (gap if given and not before else 0)
        is_forced = keep >= KEPT and not before
        if (is_forced or needed <= left) and bool(before) == bool(wish) and needed > 0:
            given[column.id] = cells if needed <= left else max(cells - needed + left, 1)
            left = max(left - needed, 0)
    grown = sorted((c for c in known if c.id in given), key=lambda column: (column.fills, -column.keep))
    for column in grown:
        more = content[column.id] - given[column.id]
        more = min(more, 0 if column.full and more > left else left)  # a longer head is shown as a whole
        if more > 0:
            given[column.id] += more
            left -= more
    return tuple((column, given[column.id]) for column in known if column.id in given)


def head_row(
    fitted: Fitted[Item],
    order: Order = Order(),  # noqa: B008  immutable
    lead: int = 0,
    gap: int = GAP,
) -> Row:
    """Return the heads of the columns, with an arrow at the column that the table is sorted by. lead: blanks before."""
    spans: list[Span] = [(" " * lead, Role.MUTED)]
    for place, (column, cells) in enumerate(fitted):
        arrow = "" if column.id != order.by else "▾" if column.down != order.reverse else "▴"
        room = max(cells - len(arrow), 0)
        name = column.full if column.full and cell_width(column.full) <= room else column.head
        head = (fit(name, min(cell_width(name), room), "ends") + arrow)[: max(cells, 1)]
        blank = " " * max(cells - cell_width(head), 0)
        spans += [(" " * gap, Role.MUTED)] if place else []
        spans.append((blank + head if column.right else head + blank, Role.ACCENT if arrow else Role.MUTED))
    return tuple(spans)


def table_row(fitted: Fitted[Item], item: Item, lead: Row = (), gap: int = GAP, selected: bool = False) -> Row:
    """Return the cells of an item behind `lead`, the signs before the first column; the names of a selected one are
    highlighted."""
    spans: list[Span] = [*lead]
    for place, (column, cells) in enumerate(fitted):
        shown = column.show(item, cells)
        blank = " " * max(cells - row_width(shown), 0)
        if selected and not column.right:
            shown = tuple((text, Role.ACCENT if role is Role.TEXT else role) for text, role in shown)
        first, last = (shown[0][1], shown[-1][1]) if shown else (Role.MUTED,) * 2
        spans.append((" " * (gap if place else 0), blank_role(first)))
        fitted_cell = ((blank, blank_role(first)), *shown) if column.right else (*shown, (blank, blank_role(last)))
        spans += fit_row(fitted_cell, cells)
    return join(spans)


def aligned(
    rows: Sequence[Sequence[Span]], width: int, least: int = 0, left: Collection[int] = (0,), gap: int = GAP
) -> list[Row]:
    """Return rows of spans, such as a head and its values, as a table; the columns on the right are left out first.

    least: cells below which the first column is not cut; 0: it is cut last. left: places that are aligned to the left.
    """
    places = range(max(map(len, rows), default=0))
    columns = [_place_column(rows, place, least if not place else 0, place not in left) for place in places]
    fitted = fit_columns(columns, rows, width, gap)
    return [table_row(fitted, row, gap=gap) for row in rows]


def _place_column(rows: Sequence[Sequence[Span]], place: int, least: int, right: bool) -> Column[Sequence[Span]]:
    wide = max(cell_width(row[place][0]) if place < len(row) else 0 for row in rows)
    wish = ((KEPT - len(rows[0]) - 1, wide),) if least else ()
    text, keep = (lambda row: row[place] if place < len(row) else ""), KEPT - place
    return text_column(str(place), "", text, min(least or wide, wide), keep, cut="ends", wish=wish, right=right)


def cursor_sign(selected: bool) -> Span:
    """Return the sign in front of a row: "▌" if it is selected."""
    return "▌" if selected else " ", Role.ACCENT


def column_at(fitted: Fitted[Item], x: int, lead: int = 0, gap: int = GAP) -> Column[Item] | None:
    """Return the column at a cell of a row, or None before the first and after the last one."""
    start = lead
    for column, cells in fitted:
        if start <= x < start + cells + gap:
            return column
        start += cells + gap
    return None


def sort_items(items: Sequence[Item], columns: Iterable[Column[Item]], order: Order) -> list[Item]:
    """Return the items in an order; those with an unknown value come last, and equal ones stay as they are."""
    column = next((column for column in columns if column.id == order.by), None)
    if column is None:
        return list(reversed(items) if order.reverse else items)
    keyed = [(column.value(item), item) for item in items]
    known = [pair for pair in keyed if is_known(pair[0])]
    known.sort(key=lambda pair: pair[0], reverse=column.down != order.reverse)
    return [item for _, item in known] + [item for value, item in keyed if not is_known(value)]


def text_lines(fitted: Fitted[Item], items: Iterable[Item], indent: int = 0, gap: int = GAP) -> Iterator[str]:
    """Yield the head and a line for each item as plain text, without blanks at the end."""
    lead: Row = ((" " * indent, Role.MUTED),)
    for row in (head_row(fitted, lead=indent, gap=gap), *(table_row(fitted, item, lead, gap) for item in items)):
        yield "".join(text for text, _ in row).rstrip()


def rows_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: Container[str] = (), **more: Any
) -> TextTable:
    """Return a table of rows, whose first cells are their names.

    words: heads of the columns with words instead of numbers. more: other fields of the table.
    """
    names, *columns = list(zip(*rows, strict=True)) or [() for _ in heads]
    own = [TextColumn(head, cells, left=head in words) for head, cells in zip(heads[1:], columns, strict=True)]
    return TextTable(title, names, own, heads[0], **more)


def table_rows(table: TextTable, widest: int = 40) -> Iterator[Row]:
    """Yield the head and the rows of a table for the screen, numbers to the right.

    Remarks have the colour of warnings. widest: cells of a column at most, unless its words wrap.
    """
    if not table.names:
        return
    columns = [TextColumn(table.head, table.names, left=True), *table.columns]
    roles = [Role.TEXT, *(Role.WARNING if column.head == "remark" else Role.VALUE for column in table.columns)]
    rows = [[("" if column.wraps else column.head, Role.MUTED) for column in columns]]
    for cells in zip(*(column.cells for column in columns), strict=True):
        texts = (
            text if column.wraps else fit(text, min(cell_width(text), widest), "ends")
            for column, text in zip(columns, cells, strict=True)
        )
        rows.append(list(zip(texts, roles, strict=True)))
    left = {place for place, column in enumerate(columns) if column.left}
    yield from (((" " * GAP, Role.MUTED), *stripped_row(row)) for row in aligned(rows, _WIDEST, left=left))


def is_known(value: object) -> bool:
    """Return whether a value is neither None, "" nor NaN."""
    return value is not None and value not in ("", ()) and value == value


def _content(column: Column[Item], items: Sequence[Item], has_arrow: bool) -> int:
    """Return the width that a column can use: that of its head and its cells, at least `least`, at most `most`."""
    most = max(column.most, column.least, *(cells for _, cells in column.wish))
    if column.fills or most == column.least:
        return most
    widest = max(
        [cell_width(column.full or column.head) + has_arrow, *(row_width(column.show(item, most)) for item in items)]
    )
    return max(column.least, min(widest, most))
