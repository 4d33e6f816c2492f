"""Which cells of a drawing changed: so that a screen writes those and nothing else."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tuimon.model.views import Role, Row, Rows
from tuimon.text import cell_width

_NEAR = 8
"""Changed ranges with fewer equal cells than this between them are one: moving the cursor costs as many bytes."""
_ROLE_IDS = {role: index for index, role in enumerate(Role)}
_WHOLE = 1 << 32


def changed_spans(old: Rows, new: Rows) -> list[tuple[int, int, int]]:
    """(row, first cell, cell after the last) of each range of cells of `new` that differs from `old`.

    A row that `old` has not, or has in another width, has changed whole. Cells with the same character and role are
    equal; blanks are equal in any role that has no colour behind it. A wide character is never cut in two."""
    changes: list[tuple[int, int, int]] = []
    for y, row in enumerate(new):
        if y < len(old) and (old[y] is row or old[y] == row):
            continue
        cells = _cells(row)
        before = _cells(old[y]) if y < len(old) else None
        if before is None or len(before) != len(cells):
            if len(cells):
                changes.append((y, 0, len(cells)))
            continue
        at = np.flatnonzero(before != cells)
        if len(at):
            cuts = np.flatnonzero(np.diff(at) > _NEAR)
            starts, ends = at[np.concatenate(([0], cuts + 1))], at[np.concatenate((cuts, [len(at) - 1]))] + 1
            changes.extend((y, a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True))
    return changes


@lru_cache(maxsize=512)
def _cells(row: Row) -> npt.NDArray[np.int64]:
    """A number for each cell; equal numbers look equal. Kept: a row is compared when it comes and when it goes."""
    text = "".join(part for part, _ in row)
    roles = [(_ROLE_IDS[role] + 1) * _WHOLE for _, role in row]
    if text.isascii() or all(map(_is_narrow, set(text))):
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
        owner = np.repeat(np.array(roles, dtype=np.int64), [len(part) for part, _ in row])
    else:
        codes, owner = _wide_cells(row, roles)
    blank = (codes == ord(" ")) & (owner < (_ROLE_IDS[Role.HEAT_0] + 1) * _WHOLE)
    return np.where(blank, codes, codes + owner)


@lru_cache(maxsize=4096)
def _is_narrow(character: str) -> bool:
    return cell_width(character) == 1


def _wide_cells(row: Row, roles: list[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    codes: list[int] = []
    owner: list[int] = []
    for (text, _), role in zip(row, roles, strict=True):
        for character in text:
            width = cell_width(character)
            if width == 0 and codes:  # a combining mark changes the look of the cells it stands on
                codes[-1] = hash((codes[-1], character)) % _WHOLE
            for part in range(width):
                codes.append(ord(character) + part * 0x200000)
                owner.append(role)
    return np.array(codes, dtype=np.int64), np.array(owner, dtype=np.int64)
