"""Signs of degenerate text: loops, garbled bytes, mixed scripts, emptiness, identical texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tuimon import lazy_re as re
from tuimon.samples.parts import SPECIAL

LOOP, GARBLED, SCRIPTS, EMPTY = 1, 2, 4, 8
NAMES = {LOOP: "loop", GARBLED: "garbled", SCRIPTS: "scripts", EMPTY: "empty"}
"""Names of the flags, in the order of the letters that the list shows."""

_END = 2400
"""Characters at the end of a text in which a loop is searched for: a loop goes on until the length limit."""
_PIECE = 24
_TIMES = 8
"""A text whose last _PIECE characters occur this often in its last _END characters repeats itself."""
_REPEATS, _LEAST = 4, 60
"""A text repeats itself, too, if at least half of it, at its end, is a phrase that is repeated this often without a
change, and this many characters."""
_TRIES = 8
"""Maximum number of lengths of the phrase that are tried."""
_MANY_GARBLED = 0.002
"""Share of replacement characters above which a text is garbled; one is enough in a short text."""
_LATIN = re.compile(r"[A-Za-z]")
_OTHER = re.compile(r"[\u0400-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FEW, _SHARE = 8, 0.02
"""A script counts if it has this many letters and this share of the letters of both."""


def flags_of(response: str, prompt: str | None) -> int:
    """Return the flags of a response as a bit set.

    Scripts are mixed if Latin and another script both occur and the prompt has only one of them.
    """
    text = response.strip()
    if not text:
        return EMPTY
    flags = LOOP if loops(text) else 0
    if text.isascii():
        return flags
    garbled = text.count("\ufffd")
    if garbled and (garbled > _MANY_GARBLED * len(text) or garbled > 3):
        flags |= GARBLED
    if len(_scripts(text)) > 1 and len(_scripts(prompt or "")) < 2:
        flags |= SCRIPTS
    return flags


def loops(text: str) -> bool:
    """Return whether the end of the text repeats one piece again and again, or one phrase is most of the text."""
    text = _without_end_tokens(text)
    end = text[-_END:]
    return (len(end) > _PIECE * _TIMES and _overlapping(end, end[-_PIECE:]) >= _TIMES) or _is_one_phrase(text)


def most_identical(texts: Iterable[int]) -> int:
    """Return how many of some texts (their hashes) are the most frequent one; 0 if all differ."""
    most = max(Counter(texts).values(), default=0)
    return most if most > 1 else 0


def _is_one_phrase(text: str) -> bool:
    """Return whether a phrase, repeated at least _REPEATS times, is the second half of the text or more."""
    half = text[len(text) // 2 :]
    if len(half) < _LEAST:
        return False
    begin, length = half[: len(half) // 2], 0
    for _ in range(_TRIES):
        length = half.find(begin, length + 1)
        if not 0 < length <= (len(text) + 1) // _REPEATS:  # + 1: no space follows the last one
            return False
        end = text[-max(len(half), _REPEATS * length) :]
        if end[length:] == end[:-length]:
            return True
    return False


def _without_end_tokens(text: str) -> str:
    """Return the text without special tokens at its end, which may fill it up to its padded length."""
    end = len(text)
    while text.endswith(">", 0, end) and SPECIAL.fullmatch(text, max(text.rfind("<", 0, end), 0), end):
        end = text.rfind("<", 0, end)
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _overlapping(text: str, piece: str) -> int:
    """Count occurrences, also overlapping ones (a run of one character), as far as `loops` needs them."""
    count, start = 0, text.find(piece)
    while start >= 0 and count < _TIMES:
        count += 1
        start = text.find(piece, start + 1)
    return count


def _scripts(text: str) -> set[str]:
    if text.isascii():
        return {"latin"} if text else set()
    latin, other = len(_LATIN.findall(text)), len(_OTHER.findall(text))
    counts = {"latin": latin, "other": other}
    return {name for name, count in counts.items() if count >= _FEW and count >= _SHARE * (latin + other)}
