"""Tables: which columns fit, how wide they are, the order of the rows."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.draw.rows import row_width
from tuimon.draw.table import (
    KEPT,
    Column,
    Order,
    aligned,
    column_at,
    fit_columns,
    head_row,
    sort_items,
    table_row,
    text_lines,
)
from tuimon.model.views import Role, Row

Item = dict[str, Any]
ITEMS: tuple[Item, ...] = ({"name": "alpha", "a": 1.0, "b": 22}, {"name": "a longer name", "a": None, "b": 3})


def column(id: str, least: int = 5, keep: int = 0, **more: Any) -> Column[Item]:
    def show(item: Item, width: int) -> Row:
        return ((str(item.get(id, "")), Role.TEXT),)

    return Column(id, id, lambda item: item.get(id), show, least, keep, **more)


def widths(columns: list[Column[Item]], width: int, **more: Any) -> dict[str, int]:
    return {column.id: cells for column, cells in fit_columns(columns, ITEMS, width, **more)}


NAME = column("name", 6, KEPT, wish=((5, 10),), most=20, right=False)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (4, {"name": 4}),
        (6, {"name": 6}),
        (13, {"name": 6, "b": 5}),
        (17, {"name": 10, "b": 5}),
        (20, {"name": 13, "b": 5}),
        (24, {"name": 10, "a": 5, "b": 5}),
        (80, {"name": 13, "a": 5, "b": 5}),
    ],
)
def test_columns_are_left_out_by_their_priority_and_names_grow_last(width: int, expected: dict[str, int]) -> None:
    assert widths([NAME, column("a", keep=4), column("b", keep=6)], width) == expected


def test_the_column_that_the_table_is_sorted_by_is_always_there() -> None:
    columns = [NAME, column("a", keep=4), column("b", keep=6)]
    assert widths(columns, 13, by="a") == {"name": 6, "a": 5}


def test_a_column_without_values_is_left_out_until_it_has_been_seen() -> None:
    columns = [NAME, column("c", keep=9)]
    assert widths(columns, 80) == {"name": 13}
    assert widths(columns, 80, seen={"c": 5, "name": 18}) == {"name": 18, "c": 5}


def test_what_is_left_goes_to_the_column_that_fills_the_width() -> None:
    assert widths([NAME, column("a", 5, 4, most=30, fills=True)], 40) == {"name": 13, "a": 25}
    assert widths([NAME, column("a", 5, 4, most=30, fills=True)], 80) == {"name": 13, "a": 30}


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9), st.integers(0, 60)), min_size=1, max_size=8),
    st.integers(1, 120),
    st.integers(0, 3),
)
def test_rows_are_as_wide_as_their_columns_at_any_width(
    shapes: list[tuple[int, int, int]], width: int, gap: int
) -> None:
    columns = [
        Column(str(i), f"head{i}", lambda item: item, lambda item, cells: ((item, Role.TEXT),), least, keep, most=most)
        for i, (least, keep, most) in enumerate(shapes)
    ]
    fitted = fit_columns(columns, ["名前" * 9, "x"], width, gap)
    taken = sum(cells for _, cells in fitted) + gap * max(len(fitted) - 1, 0)
    assert taken <= width
    for row in (head_row(fitted, Order("0"), gap=gap), table_row(fitted, "名前" * 9, gap=gap)):
        assert row_width(row) == taken
    for place, (column, cells) in enumerate(fitted):
        x = sum(other for _, other in fitted[:place]) + gap * place
        assert column_at(fitted, x, gap=gap) is column
        assert cells >= 1


def test_unknown_values_come_last_in_both_directions() -> None:
    values = [2.0, None, 1.0, math.nan, 3.0]
    columns = [Column("v", "v", lambda value: value, lambda value, width: (), down=True)]
    assert sort_items(values, columns, Order("v"))[:3] == [3.0, 2.0, 1.0]
    assert sort_items(values, columns, Order("v", reverse=True))[:3] == [1.0, 2.0, 3.0]
    assert sort_items([3, 1, 2], columns, Order("", reverse=True)) == [2, 1, 3]


@pytest.mark.parametrize(
    ("order", "arrow"),
    [
        (Order("a"), "a▴"),
        (Order("a", reverse=True), "a▾"),
        (Order(), "a"),
    ],
)
def test_an_arrow_shows_the_order(order: Order, arrow: str) -> None:
    fitted = fit_columns([NAME, column("a")], ITEMS, 40)
    assert "".join(text for text, _ in head_row(fitted, order)).split() == ["name", arrow]


def test_text_has_no_blanks_at_the_ends_of_lines() -> None:
    fitted = fit_columns([NAME, column("b", 2)], ITEMS, 40)
    assert list(text_lines(fitted, ITEMS, indent=1)) == [
        " name            b",
        " alpha          22",
        " a longer name   3",
    ]


def test_rows_of_spans_are_aligned_and_lose_their_last_columns() -> None:
    rows = [[("name", Role.MUTED), ("n", Role.MUTED)], [("x", Role.TEXT), ("100", Role.VALUE)]]
    assert ["".join(text for text, _ in row) for row in aligned(rows, 20)] == ["name    n", "x     100"]
    assert ["".join(text for text, _ in row) for row in aligned(rows, 6)] == ["name", "x   "]
    assert ["".join(text for text, _ in row) for row in aligned(rows, 8, least=3)] == ["n…e    n", "x    100"]
