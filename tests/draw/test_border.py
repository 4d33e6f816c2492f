"""Borders around panels."""

from __future__ import annotations

from tuimon.draw.border import has_border, inside, with_border
from tuimon.draw.rows import blank, row_width, title_row
from tuimon.model.views import Role, Size


def test_the_title_is_in_the_border() -> None:
    outer = Size(40, 8)
    size = inside(outer)
    title = title_row("KL", (("0.5", Role.VALUE),), size.width, [(("to reference", Role.MUTED),)])
    rows = with_border((title, *[blank(size.width)] * (size.height - 1)))
    assert len(rows) == outer.height
    assert {row_width(row) for row in rows} == {outer.width}
    first, *body, last = ("".join(text for text, _ in row) for row in rows)
    assert first == "╭ KL  to reference ─────────────── 0.5 ╮"
    assert all(row == f"│{' ' * 38}│" for row in body)
    assert last == f"╰{'─' * 38}╯"
    assert ("KL", Role.TITLE) in rows[0], "the title of the selected panel is highlighted"


def test_a_small_panel_has_no_border() -> None:
    assert has_border(Size(30, 6))
    assert not has_border(Size(29, 40))
    assert not has_border(Size(100, 1)), "the heading of a section"
