"""A shape examined once: what each number of such lines is.

    "02 Mar 10:00  INFO  epoch 3 training [time: 3.40s, train loss: 0.5]"
    date and time      level   epoch        time (s)    metric

What stands before the message is told by its kind: dates and times in any order, levels, "file.py:12", process numbers.
A number is a metric if a name stands beside it; it is the step if its name says so, if it stands alone at the beginning
of the message, or as "[3/10]". Numbers of dates, durations, lists, versions, and those without a name are none.
"""

from __future__ import annotations

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
    label_behind,
    stage_of,
    stage_word,
    step_rank,
)
from tuimon.formats.console.shapes.numbers import FACTORS, Column, Number, joined_numbers, message_start, name_numbers

_REPEATED = re.compile(
    r"\b(?:best|previous|prev|last|final|resum\w{0,4}|(?:re)?load\w{0,4}|restor\w{0,4}|sav(?:e|ed|ing)|early|improved?|"
    r"patience|average over|max|target|threshold|skip\w{0,5})\b",
    re.IGNORECASE,
)
"""Words of lines that repeat what was logged before."""
_REPETITION = re.compile(r"[.;] (?:Best|Previous) ")
"""Behind this, a line repeats what was logged before: "Trial 5 finished with value: 0.3. Best is trial 2 with …"."""
_SETTINGS = re.compile(
    r"(?:\w+[ _])*(?:lr|learning[ _]rate|wd|weight[ _]decay|momentum|gamma|betas?\d?|seed|batch[ _]?size|bs|steps?|"
    r"epochs?|warm\w*|iter(?:ation)?s|workers|gpus|devices|world[ _]size|param\w*|examples|min[ _]delta|dropout)",
    re.IGNORECASE,
)
"""Names of settings: if a line like "steps: 1000" has no other names, the number is a setting too."""
_JOINED = re.compile(r"[=:：(\[][\s\"']*$")
_HEADED = re.compile(
    r"\W{0,8}(?:train\w{0,4}|val\w{0,8}|eval\w{0,8}|test) (?:set|results?|metrics)\s?:\s", re.IGNORECASE
)
_STAGED = re.compile(r"\W{0,8}(?:val|eval|test|dev|验证|测试)", re.IGNORECASE)
_CELL = re.compile(r"^\W{0,9}[^\W\d]\S{0,40}(?: [^\s|]{1,40}){0,3} *(?:[|│┃║]|\.{3,200})\s{0,80}$")
"""A name in a table of names and values, or with dots behind it."""
_RANK = re.compile(r"\(\d{1,5}/\d{1,5}\)\s")
"""The number of a process and of all: "(0/8) Epoch 1, batch 50"."""
_LISTED = re.compile(r"[\s:]{0,9}+(?:[A-Za-z_][\w./-]{0,60}+ \0++%?[\s/|,;-]{0,9}+)++")
"""Names and numbers, and nothing else."""
_PAIR = re.compile(r"\s{0,4}\[\s{0,4}\d{1,12},\s{1,8}\d{1,12}\]")
_BEFORE_DICT = ("", "|", ":", ">", "]", "-", "=")
"""Signs before a dictionary that names its step; others are a sentence about it."""
_QUOTED_DICT = re.compile(r"\{[^{}]{1,2000}\} [a-z]{2}")
"""A dictionary within a sentence, as in an error message."""
_IN_BRACKETS = re.compile(r"[\]\s,:|%)-]{0,20}\[?\s{0,9}")
_ALONE = re.compile(r"[\s\[(<#|│]{0,12}")
_BEHIND = (*":]>|),│\t",)
"""Signs behind a number that stands alone at the beginning of a message, if it is a step."""
_GROUP = re.compile(r"(?<![\w./-])([A-Za-z_][\w./-]{0,60})\[[^\[\]]{1,400}$", re.ASCII)
_MEMORY = re.compile(r"mem|ram\b|cache|size|disk|rss|alloc|reserved|(?<!per.)gpu", re.IGNORECASE)
_COUNTED = re.compile(r"token|sample|example|param|step|frame|seen", re.IGNORECASE)
_HEADING = re.compile(r"\*\*\w{1,20} ?\d")
"""A heading in texts that language models write."""
_HEADING_REST = re.compile(r"[^A-Za-z]{0,100}(?:(?:took|time|started|completed|finished)[^=]{0,60})?", re.IGNORECASE)
"""What may follow the epoch in a line that is the heading of others."""
_AROUND = " \t[(#*=-:>"
"""Signs around the name of a step that is the heading of other lines."""
_WORDS = re.compile(r"[^\W\d_]{2,}")
_OPENING = re.compile(r"\D{0,200}")
_MAX_WORDS_BEFORE = 4
"""Words before the first number; behind more of them the numbers of a sentence must be joined to their names."""
_MANY = 5
"""Names joined to their numbers that show a list of metrics, whatever the names are."""
_MAX_LEAD = 40
"""Characters before a step that are its words, rather than a sentence."""
MAX_NUMBERS = 1000
_REPEATED_SIGN = re.compile("([\ue000-\uf8ff])\\1*")


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
    """Whether the line names an epoch or a step and nothing else."""
    joint: str = "/"
    """What joins the stage and a name: " " if the line has no step before it."""
    is_cell: bool = False
    """Whether the line only has names and values without signs between them, to be read below a heading only."""
    is_staged: bool = False
    """Whether the line begins with the name of a validation or test, and names no step."""
    is_sure: bool = False
    """Whether a single line is enough to show its numbers."""
    step_end: int = 0
    """Where the text behind the step begins; 0 without a step."""
    varies: bool = False
    """Whether another line of the shape may have to be read differently, by its commas."""


def examine(text: str, is_part: bool = False) -> Layout | None:
    """Return what the numbers of lines like this one are; None for lines without metrics.

    is_part: the text is a part of a line that is known to be one of metrics.
    """
    text = text.replace("\t", "  ")  # a tab separates as two blanks do; one blank may stand within a name
    spans = places(text)
    if not spans or len(spans) > MAX_NUMBERS:
        return None
    numbers, skeleton, varies = joined_numbers(text, spans)
    begin = 0 if is_part else message_start(skeleton, numbers)
    if _QUOTED_DICT.search(text, begin) or _HEADING.search(text):
        return None
    if text.startswith("{", begin) and "}" not in text:
        return None  # the first line of a dictionary, or one that was cut
    repetition = _REPETITION.search(text, begin)
    end = repetition.start() if repetition else len(text)
    message = [number for number in numbers if begin <= number.start < end]
    stage = name_numbers(message, text, begin)
    if not is_part and any(number.rank > EPOCH and number.text[0] == "-" for number in message):
        return None
    layout = Layout([], stage=stage, varies=varies)
    if not is_part:
        _choose_step(layout, message, text, begin)
    opening = text.find("{", begin)
    if 0 <= opening < layout.step_end and text[begin:opening].strip()[-1:] not in _BEFORE_DICT:
        return None
    _choose_metrics(layout, message, text, skeleton, begin, is_part)
    if layout.rank == GLOBAL and not layout.columns:
        layout.is_heading = all(number.rank or number.role == "total" for number in message)
    return layout if layout.columns or layout.step else None


def _choose_step(layout: Layout, numbers: list[Number], text: str, begin: int) -> None:
    """Set the step, its total and the epoch of a layout; their numbers get the role "step"."""
    counts = [number for number in numbers if not number.role and number.is_count]
    totals = {id(a): b for a, b in pairwise(numbers) if b.role == "total"}
    candidates: list[tuple[int, Number]] = []
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
                alone
                or (first and number.label and number.label == stage_word(number.label))
                or (not number.label and (_IN_BRACKETS.fullmatch(number.before) or number.before.endswith(": [")))
            )
        ) or (alone and (behind[:1] in _BEHIND or (behind[:1] == " " and not number.unit))):
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
        if others[0][0] == 2 and len(others) > 1 and others[1][0] > 2 and _RANK.match(text, begin):
            del others[0]
        rank, step = others[0]
        if counted or (step is not numbers[0] and epoch is None):
            rank, step = max(others, key=lambda other: (other[0] if other[0] < 7 or counted else 8, -other[1].first))
        within = rank in (2, BATCH, 7, 8, GLOBAL) or id(step) in totals
        layout.is_position = epoch is not None and within and not step.factor  # "1K" is rounded: it may stay as it is
        if epoch is not None:
            layout.epoch, epoch.role = epoch.column("epoch"), "step"
            layout.epochs = totals[id(epoch)].column("") if id(epoch) in totals else None
            rank = max(rank, EPOCH) if epoch.rank else rank
    assert step is not None
    step.role, layout.rank, layout.step = "step", rank, step.column("")
    end = totals.get(id(step), step).end
    alone = rank > EPOCH and text[begin : step.start].strip(_AROUND) == step.label and not re.search(r"\w", text[end:])
    layout.is_heading = alone or (rank == EPOCH and _HEADING_REST.fullmatch(text, step.end) is not None)
    layout.step_end = max(step.end, epoch.end if epoch else 0)
    layout.total = totals[id(step)].column("") if id(step) in totals else None


def _choose_metrics(layout: Layout, numbers: list[Number], text: str, skeleton: str, begin: int, is_part: bool) -> None:
    """Set the columns of a layout, none for lines of prose."""
    named = [number for number in numbers if not number.role and is_name(number.label)]
    named = [number for number in named if not number.factor or is_power(number.label, number.text, number.factor)]
    positions = {id(number) for number, total in pairwise(numbers) if total.role == "total" and number.rank}
    named = [number for number in named if id(number) not in positions]
    named = [number for number in named if not number.rank or number.has_fraction or _JOINED.search(number.before)]
    named = [number for number in named if not _is_doubtful(number, text)]
    step = next((number for number in numbers if layout.step and number.first == layout.step.first), None)
    layout.has_metric = any(METRIC.search(number.label) for number in named)
    if not is_part and not _are_metrics(layout, named, step, text, skeleton, begin):
        return
    if step is None or (stage_of(step.before) and step is not numbers[0]):
        layout.joint = "/" if _HEADED.match(text, begin) else " "
    fraction = any(number.has_fraction for number in named)
    layout.is_staged = step is None and _STAGED.match(text, begin) is not None and fraction
    _set_columns(layout, named, step, text, begin)


def _are_metrics(
    layout: Layout, named: list[Number], step: Number | None, text: str, skeleton: str, begin: int
) -> bool:
    """Whether the named numbers of a line are metrics, rather than those of a sentence or of settings."""
    by_word = layout.rank >= EPOCH
    good = [
        number
        for number in named
        if BESIDE.search(number.before)
        or METRIC.search(number.label)
        or "/s" in number.label
        or "s/" in number.label
        or (layout.rank > 1 and number.label.count(" ") < 3 and (number.has_fraction or number.unit or number.factor))
    ]
    joined = bool(named) and all(_JOINED.search(number.before) for number in named)
    layout.is_sure = layout.rank > 1 and layout.rank != COARSE and len(good) == len(named)
    layout.is_sure = layout.is_sure or (layout.rank > 1 and layout.has_metric)
    if not good or 3 * len(good) < len(named):
        return False
    end = step.start if step and by_word and step.start - begin < _MAX_LEAD else len(text)
    if by_word and joined and len(named) >= _MANY:
        end = min(end, named[0].start)
    if _REPEATED.search(text, begin, end):
        return False
    opening = _OPENING.match(text, begin)
    if step and opening and (len(_WORDS.findall(opening[0])) > _MAX_WORDS_BEFORE or "::" in opening[0]):
        return joined and layout.has_metric
    fraction = any(number.has_fraction for number in named)
    if not layout.has_metric and (not by_word or (step and len(step.label) < 3)):
        return step is None and all("/s" in number.label and number.has_fraction for number in named)
    if not layout.has_metric and layout.rank == COARSE and not (joined and fraction):
        return False
    if not by_word and not fraction:
        return False
    if step and step.label.endswith("s") and not layout.total:
        return not all(_SETTINGS.fullmatch(number.label) for number in named)
    if layout.rank < 2 and not any(_JOINED.search(number.before) or number.title for number in good):
        in_table = len(named) == 1 and _CELL.search(named[0].before) is not None
        layout.is_cell = in_table or (layout.has_metric and _LISTED.fullmatch(skeleton, begin) is not None)
        return layout.is_cell
    return True


def _set_columns(layout: Layout, named: list[Number], step: Number | None, text: str, begin: int) -> None:
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


def _is_doubtful(number: Number, text: str) -> bool:
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
    return FACTORS[factor]
