"""Which cells of a drawing changed: so that a screen writes those and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tuimon.model.views import Role, Row, Rows
from tuimon.text import cell_width

_NEAR = 8
"""Changed ranges with fewer equal cells than this between them are one: moving the cursor costs as many bytes."""
_BACKED = frozenset(role for role in Role if role.startswith("heat"))
"""Roles with a colour behind the text."""


def changed_spans(old: Rows, new: Rows) -> list[tuple[int, int, int]]:
    """(row, first cell, cell after the last) of each range of cells of `new` that differs from `old`.

    A row that `old` has not, or has in another width, has changed whole. Cells with the same character and role are
    equal; blanks are equal in any role that has no colour behind it. A wide character is never cut in two."""
    changes: list[tuple[int, int, int]] = []
    for y, row in enumerate(new):
        if y < len(old) and (old[y] is row or old[y] == row):
            continue
        cells, roles = _cells(row)
        before, roles_before = _cells(old[y]) if y < len(old) else ("", [])
        if len(before) != len(cells):
            if len(cells):
                changes.append((y, 0, len(cells)))
            continue
        end = -_NEAR
        for at, (cell, role, was, role_was) in enumerate(zip(cells, roles, before, roles_before, strict=True)):
            if cell != was or (role is not role_was and (cell != " " or role in _BACKED or role_was in _BACKED)):
                if at - end >= _NEAR:
                    changes.append((y, at, at + 1))
                else:
                    changes[-1] = (y, changes[-1][1], at + 1)
                end = at + 1
    return changes


def _cells(row: Row) -> tuple[Sequence[object], list[Role]]:
    """(what is seen in each cell, its role): equal things look equal."""
    text = "".join([part for part, _ in row])
    if not text.isascii() and not all(map(_is_narrow, set(text))):
        return _wide_cells(row)
    roles: list[Role] = []
    for part, role in row:
        roles += [role] * len(part)
    return text, roles


@lru_cache(maxsize=4096)
def _is_narrow(character: str) -> bool:
    return cell_width(character) == 1


def _wide_cells(row: Row) -> tuple[list[object], list[Role]]:
    """A wide character takes several cells, each its own part of it; a combining mark none."""
    cells: list[object] = []
    roles: list[Role] = []
    for text, role in row:
        for character in text:
            width = cell_width(character)
            if width == 0 and cells:  # it changes the look of the cell it stands on
                cells[-1] = (cells[-1], character)
            for part in range(width):
                cells.append((character, part) if width > 1 else character)
                roles.append(role)
    return cells, roles
