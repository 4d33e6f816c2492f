"""Make foreign text (names, lines, settings) safe for a terminal, and fit it into cells.

Cleaned text cannot move the cursor, set a title, write to the clipboard, or hide or reorder text. C0 and C1 control
bytes, DEL, line and paragraph separators become visible symbols or escapes; bidirectional controls, zero-width
characters and lone surrogates become escapes; long sequences of combining marks are cut.
"""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from tuimon import lazy_re as re

MAX_COMBINING = 4
"""Maximum number of combining marks per base character; more would extend into neighbouring rows."""

UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ud800-\udfff\U000e0000-\U000e0fff"
    "\u0600-\u0605\u06dd\u070f\u0890-\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
"""Characters that control a terminal or the direction of text, or are invisible."""
_NOT_ASCII = re.compile("[^\x00-\x7f\ufffd]")
_MAYBE_MARKS = re.compile(
    f"[\u0300-\u1fff\u20d0-\u20ff\u2cef-\u2dff\u302a-\u309a\ua66f-\uabff\ufb1e\ufe20-\ufe2f\U00010000-\U0001efff]"
    f"{{{MAX_COMBINING + 1},}}"
)
"""Sequences that may contain too many combining marks."""


def _visible_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # ␀ … ␟
    if code == 0x7F:
        return "␡"
    if 0xFE00 <= code <= 0xFE0F:
        return ""  # variation selectors: terminals disagree about their width
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str, limit: int = 4096) -> str:
    """Return `text` made safe to show, cut at `limit` characters. Printable text of any script is unchanged."""
    if text.isascii() and text.isprintable():
        return text if len(text) <= limit else text[: limit - 1] + "…"
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    text = UNSAFE.sub(_visible_escape, text)
    return _MAYBE_MARKS.sub(_with_few_marks, text)


def decoded(data: bytes) -> str:
    """Return foreign bytes as text: UTF-8; Windows-1252 (Latin-1) if they are not UTF-8 and hold no other character of
    it than ASCII. Bytes that are neither become U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        return text if _NOT_ASCII.search(text) else data.decode("cp1252", "replace")


def _with_few_marks(match: re.Match[str]) -> str:
    """Return the text without the marks after the first MAX_COMBINING in a row."""
    kept, marks = [], 0
    for character in match[0]:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= MAX_COMBINING:
            kept.append(character)
    return "".join(kept)


def cell_width(text: str) -> int:
    """Return the cells of cleaned text: 2 per wide character, 0 per combining mark."""
    return len(text) if text.isascii() else _cells_of(text)


@lru_cache(maxsize=4096)
def _cells_of(text: str) -> int:
    width = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
            continue
        width += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return width


_SEPARATOR = re.compile("([/_.])")
"""Separator of the words of a metric's name."""
_WORD_BORDER = re.compile(r"\s*[/_.]\s*|\s+")
"""Border of two words of a metric's name or title: "Loss / Policy loss"."""
_BROKEN_WORD = re.compile("…[^/_.]*[/_.]")
_TAIL = 4
"""Sixths of a shortened text that its end takes if the middle is cut."""
_OTHER_TAILS = (3, 2, 5, 1)
"""Alternatives to _TAIL, used where two shortened texts would be equal."""


def shown_path(path: str) -> str:
    """Return the path of a run as cleaned text; "-" becomes "standard input"."""
    return "standard input" if path == "-" else clean(path)


def home_relative(path: str | os.PathLike[str]) -> str:
    """Return a path as it is displayed: absolute, "~" for the home directory."""
    absolute, home = os.path.abspath(path), os.path.expanduser("~")  # noqa: PTH111  start-up time
    inside = home != "/" and absolute.startswith(home.rstrip("/") + "/")
    return clean(f"~{absolute[len(home.rstrip('/')) :]}" if inside else absolute)


def local_time(when: float, layout: str = "%H:%M:%S") -> str:
    """Format seconds since the epoch as local time; "" if out of range."""
    try:
        return time.strftime(layout, time.localtime(when))
    except (OverflowError, ValueError, OSError):
        return ""


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names and the number of others: "a, b and 3 more"."""
    more = len(names) - most
    return f"{', '.join(names[:most])}{f' and {more} more' if more > 0 else ''}"


def fit(text: str, width: int, keep: str = "start") -> str:
    """Cut `text` or pad it with blanks to exactly `width` cells.

    keep: "start" cuts the end, "end" cuts the start (for metric names), "ends" cuts the middle.
    """
    if width <= 0:
        return ""
    length = cell_width(text)
    if length <= width:
        return text + " " * (width - length)
    if width == 1:
        return "…"
    if keep == "end":
        cut = "…" + _tail(text, width - 1)
    elif keep == "ends":
        cut = _without_middle(text, width, _TAIL)
    else:
        cut = _beginning_of(text, width - 1) + "…"
    return cut + " " * (width - cell_width(cut))


def fit_apart(texts: Sequence[str], width: int) -> list[str]:
    """Cut the middle of each text as `fit` does, but keep different texts different."""
    cut = [fit(text, width, "ends") for text in texts]
    alike: dict[str, set[str]] = {}
    for text, shown in zip(texts, cut, strict=True):
        alike.setdefault(shown, set()).add(text)
    apart: dict[str, str] = {}
    for group in alike.values():
        for right in _OTHER_TAILS if len(group) > 1 and width > 1 else ():
            shortened = {text: fit(_without_middle(text, width, right), width) for text in group}
            if len(set(shortened.values())) == len(group) and not alike.keys() & set(shortened.values()):
                apart |= shortened
                break
    return [apart.get(text, shown) for text, shown in zip(texts, cut, strict=True)]


def fit_name(name: str, width: int) -> str:
    """Cut the middle of the name of a metric that does not fit, without padding.

    The first part (train/, eval/) is kept if it takes at most a third of the width, and of the end whole parts if
    these fill half of the rest, or whole words if these fill two thirds of it. Else whole words of both ends are kept
    if these fill a third of the width.
    """
    if cell_width(name) <= width:
        return name
    first, slash, _ = name.partition("/")
    head = cell_width(first) + 1
    if not slash or head * 3 > width:
        ends = _whole_ends(name, width)
        return ends if width > 2 and cell_width(ends) * 3 >= width else fit(name, width, "ends").rstrip()
    end = _tail(name, width - head - 1)
    parts = end[end.find("/") :] if "/" in end[:-1] else ""
    words = _whole_words(end)
    length = cell_width(end)
    shown = parts if cell_width(parts) * 2 >= length else words if cell_width(words) * 3 >= length * 2 else end
    return f"{first}/…{shown}"


def _whole_ends(name: str, width: int) -> str:
    """Return the whole words at both ends of a name that fit, with an ellipsis between them."""
    words = _whole_words(_tail(name, width - 1))
    room = width - 1 - cell_width(words)
    borders = (match.start() for match in _WORD_BORDER.finditer(name))
    return f"{name[: max((end for end in borders if cell_width(name[:end]) <= room), default=0)]}…{words}"


def _whole_words(end: str) -> str:
    """Return the end of a name without its first word, which may be broken."""
    match = _WORD_BORDER.search(end)
    return end[match.end() :] if match else ""


def fit_distinct(names: Sequence[str], width: int) -> list[str]:
    """Cut names of metrics that do not fit, without padding: "train/…/mean_length".

    Of names whose whole words would become equal, the first one and those that distinguish them are left:
    "train/…format…" of train/rewards/format_reward/mean beside train/rewards/answer_reward/mean.
    """
    cut = {name: fit_name(name, width) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in cut.items():
        alike.setdefault(_BROKEN_WORD.sub("…", text) if text != name else name, []).append(name)
    groups = [group for group in alike.values() if len(group) > 1]
    for with_end in (False, True):
        shown = cut | {name: text for group in groups for name, text in _own_words(group, with_end)}
        if len(set(shown.values())) == len(shown):
            break
    apart = dict(zip(shown, fit_apart(list(shown.values()), width), strict=True))
    return [apart[name].rstrip().replace("……", "…") for name in names]


def _own_words(names: Sequence[str], with_end: bool) -> Iterator[tuple[str, str]]:
    """Yield (name, text) without the words that all names begin with, but for the first, and those that all end with.

    with_end: keep the end.
    """
    words = [_SEPARATOR.split(name) for name in names]  # words and separators in turns
    head = _common_words(words)
    tail = 0 if with_end else _common_words([own[head:][::-1] for own in words])
    for name, own in zip(names, words, strict=True):
        first = "".join(own[:2]) + "…" * (head > 2) if head else ""
        yield name, f"{first}{''.join(own[max(head, 2 * bool(head)) : len(own) - tail])}{'…' * (tail > 0)}"


def _common_words(words: Sequence[Sequence[str]]) -> int:
    """Return how many words all of these begin with."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))


def fit_side_by_side(names: Sequence[str], room: int, least: int) -> list[str]:
    """Cut the longest names as `fit_distinct` does until all of them together fit into `room` cells; return them whole
    if less than `least` cells would be left of a name."""
    left, widths = room, sorted(map(cell_width, names))
    for index, width in enumerate(widths):
        share = left // (len(widths) - index)
        if width > share:
            return fit_distinct(names, share) if share >= least else list(names)
        left -= width
    return list(names)


def _without_middle(text: str, width: int, right: int) -> str:
    """Cut the middle; `right` sixths of the width are the end of the text."""
    tail = (width - 1) * right // 6
    return _beginning_of(text, width - 1 - tail) + "…" + _tail(text, tail)


def _beginning_of(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += cell_width(character)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    used = 0
    for index in range(len(text) - 1, -1, -1):
        used += cell_width(text[index])
        if used > width:
            return text[index + 1 :]
    return text
