"""Difference between two texts, by lines and by the words of the lines that differ."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from tuimon import lazy_re as re

_MOST_LINES, _MOST_WORDS = 4000, 1500
"""Beyond these numbers texts are compared as a whole: the time grows with their square."""
_WORDS = re.compile(r"\s+|[^\s]+")


class Piece(NamedTuple):
    """A piece of the two texts."""

    kind: str
    """"same", "removed" (only in the first text) or "added" (only in the second)."""
    text: str


def differences(first: str, second: str) -> list[Piece]:
    """Return the pieces of two texts in order: the same and removed ones make the first text, the same and added ones
    the second."""
    pieces: list[Piece] = []
    one, other = first.splitlines(keepends=True)[:_MOST_LINES], second.splitlines(keepends=True)[:_MOST_LINES]
    if max(len(one), len(other)) == _MOST_LINES:
        return [Piece("removed", first), Piece("added", second)]
    for kind, start, stop, begin, end in SequenceMatcher(None, one, other).get_opcodes():
        before, after = "".join(one[start:stop]), "".join(other[begin:end])
        if kind == "equal":
            pieces.append(Piece("same", before))
        else:
            pieces += _by_words(before, after)
    return [piece for piece in _merged(pieces) if piece.text]


def _by_words(before: str, after: str) -> list[Piece]:
    one, other = _WORDS.findall(before), _WORDS.findall(after)
    if not one or not other or max(len(one), len(other)) > 2 * _MOST_WORDS:
        return [Piece("removed", before), Piece("added", after)]
    pieces: list[Piece] = []
    for kind, start, stop, begin, end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(one[start:stop])))
        else:
            pieces += [Piece("removed", "".join(one[start:stop])), Piece("added", "".join(other[begin:end]))]
    return pieces


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Join neighbours of the same kind; blanks between two differences belong to both."""
    merged: list[Piece] = []
    for kind, text in pieces:
        if merged and merged[-1].kind == kind:
            merged[-1] = Piece(kind, merged[-1].text + text)
        elif text:
            merged.append(Piece(kind, text))
    return merged
