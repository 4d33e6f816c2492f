"""Rows of spans: cleaning, joining, cutting and filling to an exact width in cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from tuimon import lazy_re as re
from tuimon.model.views import HEAT_ROLES, Role, Row, Rows, Span
from tuimon.text import cell_width, clean, fit, fit_distinct, fit_name

_FILLED = frozenset((Role.WARNING, Role.CRITICAL, Role.ACCENT, *HEAT_ROLES))
"""Roles to which a theme may give a background, which ends where their text ends."""


def clean_row(row: Iterable[Span]) -> Row:
    """Sanitise every text of a row."""
    return tuple((clean(text), role) for text, role in row)


def row_width(row: Iterable[Span]) -> int:
    """Return the width of a row in cells."""
    return sum(cell_width(text) for text, _ in row)


def join(*parts: Iterable[Span]) -> Row:
    """Concatenate rows; adjacent spans with the same role are merged, empty spans removed."""
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
    """Cut a sanitised row (with "…") or pad it with blanks to exactly `width` cells."""
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
        kept.append((" " * left, blank_role(kept[-1][1]) if kept else Role.MUTED))
    return join(kept)


def stripped_row(row: Row) -> Row:
    """Return a row without blanks at its end."""
    while row and not row[-1][0].rstrip():
        row = row[:-1]
    return (*row[:-1], (row[-1][0].rstrip(), row[-1][1])) if row else ()


def blank_role(role: Role) -> Role:
    """Return the role of blanks beside a text: its own, so that both are one span, unless it may have a background."""
    return Role.MUTED if role in _FILLED else role


def wrap_row(row: Iterable[Span], width: int, most: int) -> list[Row]:
    """Wrap a row at blanks, and longer words after a /, into at most `most` rows of `width` cells; the last row has the
    rest, even if too long."""
    words: list[list[Span]] = [[]]
    for text, role in clean_row(row):
        for piece in _pieces(text, width):
            words[-1].append((piece, role))
            if piece[-1].isspace() or piece[-1] == "/":
                words.append([])
    lines: list[list[Span]] = [[]]
    used = 0
    for word in words:
        wide = row_width(word)
        if lines[-1] and used + cell_width("".join(text for text, _ in word).rstrip()) > width and len(lines) < most:
            lines.append([])
            used = 0
        lines[-1] += word
        used += wide
    stripped = [[*line[:-1], (line[-1][0].rstrip(), line[-1][1])] for line in lines if line]
    return [join(line) for line in stripped][: max(most, 0)]


def wrap_text(text: str, width: int) -> list[str]:
    """Split cleaned text into pieces of at most `width` cells, after a blank where there is one."""
    width = max(width, 2)
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = min(start + width, len(text))
        while (cells := cell_width(text[start:end])) > width:
            end -= max((cells - width) // 2, 1)
        blank = text.rfind(" ", start + 1, end) if end < len(text) else -1
        if blank > start + width // 2:
            end = blank + 1
        pieces.append(text[start:end])
        start = end
    return pieces or [""]


def _pieces(text: str, width: int) -> Iterator[str]:
    for word in re.findall(r"\S+\s*|\s+", text):
        if cell_width(word.rstrip()) <= width:
            yield word
        else:
            yield from re.findall(r"[^/]+/?\s*|/\s*", word)


def _ellipsis(kept: list[Span]) -> str:
    """Put an ellipsis into the last cell of the spans, and return "" for the span that does not fit."""
    if kept and kept[-1][0]:
        text, role = kept[-1]
        kept[-1] = (fit(text + "…", cell_width(text)), role)
    return ""


def justify_row(left: Iterable[Span], right: Iterable[Span], width: int) -> Row:
    """Return `left` and `right` at the two ends of a row of `width` cells; `left` is cut if both do not fit."""
    right = tuple(right)
    space = width - row_width(right)
    if not right or space <= 0:
        return fit_row(right or left, width)
    return join(fit_row(left, space - 1), ((" ", Role.MUTED),), right) if space > 1 else fit_row(right, width)


def blank(width: int) -> Row:
    """Return a row of blanks."""
    return ((" " * width, Role.MUTED),) if width > 0 else ()


def fit_rows(rows: Iterable[Row], width: int, height: int) -> Rows:
    """Cut or pad rows to `height` rows of `width` cells each."""
    fitted = [fit_row(row, width) for row in rows][: max(height, 0)]
    return tuple(fitted + [blank(width)] * (height - len(fitted)))


@lru_cache(maxsize=512)  # 40 titles alike take 5 ms
def _cut_title(title: str, room: int, alike: tuple[str, ...]) -> str:
    """Cut a title like the name of a metric. Of titles cut alike, the words that distinguish them are kept."""
    cut = fit_name(title, room)
    same = [other for other in alike if cut != title and fit_name(other, room) == cut]
    return fit_distinct([title, *same], room)[0] if same else cut


def title_row(title: str, headline: Row, width: int, extras: Iterable[Row] = (), alike: tuple[str, ...] = ()) -> Row:
    """Return a row with the title left, the headline right, and between them as many of the extras as fit.

    The title keeps at least half of the row; if cut, it keeps its end, the most specific part of a metric's name. The
    headline loses whole spans from its end. alike: titles of other charts, see `ChartView.alike`.
    """
    title, headline = clean(title), clean_row(headline)
    reserved = min(cell_width(title), max((width + 1) // 2, 1))
    while headline and row_width(headline) + 2 + reserved > width:
        headline = headline[:-1]
    if not "".join(text for text, _ in headline).strip():
        headline = ()
    room = width - (row_width(headline) + 2 if headline else 0)
    head: Row = ((_cut_title(title, room, alike), Role.TITLE),)
    room -= row_width(head)
    for extra in filter(None, map(clean_row, extras)):
        if row_width(extra) + 2 > room:
            break
        head = join(head, (("  ", Role.MUTED),), extra)
        room -= row_width(extra) + 2
    return justify_row(head, headline, width)
