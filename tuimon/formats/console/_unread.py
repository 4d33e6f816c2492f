"""Numbers in lines of metrics that gave no point, for `tuimon doctor` and remarks about a log.

The first lines that gave a row are searched for names with numbers, and for numbers with units, of which the row has no
value. Counters, durations and dates are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isnan

from tuimon import lazy_re as re
from tuimon.formats.console.families import Line, Sink

_EXAMINED = 64
"""Number of lines that are examined in each log."""
_LEAST = 3
"""Minimum number of these lines in which a name must occur to be reported."""
_MAX_NAMED = 8
"""Number of names that are reported; further ones are counted."""
_MAX_LENGTH = 2000
_FIRST = (
    r"((?:[+-]?(?:\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)|[+-]?(?:nan|inf)(?![a-z]))"
    r"([kKMGTB](?![A-Za-z]))?"
)
_RATE = r"[A-Za-z]{1,12}(?:/[A-Za-z]{1,12}){1,2}"
_UNIT = r"(?:%|[kMGT]i?B|TFLOPS|[muµμ]?s|min|h|W)"
_UNIT_END = r"(?![\w:])(?!/(?!\s?\d))"
_LETTERS = "\u00c0-\u024f\u0370-\u058f\u3040-\u9fff\uac00-\ud7af"
"""Letters of names that are not ASCII."""
_NAMED = re.compile(
    rf"(?<![\w./@%:=+{_LETTERS}-])([|‖]{{0,2}}[A-Za-z_{_LETTERS}][\w./@{_LETTERS}-]{{0,40}}(?:\(%\))?[|‖]{{0,2}})\s{{0,2}}(?:[=:]\s{{0,8}}|\s{{1,8}})"
    rf"{_FIRST}(?:\s?(?:{_UNIT}|{_RATE}(?!\s{{1,8}}[+-]?\d)){_UNIT_END})?"
    r"(?:\s?/\s?\d{1,12}(?:\.\d{1,9})?\s?(?:[kMGT](?:i?B)?)?)?(?![\w:/-]|[.,]\d)",
    re.ASCII | re.IGNORECASE,
)
"""A name with its number, perhaps of a whole: "mem 61.3/80 GB"."""
_MEASURED = re.compile(
    rf"(?<![\w.,+/-])(?<!\d:)(?<!/\s){_FIRST}\s?({_UNIT}|{_RATE})(?=[\s|,;)\]}}]|$)",
    re.ASCII | re.IGNORECASE,
)
"""A number with its unit."""
_COUNTER = re.compile(
    r"(?!.*per[_-])(?:.*[_-])?(?:steps?|iter(?:ation)?s?|epochs?|updates?|episodes?|batch(?:es)?|rounds?|generations?|timesteps?|frames?|"
    r"it|ep|total|remaining|elapsed|of|in|at|over|took|for|to|after|from|and|on|with|by|is|was|eta|rank|gpu|pid|seed|"
    r"line|info|warning|debug)",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"of|in|at|over|took|for|to|after|from|and|on|with|by|is|was", re.IGNORECASE)
"""Words before a number that are no name of it: "at 12 tok/s"."""
_EXPONENTS = {"": 0, "k": 3, "m": 6, "g": 9, "b": 9, "t": 12}


class UnreadParts:
    """The names whose numbers were not read in the first lines of a log."""

    def __init__(self) -> None:
        self._examined = 0
        self._lines = Counter[str]()
        self._examples: dict[str, str] = {}

    @property
    def is_done(self) -> bool:
        """Whether enough lines have been examined."""
        return self._examined >= _EXAMINED

    def examine(self, line: Line, sink: Sink) -> None:
        """Examine a line that gave the last row of the sink."""
        self._examined += 1
        known = {float(value) for _, value in sink.last_row} | {float(sink.step or 0)}
        has_nan = any(map(isnan, known))
        names = {name for name, _ in sink.last_row}
        parts = dict[str, str]()
        for part, name, digits, factor in _printed(line.message[:_MAX_LENGTH]):
            value = _value(digits, factor)
            if value in known or (has_nan and isnan(value)) or (factor and name in names):
                continue
            parts.setdefault(name, part)
        self._lines.update(parts.keys())
        self._examples = parts | self._examples

    def text(self, least_part: float = 0.0) -> str:
        """Return the most frequent names in at least this part of the lines with their first numbers, as "`tokens
        81,920` (in 60 of the first 64 lines)"; "" if there are none."""
        least = max(_LEAST, least_part * self._examined)
        names = [(name, count) for name, count in self._lines.most_common() if count >= least]
        examples = dict[int, list[str]]()
        for name, count in names[:_MAX_NAMED]:
            examples.setdefault(count, []).append(f"`{self._examples[name]}`")
        texts = [f"{', '.join(parts)} ({self._share(count)})" for count, parts in examples.items()]
        more = len(names) - _MAX_NAMED
        return "; ".join([*texts, *([f"{more} more"] if more > 0 else [])])

    def _share(self, count: int) -> str:
        """Return the number of lines as part of those that were examined."""
        part = "all" if count == self._examined else f"{count}"
        return f"in {part} of the first {self._examined} lines"


def _printed(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (part of the text, name or unit, digits, factor) of the numbers that are not only counters."""
    measured = list(_MEASURED.finditer(text))
    units = {match.start(3): match.end(1) for match in measured}
    ends, after_word = set[int](), set[int]()
    for match in _NAMED.finditer(text):
        if units.get(match.start(1)) not in (None, *ends):  # "4.3 it/s 512 MB", but not "loss 0.5 it/s 3"
            continue
        is_word = _WORD_BEFORE.fullmatch(match[1]) is not None
        (after_word if is_word else ends).add(match.end(2))
        if not _COUNTER.fullmatch(match[1]) or (match[0].endswith(("%", "B")) and not is_word):
            yield match[0].strip(), match[1], match[2], match[3] or ""
    for match in measured:
        repeats = match.end(1) in after_word or text[: match.start()].rstrip().endswith("(")  # "Time: 0.3s (0.2s)"
        if match.end(1) not in ends and ("/" in match[3] or not repeats):
            yield match[0].strip(), match[3], match[1], match[2] or ""


def _value(digits: str, factor: str) -> float:
    exponent = f"e{_EXPONENTS[factor.lower()]}" if factor and "e" not in digits.lower() else ""
    return float(digits.replace(",", "") + exponent)
