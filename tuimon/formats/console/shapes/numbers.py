"""The numbers of a line, each with its name and its unit.

    "02 Mar 10:00  INFO  epoch 3 training [time: 3.40s, train loss: 0.5]"
    time, "epoch" 3, "time" 3.40 "s", "train loss" 0.5

- Numbers of a date, or with commas between digits, are one.
- A number within a word, a version or a list has no name.
- The fields of a logging module before the message are told by their kind: dates and times in any order, levels,
  "file.py:12", process numbers.
"""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats.console.shapes.cutting import places
from tuimon.formats.console.shapes.labels import (
    BESIDE,
    METRIC,
    label_before,
    label_behind,
    stage_of,
    stage_word,
    step_rank,
    unit_after,
)

_N = r"\0++"
"""A number: in the examined line each of its characters is NUL, of a long one "\\1"."""
_CLOCK = rf"{_N}:{_N}(?::{_N})?(?:,{_N})?(?:Z|[-+]{_N}:{_N})?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DATE = rf"{_N}[-/]{_N}(?:[-/]{_N})?|{_N}[ -]{_MONTH}(?:[ -]{_N})?|{_MONTH} {{1,2}}{_N}(?:,? {_N})?|{_N}"
_TIME = re.compile(rf"(?:{_DATE})[T ,-]{{1,3}}{_CLOCK}|{_CLOCK}|{_N}-{_N}-{_N}(?!\w)|{_N}/{_N}/{_N}")
_LEVEL = r"DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|NOTICE|TRACE|SUCCESS"
_STAGE_NAME = r"(?i:val\w{0,8}|eval\w{0,8}|test\w{0,3}|train(?:ing)?):"
_PREFIX = re.compile(
    "|".join(
        (
            r"\s++|[-|>:,]{1,4}(?=\s)",
            rf"\[(?i:{_LEVEL})\s{{0,9}}\]:?",
            rf"(?:{_LEVEL})\b\s{{0,3}}(?:[:|\]-](?:root:|[\w.]{{1,60}}:(?=\S))?|(?!{_STAGE_NAME})[\w.]{{1,60}}:(?=\s[\[{{]))?",
            rf"[\w.-]{{1,120}}(?=\s{{1,3}}[-:|]\s{{1,3}}(?:(?:{_LEVEL})\b|\w{{1,80}}\.py:))",  # the name of a logger
            r"(?<=-\s)\w{1,60}(?:\.\w{1,60}){1,9}(?=\s-\s)",  # the same behind the level
            rf"{_N}(?=\s-\s[\w.]{{1,120}}\s-\s\w{{1,80}}\.py:)",  # the rank before it
            rf"(?<=\|\s)\w{{1,60}}(?:\.\w{{1,60}}){{1,9}}:{_N}(?=\s-\s)",  # of loguru
            rf"\[[\w.:/ -]{{1,60}}\](?=\s{{0,4}}(?:[-|]\s|(?:{_LEVEL})\b))",
            rf"[IWEF]\d{{4}}(?= )|{_N}\s{{1,8}}[\w./<>-]{{1,80}}:{_N}\]",  # glog
            r"[\[(]?[\w./<>-]{1,120}\.(?:py|cc|cpp|go|rs)(?:\[line|\(line|:[\w<>]{1,60})?[:( \[]{1,2}"
            rf"{_N}[)\]]{{0,2}}:?(?=[\s,-]|$)",
            rf"[\w.]{{1,80}}:[\w<>]{{1,60}}:{_N}(?=\s)|\((?:pid=)?{_N}\)\s",
        )
    )
)
"""What may stand before the message, besides times."""
_AT_STEP = re.compile(r"([^\W\d][\w -]{0,40}?) (?:at|after|in|for|and) (?:the )?([a-z]{2,9})\s?\W{0,3}$")
_AFTER_TIME = re.compile(r"[\])Z]{0,2}(?::(?=\s))?")
_BETWEEN_NAMES = re.compile(r"\s{0,2}[(,±]\s?|\s{1,2}\+/-\s?|\s?[\[(]\s?[±+]")
_RANGE = re.compile(r":[\d.]")
_IN_NAME = re.compile(r"\s[A-Za-z_][\w./@ -]{0,40}\s?[=:]\s?")
_CHINESE = re.compile(r" ?(轮|步|回合|次迭代|个?epoch)")
_REST_OF_BRACKET = re.compile(r" [\w ./-]{1,80}(?=\])")
_BETWEEN = re.compile(r"\s?(?:is |[:=,]\s?|\s)")
_SLASH = re.compile(r"\s{0,8}(?:/|of|von|из|sur|de|／)\s{0,8}")
_BYTES = re.compile(r"[kMGT]i?B")
FACTORS = {"k": 3, "K": 3, "M": 6, "B": 9}
_UNCERTAIN = re.compile(r"(?:loss|acc\w{0,8})\W{1,4}$", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])0,\d{2}")
_POINT = re.compile(r"\d\.\d")
_PART_OF_WORD = re.compile(r"['_]\d|-[A-Za-z]")
"""Follows a part of grouped digits (12'345) or of a word (1-b)."""
_FACTOR_APART = re.compile(r"\s[kKMGTB](?:\s{1,4}[A-Za-z(\[]|\s{0,4}[,;|)]|\s{1,4}-\s|\s{0,4}$)|\s?[x*]\s?10")
_POWER = re.compile(r"\s?[x*^]\s?|\*\*")
_GLUED = re.compile(r"(?:\w{1,20}|\s[kKMGTB](?!\w))?(?: [A-Za-z]{1,15}/s\S{0,8})?")
_MAX_OF_TIME = 14
"""Characters of a number in a date or a time."""
WORD = 0xE000
"""First of the characters that stand for a number within a name."""


class Column(Struct):
    """A metric of a shape."""

    name: str
    """Characters from U+E000 on stand for the numbers of the line with that index."""
    first: int
    last: int
    """Numbers of the line that are one, as in "1,234,567"."""
    joint: str = ""
    """What replaces their commas: "" for thousands, "." for a decimal comma."""
    exponent: int = 0
    """Of ten; 3 for "12.1k"."""
    unit: str = ""
    share: int | None = None
    """Number by which this one is divided: 10000 in "accuracy: 9750/10000"."""
    whole: int | None = None
    """Number of which this one is a part: 32.0 in "29.2/32.0GB"."""


class Number:
    """A number of the examined line."""

    def __init__(self, first: int, start: int, end: int, text: str) -> None:
        self.first = self.last = first
        self.start, self.end, self.text = start, end, text
        self.role = ""
        self.label = self.title = self.unit = self.factor = self.joint = self.before = ""
        self.rank = 0
        self.whole: Number | None = None
        self.share: int | None = None

    @property
    def is_count(self) -> bool:
        if self.unit or self.joint == "." or len(self.text) > 18:
            return False
        return self.text.isdecimal() or (bool(self.factor) and self.rank > 0 and self.text.replace(".", "").isdecimal())

    @property
    def has_fraction(self) -> bool:
        return not self.text.isdecimal() or self.joint == "."

    def column(self, name: str) -> Column:
        exponent = FACTORS.get(self.factor, 0)
        whole = self.whole.first if self.whole else None
        return Column(name, self.first, self.last, self.joint, exponent, self.unit, self.share, whole)


def message_of(text: str) -> str:
    """Return a line without the fields of a logging module before its message."""
    numbers, skeleton, _ = joined_numbers(text, places(text))
    return text[message_start(skeleton, numbers) :].strip()


def joined_numbers(text: str, spans: list[tuple[int, int]]) -> tuple[list[Number], str, bool]:
    """Return the numbers, those of a date or with commas as one; the line with NUL for the characters of numbers;
    whether commas are of an uncertain kind."""
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], ("\0" if stop - start <= _MAX_OF_TIME else "\1") * (stop - start)]
        end = stop
    skeleton = "".join([*parts, text[end:]])
    cells = [text[start:stop] for start, stop in spans]
    starts = [start for start, _ in spans]
    times: dict[int, int] = {}
    for match in _TIME.finditer(skeleton):
        first, last = bisect_left(starts, match.start()), bisect_left(starts, match.end()) - 1
        if _is_time(match[0], cells[first : last + 1]):
            times[first] = last
    numbers, index, varies = [], 0, False
    uncertain = "." if _DECIMAL_COMMA.search(text) and not _POINT.search(text) else "?"
    while index < len(cells):
        number = Number(index, *spans[index], cells[index])
        last = index
        if index in times:
            number.role, last = "time", times[index]
        else:
            while last + 1 < len(cells) and skeleton[spans[last][1] : starts[last + 1]] == ",":
                last += 1
            joint = (
                _comma(cells[index : last + 1], text[max(0, starts[index] - 20) : starts[index]])
                if last > index
                else None
            )
            joint = uncertain if joint == "?" and last == index + 1 else joint
            if joint == "?":
                number.role, varies = "item", True
            if joint is None:
                last = index
            else:
                number.joint = joint
        number.last, number.end = last, spans[last][1]
        numbers.append(number)
        index = last + 1
    return numbers, skeleton, varies


def _is_time(pattern: str, cells: list[str]) -> bool:
    """Whether numbers that are printed like a date or a time can be one."""
    if any(cell[0] in "nNiI" for cell in cells):
        return False
    if pattern.count("/") == 2 and ":" not in pattern:
        return all(cell.isdecimal() for cell in cells) and sum(int(cell) > 31 for cell in cells) <= 1
    if ":" in pattern:  # "12:07" is one, "epoch:3:2" none
        return len(cells[len(re.findall(r"\0+", pattern[: pattern.index(":")]))].partition(".")[0]) == 2
    return True


def _comma(cells: list[str], before: str) -> str | None:
    """Return what numbers between commas are: "" for thousands, "." for decimals, "?" for either, None for a list."""
    if not all(cell.isdecimal() for cell in cells[1:-1]) or not cells[0].lstrip("+-").isdecimal():
        return None
    first, rest = cells[0].lstrip("+-"), [cell.partition(".")[0] for cell in cells[1:]]
    if all(len(cell) == 3 and cell.isdecimal() for cell in rest) and first[0] != "0" and len(first) <= 3:
        fraction = "." in cells[-1]
        return "?" if len(rest) == 1 and not fraction and _UNCERTAIN.search(before) else ""
    if before.endswith(("[", "(")):
        return None
    if len(cells) == 2 and "." not in cells[1] and cells[1][:1].isdecimal() and (first == "0" or len(cells[1]) != 3):
        return "."
    return "?"


def message_start(skeleton: str, numbers: list[Number]) -> int:
    """Return where the fields of a logging module end."""
    times = {number.start: number.end for number in numbers if number.role == "time"}
    begin = 0
    for _ in range(16):
        opening = begin + (skeleton[begin : begin + 1] in ("[", "("))
        if opening in times:
            begin = times[opening]
            if skeleton[opening - 1] == "[" and (match := _REST_OF_BRACKET.match(skeleton, begin)):
                begin = match.end()
            if match := _AFTER_TIME.match(skeleton, begin):
                begin = match.end()
        elif (match := _PREFIX.match(skeleton, begin)) and match.end() > begin:
            begin = match.end()
        else:
            break
    return begin


def name_numbers(numbers: list[Number], text: str, begin: int) -> str:
    """Give the numbers of the message their labels and units; return the stage of the whole line."""
    end, previous, stages, named_before, lead = begin, None, list[tuple[str, bool]](), False, ""
    for index, number in enumerate(numbers):
        before = number.before = text[max(end, number.start - 200) : number.start]
        after = text[number.end : numbers[index + 1].start if index + 1 < len(numbers) else number.end + 120]
        end = number.end
        if number.role:
            continue
        number.factor, number.unit, length = unit_after(text[number.end : number.end + 60])
        number.title, number.label = label_before(before)
        if before.endswith(("第", "第 ")) and (chinese := _CHINESE.match(after)):
            number.label, number.unit, length = ("step" if chinese[1] in "步回合次迭代" else "epoch"), "", chinese.end()
        elif (at_step := _AT_STEP.search(before)) and step_rank(at_step[2]):
            number.title, number.label, lead = "", at_step[2], lead or at_step[1]
        if number.label and before.endswith("[") and number.label == stage_word(number.label):
            number.label = ""
        if "/" in number.unit and before.rstrip().endswith("|"):
            number.label = ""
        number.rank = step_rank(number.label) if number.label else 0
        if number.rank and after[:1] == "m" and not after[1:2].isalnum():
            number.factor, number.unit, length = "M", "", 1
        behind = after[length : length + 1]
        if (
            number.text.count(".") > 1
            or (behind.isalpha() and behind.isascii())
            or (not number.rank and re.search(r"[A-Za-z_][/._-]$", before))
            or (_RANGE.match(text, number.end) and not number.rank)
            or _PART_OF_WORD.match(text, number.end)
            or _POWER.fullmatch(before)
            or _FACTOR_APART.match(text, number.end)
            or (text[number.start - 1 : number.start] == "'" and text[number.start - 2 : number.start - 1].isdigit())
        ):
            number.role, number.unit = "word", ""
            glued = _GLUED.match(text, number.end)
            end += len(glued[0]) if glued else 0
            continue
        if _is_part_of_name(number, after):
            number.role = "word"
            sign = chr(WORD + number.first)
            text = text[: number.start] + sign * (number.end - number.start) + text[number.end :]
            end = number.start - len(before)
            continue
        end += length
        after = text[end : end + 80]
        if previous and _SLASH.fullmatch(before):
            if previous.is_count and number.is_count and int(previous.text) <= int(number.text):
                number.role = "total"
                if METRIC.search(previous.label):
                    previous.share = number.first
            else:
                number.role, previous.whole = "whole", number if _BYTES.fullmatch(number.unit) else None
                previous.unit = previous.unit or number.unit
        elif (
            previous
            and not number.label
            and number.unit == "%"
            and before.endswith("(")
            and previous.unit not in ("", "%")
        ):
            if previous.label and not previous.whole:
                number.label = f"{previous.label}(%)"
            else:
                number.role = "whole"
        elif not number.label:
            _name_unlabelled(number, previous, after, lead)
            lead = "" if number.label else lead
        if number.label and number.label == label_behind(after):
            end += len(number.label) + 1
        if number.rank and _AT_STEP.search(before):
            pass
        elif not named_before and (found := stage_of(before)):
            stages.append((found, bool(stage_of(number.label)) and not number.rank))
        elif found := stage_of(before):
            stages.append((found, True))
        named_before = named_before or (not number.role and not number.rank and bool(number.label))
        previous = number
    if any(of_one for _, of_one in stages):
        return ""
    stage = stages[-1][0] if stages else ""
    return stage if stage != "train" else ""


def _name_unlabelled(number: Number, previous: Number | None, after: str, lead: str) -> None:
    """Name a number without a name before it: by what is said at its step, its unit, or the words behind it."""
    if lead and previous and previous.rank and _BETWEEN.fullmatch(number.before):
        number.label = label_before(f"{lead}: ")[1]
        number.label = number.label if METRIC.search(number.label) else ""
    elif "/" in number.unit:
        number.label = number.unit
        number.unit = number.unit if "s/" in number.unit[:3] else ""
    elif previous and _BETWEEN_NAMES.fullmatch(number.before):
        number.role = "item"
        if (
            number.before.strip() == ","
            and "/s" not in previous.label
            and previous.before.rstrip().endswith(("[", "("))
        ):
            previous.role = previous.role or "item"
    elif label := label_behind(after):
        number.label, number.before = label, ""


def _is_part_of_name(number: Number, after: str) -> bool:
    """Whether a number belongs to the name of the next one: "layer 3 norm=0.5"."""
    if not number.text.isdecimal() or len(number.text) > 3 or number.rank or number.unit:
        return False
    if number.before.endswith("#"):
        return True
    if BESIDE.search(number.before):
        return False
    if number.label.lower() == "top":
        return after.startswith((" acc", "acc", " Acc"))
    return bool(number.label) and not METRIC.search(number.label) and _IN_NAME.fullmatch(after) is not None
