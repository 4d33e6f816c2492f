"""Changed ranges contain all changed cells and end at changed cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tuimon.draw.diff import changed_spans
from tuimon.model.views import Role, Row
from tuimon.text import cell_width, clean

A, B = Role.SERIES_0, Role.SERIES_1


def test_equal_rows_have_no_changes() -> None:
    row = (("loss", A), ("  ", B))
    assert changed_spans((row,), ((("lo", A), ("ss", A), ("  ", A)),)) == []


def test_near_changes_are_one_range_and_far_ones_two() -> None:
    old = ((("a" * 30, A),),)
    assert changed_spans(old, ((("b" + "a" * 5 + "b" + "a" * 23, A),),)) == [(0, 0, 7)]
    assert changed_spans(old, ((("b" + "a" * 28 + "b", A),),)) == [(0, 0, 1), (0, 29, 30)]


def test_a_role_alone_is_a_change_and_so_is_the_colour_behind_a_blank() -> None:
    assert changed_spans(((("ab", A),),), ((("a", A), ("b", B)),)) == [(0, 1, 2)]
    assert changed_spans(((("  ", A),),), (((" ", A), (" ", Role.HEAT_3)),)) == [(0, 1, 2)]


def test_another_width_or_a_new_row_is_all_new() -> None:
    assert changed_spans(((("ab", A),),), ((("abc", A),), (("x", A),))) == [(0, 0, 3), (1, 0, 1)]


def test_a_wide_character_is_never_cut() -> None:
    assert changed_spans(((("a中b", A),),), ((("ab中", A),),)) == [(0, 1, 4)]


texts = st.text("ab 中e\u0301█", max_size=4).map(clean)
rows = st.lists(st.tuples(texts, st.sampled_from([A, B])), max_size=5).map(tuple)


def look(row: Row) -> list[tuple[str, Role | None]]:
    """Content of each cell, computed simply: the character that covers it and its role (none behind a blank)."""
    cells: list[tuple[str, Role | None]] = []
    for text, role in row:
        for character in text:
            if not cell_width(character) and cells:
                cells[-1] = (cells[-1][0] + character, cells[-1][1])
            cells.extend((f"{character}{part}", role) for part in range(cell_width(character)))
    return [(shown, None if shown == " 0" else role) for shown, role in cells]  # an accent on a blank is seen


@given(rows, rows)
def test_cells_outside_the_ranges_are_equal_and_range_ends_differ(old: Row, new: Row) -> None:
    before, after = look(old), look(new)
    changes = changed_spans((old,), (new,))
    if len(before) != len(after):
        assert changes == [(0, 0, max(len(before), len(after)))]
        return
    inside = {x for _, a, b in changes for x in range(a, b)}
    assert {x for x in range(len(after)) if before[x] != after[x]} <= inside
    assert all(before[x] != after[x] for _, a, b in changes for x in (a, b - 1))
