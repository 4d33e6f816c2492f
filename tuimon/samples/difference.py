"""Difference between two texts, by words."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from tuimon import lazy_re as re

_MOST = 4000
"""Words beyond which texts are compared by lines: the time grows with the square."""
_WORDS, _LINES = re.compile(r"\S+\s*|\s+"), re.compile(r"[^\n]*\n|[^\n]+")


class Piece(NamedTuple):
    """A piece of the two texts."""

    kind: str
    """"same", "removed" (only in the first text) or "added" (only in the second)."""
    text: str


def differences(first: str, second: str) -> list[Piece]:
    """Return the pieces of two texts in order: the same and removed ones make the first text, the same and added ones
    the second."""
    one, other = _WORDS.findall(first), _WORDS.findall(second)
    if max(len(one), len(other)) > _MOST:
        one, other = _LINES.findall(first), _LINES.findall(second)
    if max(len(one), len(other)) > _MOST:
        return [Piece("removed", first), Piece("added", second)]
    pieces: list[Piece] = []
    for kind, start, stop, begin, end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        before, after = "".join(one[start:stop]), "".join(other[begin:end])
        pieces += [Piece("same", before)] if kind == "equal" else [Piece("removed", before), Piece("added", after)]
    return [piece for piece in pieces if piece.text]
