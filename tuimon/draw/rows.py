"""Rows of spans: cleaning, joining, cutting and filling to an exact width in cells."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tuimon.model.views import Role, Row, Rows, Span
from tuimon.text import cell_width, clean, fit


def clean_row(row: Iterable[Span]) -> Row:
    """The last guard: every text of the row made safe to show."""
    return tuple((clean(text), role) for text, role in row)


def row_width(row: Iterable[Span]) -> int:
    """Width of a row in cells."""
    return sum(cell_width(text) for text, _ in row)


def join(*parts: Iterable[Span]) -> Row:
    """Parts one after the other; neighbours of one role become one span, empty spans go."""
    joined: list[Span] = []
    for part in parts:
        for text, role in part:
            if not text:
                continue
            if joined and joined[-1][1] is role:
                joined[-1] = (joined[-1][0] + text, role)
            else:
                joined.append((text, role))
    return tuple(joined)


def fit_row(row: Iterable[Span], width: int) -> Row:
    """A cleaned row cut (with "…") or filled with blanks to exactly `width` cells."""
    kept: list[Span] = []
    left = width
    for text, role in row:
        taken = cell_width(text)
        if taken > left:
            kept.append((fit(text, left) if left else _ellipsis(kept), role))
            left = 0
            break
        kept.append((text, role))
        left -= taken
    if left:
        kept.append((" " * left, kept[-1][1] if kept and not kept[-1][1].startswith("heat") else Role.MUTED))
    return join(kept)


def paragraph(row: Iterable[Span], width: int, most: int) -> list[Row]:
    """A row broken at its blanks into at most `most` rows of `width` cells; the last one is cut where more is left."""
    words: list[list[Span]] = [[]]
    for text, role in clean_row(row):
        for piece in re.findall(r"\S+\s*|\s+", text):
            words[-1].append((piece, role))
            if piece[-1].isspace():
                words.append([])
    made: list[list[Span]] = [[]]
    used = 0
    for word in words:
        wide = row_width(word)
        if made[-1] and used + cell_width("".join(text for text, _ in word).rstrip()) > width and len(made) < most:
            made.append([])
            used = 0
        made[-1] += word
        used += wide
    ended = [[*line[:-1], (line[-1][0].rstrip(), line[-1][1])] for line in made if line]
    return [join(line) for line in ended][: max(most, 0)]


def _ellipsis(kept: list[Span]) -> str:
    """Nothing more fits: the last cell that is shown says so."""
    if kept and kept[-1][0]:
        text, role = kept[-1]
        kept[-1] = (fit(text + "…", cell_width(text)), role)
    return ""


def sides(left: Iterable[Span], right: Iterable[Span], width: int) -> Row:
    """`left` and `right` at the two ends of a row of `width` cells; the left is cut where both do not fit."""
    right = tuple(right)
    space = width - row_width(right)
    if not right or space <= 0:
        return fit_row(right or left, width)
    return join(fit_row(left, space - 1), ((" ", Role.MUTED),), right) if space > 1 else fit_row(right, width)


def blank(width: int) -> Row:
    """A row of blanks."""
    return ((" " * width, Role.MUTED),) if width > 0 else ()


def exactly(rows: Iterable[Row], width: int, height: int) -> Rows:
    """Rows cut or filled to `height` rows of `width` cells each."""
    made = [fit_row(row, width) for row in rows][: max(height, 0)]
    return tuple(made + [blank(width)] * (height - len(made)))


def title_row(title: str, headline: Row, width: int, extras: Iterable[Row] = ()) -> Row:
    """Title left, headline right, and between them as many of the extras as there is room for.

    The title keeps at least half of the row, its end first (the last part of a metric name says most); the headline
    loses whole spans from its end.
    """
    title, headline = clean(title), clean_row(headline)
    reserved = min(cell_width(title), max((width + 1) // 2, 1))
    while headline and row_width(headline) + 2 + reserved > width:
        headline = headline[:-1]
    if not "".join(text for text, _ in headline).strip():
        headline = ()
    room = width - (row_width(headline) + 2 if headline else 0)
    head: Row = ((fit(title, min(cell_width(title), room), keep="end"), Role.TITLE),)
    room -= row_width(head)
    for extra in filter(None, map(clean_row, extras)):
        if row_width(extra) + 2 > room:
            break
        head = join(head, (("  ", Role.MUTED),), extra)
        room -= row_width(extra) + 2
    return sides(head, headline, width)
