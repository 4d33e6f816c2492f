"""Ranges of cells that changed between two drawings, so that only these are written to the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tuimon.model.views import Role, Row, Rows
from tuimon.text import cell_width

_NEAR = 8
"""Ranges with fewer unchanged cells than this between them are merged: moving the cursor costs about 8 bytes."""
_BACKED = frozenset(role for role in Role if role.startswith("heat") or role is Role.SELECTED)
"""Roles with a background colour."""


def changed_spans(old: Rows, new: Rows) -> list[tuple[int, int, int]]:
    """Return (row, first cell, end cell) of each range of cells in `new` that differs from `old`.

    A row that is missing in `old`, or has another width there, is a range as a whole, as wide as the wider one. Cells
    are equal if character and role are; blanks are equal in all roles without a background colour. A wide character is
    never split.
    """
    changes: list[tuple[int, int, int]] = []
    for y, row in enumerate(new):
        if y < len(old) and (old[y] is row or old[y] == row):
            continue
        cells, roles = _cells(row)
        before, roles_before = _cells(old[y]) if y < len(old) else ("", [])
        if len(before) != len(cells):
            changes.append((y, 0, max(len(cells), len(before))))
            continue
        end = -_NEAR
        for x, (cell, role, was, role_was) in enumerate(zip(cells, roles, before, roles_before, strict=True)):
            if cell != was or (role is not role_was and (cell != " " or role in _BACKED or role_was in _BACKED)):
                if x - end >= _NEAR:
                    changes.append((y, x, x + 1))
                else:
                    changes[-1] = (y, changes[-1][1], x + 1)
                end = x + 1
    return changes


def _cells(row: Row) -> tuple[Sequence[object], list[Role]]:
    """Return (content of each cell, its role); cells that look equal have equal content."""
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
    """Return the cells of a row with wide characters (one part per cell) or combining marks (no cell)."""
    cells: list[object] = []
    roles: list[Role] = []
    for text, role in row:
        for character in text:
            width = cell_width(character)
            if width == 0 and cells:  # part of the preceding cell
                cells[-1] = (cells[-1], character)
            for part in range(width):
                cells.append((character, part) if width > 1 else character)
                roles.append(role)
    return cells, roles
