"""A shape examined once: what each number of such lines is.

    "02 Mar 10:00  INFO  epoch 3 training [time: 3.40s, train loss: 0.5]"
    date and time      level   epoch        time (s)    metric

What stands before the message is told by its kind: dates and times in any order, levels, "file.py:12", process numbers.
A number is a metric if a name stands beside it; it is the step if its name says so, if it stands alone at the beginning
of the message, or as "[3/10]". Numbers of dates, durations, lists, versions, and those without a name are none.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats.console.shapes.cutting import places
from tuimon.formats.console.shapes.labels import (
    BATCH,
    BESIDE,
    COARSE,
    EPOCH,
    GLOBAL,
    METRIC,
    is_name,
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
            rf"[\w.-]{{1,120}}(?=\s{{1,3}}[-:|]\s{{1,3}}(?:{_LEVEL})\b)",  # the name of a logger
            rf"\[[\w.:/ -]{{1,60}}\](?=\s{{0,4}}(?:[-|]\s|(?:{_LEVEL})\b))",
            rf"[IWEF]\d{{4}}(?= )|{_N}\s{{1,8}}[\w./<>-]{{1,80}}:{_N}\]",  # glog
            r"[\[(]?[\w./<>-]{1,120}\.(?:py|cc|cpp|go|rs)(?:\[line|\(line|:[\w<>]{1,60})?[:( \[]{1,2}"
            rf"{_N}[)\]]{{0,2}}:?(?=[\s,-]|$)",
            rf"[\w.]{{1,80}}:[\w<>]{{1,60}}:{_N}(?=\s)|\((?:pid=)?{_N}\)\s",
        )
    )
)
"""What may stand before the message, besides times."""
_REPEATED = re.compile(
    r"\b(?:best|previous|prev|last|final|resum\w{0,4}|(?:re)?load\w{0,4}|restor\w{0,4}|sav(?:e|ed|ing)|early|improved?|"
    r"patience|average over|max|target|threshold|skip\w{0,5})\b",
    re.IGNORECASE,
)
"""Words of lines that repeat what was logged before."""
_AT_STEP = re.compile(r"([^\W\d][\w -]{0,40}?) (?:at|after|in|for|and) (?:the )?([a-z]{2,9})\s?\W{0,3}$")
_AFTER_TIME = re.compile(r"[\])Z]{0,2}(?::(?=\s))?")
_BETWEEN_NAMES = re.compile(r"\s{0,2}[(,±]\s?|\s{1,2}\+/-\s?|\s?[\[(]\s?[±+]")
_RANGE = re.compile(r":[\d.]")
_IN_NAME = re.compile(r"\s[A-Za-z_][\w./@ -]{0,40}\s?[=:]\s?")
_CHINESE = re.compile(r" ?(轮|步|回合|次迭代|个?epoch)")
_SETTINGS = re.compile(
    r"(?:\w+[ _])*(?:lr|learning[ _]rate|wd|weight[ _]decay|momentum|gamma|betas?\d?|seed|batch[ _]?size|bs|steps?|"
    r"epochs?|warm\w*|iter(?:ation)?s|workers|gpus|devices|world[ _]size|param\w*|min[ _]delta|dropout)",
    re.IGNORECASE,
)
"""Names of settings: if a line like "steps: 1000" has no other names, the number is a setting too."""
_REST_OF_BRACKET = re.compile(r" [\w ./-]{1,80}(?=\])")
_JOINED = re.compile(r"[=:：(\[][\s\"']*$")
_HEADED = re.compile(
    r"\W{0,8}(?:train\w{0,4}|val\w{0,8}|eval\w{0,8}|test) (?:set|results?|metrics)\s?:\s", re.IGNORECASE
)
_STAGED = re.compile(r"\W{0,8}(?:val|eval|test|dev|验证|测试)", re.IGNORECASE)
_CELL = re.compile(r"^\W{0,9}[^\W\d]\S{0,40}(?: [^\s|]{1,40}){0,3} *(?:[|│┃║]|\.{3,200})\s{0,80}$")
"""A name in a table of names and values, or with dots behind it."""
_PAIR = re.compile(r"\s{0,4}\[\s{0,4}\d{1,12},\s{1,8}\d{1,12}\]")
_BEFORE_DICT = ("", "|", ":", ">", "]", "-", "=")
"""Signs before a dictionary that names its step; others are a sentence about it."""
_QUOTED_DICT = re.compile(r"\{[^{}]{1,2000}\} [a-z]{2}")
"""A dictionary within a sentence, as in an error message."""
_BETWEEN = re.compile(r"\s?(?:is |[:=,]\s?|\s)")
_SLASH = re.compile(r"\s{0,8}(?:/|of|／)\s{0,8}")
_IN_BRACKETS = re.compile(r"[\]\s,:|-]{0,20}\[?\s{0,9}")
_ALONE = re.compile(r"[\s\[(#|│]{0,12}")
_GROUP = re.compile(r"(?<![\w./-])([A-Za-z_][\w./-]{0,60})\[[^\[\]]{1,400}$", re.ASCII)
_BYTES = re.compile(r"[kMGT]i?B")
_MEMORY = re.compile(r"mem|ram\b|cache|size|disk|rss|alloc|reserved|(?<!per.)gpu", re.IGNORECASE)
_COUNTED = re.compile(r"token|sample|example|param|step|frame|seen", re.IGNORECASE)
_FACTORS = {"k": 3, "K": 3, "M": 6, "B": 9}
_UNCERTAIN = re.compile(r"(?:loss|acc\w{0,8})\W{1,4}$", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])0,\d{2}")
_POINT = re.compile(r"\d\.\d")
_PART_OF_WORD = re.compile(r"['_]\d|-[A-Za-z]")
"""Follows a part of grouped digits (12'345) or of a word (1-b)."""
_HEADING = re.compile(r"\*\*\w{1,20} ?\d")
"""A heading in texts that language models write."""
_FACTOR_APART = re.compile(r"\s[kKMGTB](?:\s{1,4}[A-Za-z(\[]|\s{0,4}[,;|)]|\s{0,4}$)|\s?[x*]\s?10")
_HEADING_REST = re.compile(r"[^A-Za-z]{0,100}(?:(?:took|time|started|completed|finished)[^=]{0,60})?", re.IGNORECASE)
"""What may follow the epoch in a line that is the heading of others."""
_POWER = re.compile(r"\s?[x*^]\s?|\*\*")
_GLUED = re.compile(r"(?:\w{1,20}|\s[kKMGTB](?!\w))?(?: [A-Za-z]{1,15}/s\S{0,8})?")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_OPENING = re.compile(r"\D{0,200}")
_MAX_WORDS_BEFORE = 4
"""Words before the first number; behind more of them the numbers of a sentence must be joined to their names."""
_MAX_LEAD = 40
"""Characters before a step that are its words, rather than a sentence."""
_MAX_OF_TIME = 14
"""Characters of a number in a date or a time."""
MAX_NUMBERS = 1000
_REPEATED_SIGN = re.compile("([\ue000-\uf8ff])\\1*")
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


class Layout(Struct):
    """What the numbers of the lines of one shape are."""

    columns: list[Column]
    step: Column | None = None
    epoch: Column | None = None
    """The epoch beside another step."""
    total: Column | None = None
    epochs: Column | None = None
    rank: int = 0
    """See `labels.step_rank`; 2 for a number at the beginning, 1 for one that only its values can show to be a step."""
    is_position: bool = False
    """Whether the step is counted in each epoch anew."""
    stage: str = ""
    """Stage of the whole line."""
    has_metric: bool = False
    """Whether a name is that of a result of training."""
    is_heading: bool = False
    """Whether the line names an epoch and nothing else."""
    joint: str = "/"
    """What joins the stage and a name: " " if the line has no step before it."""
    is_cell: bool = False
    """Whether the line is a row of a table of names and values, to be read below the heading of an epoch only."""
    is_staged: bool = False
    """Whether the line begins with the name of a validation or test, and names no step."""
    is_sure: bool = False
    """Whether a single line is enough to show its numbers."""
    step_end: int = 0
    """Where the text behind the step begins; 0 without a step."""
    varies: bool = False
    """Whether another line of the shape may have to be read differently, by its commas."""


class _Number:
    """A number of the examined line."""

    def __init__(self, first: int, start: int, end: int, text: str) -> None:
        self.first = self.last = first
        self.start, self.end, self.text = start, end, text
        self.role = ""
        self.label = self.title = self.unit = self.factor = self.joint = self.before = ""
        self.rank = 0
        self.whole: _Number | None = None
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
        exponent = _FACTORS.get(self.factor, 0)
        whole = self.whole.first if self.whole else None
        return Column(name, self.first, self.last, self.joint, exponent, self.unit, self.share, whole)


def examine(text: str, is_part: bool = False) -> Layout | None:
    """Return what the numbers of lines like this one are; None for lines without metrics.

    is_part: the text is a part of a line that is known to be one of metrics.
    """
    spans = places(text)
    if not spans or len(spans) > MAX_NUMBERS:
        return None
    numbers, skeleton, varies = _joined(text, spans)
    begin = 0 if is_part else _message_start(skeleton, numbers)
    if _QUOTED_DICT.search(text, begin) or _HEADING.search(text):
        return None
    if text.startswith("{", begin) and "}" not in text:
        return None  # the first line of a dictionary, or one that was cut
    message = [number for number in numbers if number.start >= begin]
    stage = _name(message, text, begin)
    if not is_part and any(number.rank > EPOCH and number.text[0] == "-" for number in message):
        return None
    layout = Layout([], stage=stage, varies=varies)
    if not is_part:
        _choose_step(layout, message, text, begin)
    opening = text.find("{", begin)
    if 0 <= opening < layout.step_end and text[begin:opening].strip()[-1:] not in _BEFORE_DICT:
        return None
    _choose_metrics(layout, message, text, begin, is_part)
    return layout if layout.columns or layout.step else None


def message_of(text: str) -> str:
    """Return a line without the fields of a logging module before its message."""
    numbers, skeleton, _ = _joined(text, places(text))
    return text[_message_start(skeleton, numbers) :].strip()


def _joined(text: str, spans: list[tuple[int, int]]) -> tuple[list[_Number], str, bool]:
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
        number = _Number(index, *spans[index], cells[index])
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


def _message_start(skeleton: str, numbers: list[_Number]) -> int:
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


def _name(numbers: list[_Number], text: str, begin: int) -> str:
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


def _name_unlabelled(number: _Number, previous: _Number | None, after: str, lead: str) -> None:
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


def _is_part_of_name(number: _Number, after: str) -> bool:
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


def _choose_step(layout: Layout, numbers: list[_Number], text: str, begin: int) -> None:
    """Set the step, its total and the epoch of a layout; their numbers get the role "step"."""
    counts = [number for number in numbers if not number.role and number.is_count]
    totals = {id(a): b for a, b in pairwise(numbers) if b.role == "total"}
    candidates: list[tuple[int, _Number]] = []
    for number in counts:
        first = number is numbers[0]
        alone = first and _ALONE.fullmatch(text[begin : number.start]) is not None
        behind = text[number.end : number.end + 2]
        if number.rank and not number.before.endswith("-"):
            candidates.append((number.rank, number))
        elif id(number) in totals and number.label == "i":
            candidates.append((BATCH, number))
        elif (
            id(number) in totals
            and (
                alone or (not number.label and (_IN_BRACKETS.fullmatch(number.before) or number.before.endswith(": [")))
            )
        ) or (
            alone and (behind[:1] in (":", "]", "|", ")", ",", "│", "\t") or (behind[:1] == " " and not number.unit))
        ):
            candidates.append((2, number))
        elif first and number.label and BESIDE.search(number.before) is None and len(number.before) < 30:
            candidates.append((1, number))
    if not candidates:
        return
    epoch = next((number for rank, number in candidates if rank == EPOCH), None)
    others = [
        (rank, number)
        for rank, number in candidates
        if rank != EPOCH and (rank > 2 or epoch is None or id(number) in totals)
    ]
    if _PAIR.match(text, begin) and len(numbers) > 2 and all(number.text.isdecimal() for number in numbers[:2]):
        candidates = [(2, numbers[0]), (2, numbers[1])]
        totals[id(numbers[0])] = totals[id(numbers[1])] = numbers[1]
    pair = [number for _, number in candidates[:2]]
    if epoch is None and len(pair) == 2 and all(not number.rank and id(number) in totals for number in pair):
        epoch, others = pair[0], [(2, pair[1])]  # "[1/5][50/100]"
        if totals[id(epoch)] is pair[1]:  # "[1,  2000]"
            totals = {}
    if epoch is None and len(others) > 1 and others[0][0] == 7 and others[1][0] == 8 and id(others[1][1]) in totals:
        (_, epoch), *others = others  # "iteration:1 step:50/100"
    rank, step = EPOCH, epoch
    if others:
        counted = (
            epoch is None
            and any(rank == GLOBAL for rank, _ in others)
            and any(id(number) in totals or rank == BATCH for rank, number in others)
        )
        rank, step = others[0]
        if counted or (step is not numbers[0] and epoch is None):
            rank, step = max(others, key=lambda other: (other[0] if other[0] < 7 or counted else 8, -other[1].first))
        layout.is_position = epoch is not None and (rank in (2, BATCH, 7, 8, GLOBAL) or id(step) in totals)
        if epoch is not None:
            layout.epoch, epoch.role = epoch.column("epoch"), "step"
            layout.epochs = totals[id(epoch)].column("") if id(epoch) in totals else None
            rank = max(rank, EPOCH) if epoch.rank else rank
    assert step is not None
    step.role, layout.rank, layout.step = "step", rank, step.column("")
    layout.is_heading = rank == EPOCH and _HEADING_REST.fullmatch(text, step.end) is not None
    layout.step_end = max(step.end, epoch.end if epoch else 0)
    layout.total = totals[id(step)].column("") if id(step) in totals else None


def _choose_metrics(layout: Layout, numbers: list[_Number], text: str, begin: int, is_part: bool) -> None:
    """Set the columns of a layout, none for lines of prose."""
    named = [number for number in numbers if not number.role and is_name(number.label)]
    named = [number for number in named if not number.factor or is_power(number.label, number.text, number.factor)]
    named = [number for number in named if not number.rank or number.has_fraction or _JOINED.search(number.before)]
    named = [number for number in named if not _is_doubtful(number, text)]
    step = next((number for number in numbers if layout.step and number.first == layout.step.first), None)
    layout.has_metric = any(METRIC.search(number.label) for number in named)
    if not is_part and not _are_metrics(layout, named, step, text, begin):
        return
    if step is None or (stage_of(step.before) and step is not numbers[0]):
        layout.joint = "/" if _HEADED.match(text, begin) else " "
    fraction = any(number.has_fraction for number in named)
    layout.is_staged = step is None and _STAGED.match(text, begin) is not None and fraction
    _set_columns(layout, named, step, text, begin)


def _are_metrics(layout: Layout, named: list[_Number], step: _Number | None, text: str, begin: int) -> bool:
    """Whether the named numbers of a line are metrics, rather than those of a sentence or of settings."""
    by_word = layout.rank >= EPOCH
    good = [
        number
        for number in named
        if BESIDE.search(number.before)
        or METRIC.search(number.label)
        or "/s" in number.label
        or "s/" in number.label
        or (by_word and number.label.count(" ") < 3 and (number.has_fraction or number.unit or number.factor))
    ]
    layout.is_sure = layout.rank > 1 and (layout.has_metric or len(good) == len(named))
    if not good or 3 * len(good) < len(named):
        return False
    lead = text[begin : step.start] if step else text[begin:]
    if _REPEATED.search(lead if by_word and len(lead) < _MAX_LEAD else text[begin:]):
        return False
    opening = _OPENING.match(text, begin)
    if step and opening and (len(_WORDS.findall(opening[0])) > _MAX_WORDS_BEFORE or "::" in opening[0]):
        return all(_JOINED.search(number.before) for number in named) and layout.has_metric
    if not layout.has_metric and (not by_word or layout.rank == COARSE or (step and len(step.label) < 3)):
        return False
    if not by_word and not any(number.has_fraction for number in named):
        return False
    if step and step.label.endswith("s") and not layout.total:
        return not all(_SETTINGS.fullmatch(number.label) for number in named)
    if layout.rank < 2 and not any(_JOINED.search(number.before) or number.title for number in good):
        layout.is_cell = len(named) == 1 and _CELL.search(named[0].before) is not None
        return layout.is_cell
    return True


def _set_columns(layout: Layout, named: list[_Number], step: _Number | None, text: str, begin: int) -> None:
    """Set the metrics of a layout. A name that occurs twice gets the title or the stage before it."""
    names = [_REPEATED_SIGN.sub(r"\1", number.label) for number in named]
    counts = {name: names.count(name) for name in names}
    stage = ""
    for number, name in zip(named, names, strict=True):
        if found := stage_word(name):
            stage = f"{found} "
        elif group := _GROUP.search(text[max(begin, number.start - 400) : number.start]):
            name = group[1] if group[1].endswith(name) else f"{group[1]}/{name}"
        elif counts[name] > 1 and number.title and number.title != name:
            stage = f"{number.title}/" if stage_of(number.title) else stage
            name = f"{number.title}/{name}"
        elif counts[name] > 1 or (stage and step is None and not layout.stage):
            name = stage + name
        elif not layout.stage and stage_of(number.title) and not step_rank(number.title):
            name = f"{number.title}/{name}"
        layout.columns.append(number.column(name))


def _is_doubtful(number: _Number, text: str) -> bool:
    """Whether a bare integer hardly belongs to the words before it: "tokens done 12", "saved 3 checkpoints"."""
    if (
        number.has_fraction
        or number.unit
        or number.factor
        or "/s" in number.label
        or BESIDE.search(number.before)
        or METRIC.search(number.label)
    ):
        return False
    return " " in number.label or bool(label_behind(text[number.end : number.end + 60]))


def is_power(name: str, printed: str, factor: str) -> bool:
    """Whether the k, M or B behind a number is a power of ten for certain: not that of a size in bytes."""
    if (_MEMORY.search(name) and "/s" not in name) or not printed[-1:].isdecimal() or "e" in printed:
        return False
    return factor != "B" or _COUNTED.search(name) is not None


def exponent_of(factor: str) -> int:
    """Return 3 for "k"."""
    return _FACTORS[factor]
