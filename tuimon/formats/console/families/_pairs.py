"""Names and numbers in the lines of people's own scripts, joined by "=", ":", "is" or a blank.

    loss=0.5 lr: 1e-05, tokens 1,055,123                  a comma between three digits separates thousands
    loss 0,8123 | acc 0,81                                decimal commas, where a number begins with "0,"
    tok/s 12.1k | loss 0.5 | 3.1M params/s (1,053 it/s)   12100; a number before a unit of speed is a metric "it/s"
    val loss 5.3211, val time: 120.11 ms                  both kinds in one line
    loss[loss=0.37, simple_loss=0.41], tot_loss[loss=…]   loss, loss/simple_loss, tot_loss
    episodic_return=[15.0], lr: [0.01], loss is 0.19
    loss: 0.53 acc=81.2% lr 1e-4 mem 1.2GB ETA 0:03:12    names and numbers beside joined ones
    mem 61.3/80 GB, VRAM: 9.8GB / 15.9GB (62%)            the amount, with the whole of which it is a part
    mem 9.8GB (62%) | 412 ms/it | 12k tok/s/gpu           mem and mem(%), ms/it, tok/s/gpu

Blanks count only if the whole text consists of such pairs, or of two or more parts between commas or bars, at least
half of them pairs and one of these with a fraction. A number is read whole or not at all: "loss 2,305" without other
decimal commas may be 2.305 or 2305. All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import inf, nan

from tuimon.formats.console.families._amounts import may_have_amounts, with_parts, without_parts
from tuimon.formats.console.families._values import NUMBER, Pair, Quantity

_SPEED = r"[A-Za-z]{1,15}+/s(?:ec)?(?:/(?:gpu|device|rank))?|[mu]?s/(?:it|iter|iteration|step|batch)"
_UNIT = rf"(%|ms|us|s|sec|min|h|[kMGT]i?B|W|{_SPEED}|TFLOPS|)"
_END = (
    r"(?=[\s,;|()\]}]|\.?$|\.\s)"
    r"(?!\s(?-i:[kKMGTB])(?:\s{1,4}(?:[A-Za-z(\[]|-\s)|\s{0,4}[,;|)]|\s{0,4}$)|\s?[x*]\s?10(?:\^|\*\*|e))"
)
"""The end of a number, which no factor follows: "12.3 K tok/s", "1.5 x 10^3"."""
_SUFFIX = r"(?-i:([kKMB]))([A-Za-z]{1,15}/s(?:ec)?(?:/(?:gpu|device|rank))?)?"
_UNIT_AFTER = (
    rf"(?:\s({_SPEED}|(?-i:[kKMGT]i?B|ms|us|s|sec|W)|(?-i:min|h|%)(?!\s?\w))"
    r"(?=[,;|)\]}]|$|\s{1,4}(?:[^\s\d.+-]|$)))?"
)
"""A unit after a blank, but not the beginning of the next name ("reward 0.5 min 0.2")."""
_VALUE = rf"(?:(?:np\.\w{{1,20}}|tensor)\()?({NUMBER})(?:[^()\s]{{0,40}}\))?(?:{_SUFFIX}|{_UNIT}){_END}{_UNIT_AFTER}"
"""Groups: the number; k, K, M or B; the unit in one of the three others."""
_BYTES = re.compile(r"mem|ram\b|cache|size|disk|rss|alloc|reserved|(?<!per.)gpu", re.IGNORECASE)
"""Occurs in names of sizes, of which K and M may mean 1024 and 1024²."""
_EXPONENTS = {"k": 3, "K": 3, "M": 6, "B": 9}
_COUNTED = re.compile(r"token|sample|example|param|step|frame|seen", re.IGNORECASE)
"""Occurs in names of counters, of which B means billions and not bytes."""
_JOINED = re.compile(rf"\s?[=:]\s{{0,8}}{_VALUE}", re.IGNORECASE | re.ASCII)
_TILE = re.compile(
    rf"[\s,;|]{{0,8}}([A-Za-z_][\w./@()-]{{0,100}}):?\s{{1,8}}=?\s?"
    rf"(?:{_VALUE}|\d{{1,4}}(?::\d\d){{1,2}}(?=[\s,;|)\]]|$))",
    re.IGNORECASE | re.ASCII,
)
"""A name with its number, or with a duration, which is not read."""
_WORDED = re.compile(
    rf"[\s,;|]{{0,8}}((?:[A-Za-z_][\w./@-]{{0,40}}\s{{1,8}}){{1,3}})=?\s?{_VALUE}",
    re.IGNORECASE | re.ASCII,
)
_LISTED = r"[A-Za-z_][\w./@-]{0,40}"
_PART = re.compile(
    rf"\s{{0,8}}({_LISTED}(?: {_LISTED}){{0,3}})\s{{1,8}}{_VALUE}\s{{0,4}}(?:\([^()]{{0,20}}\)\s{{0,4}})?",
    re.IGNORECASE | re.ASCII,
)
_GROUP = re.compile(r"(?<![\w./-])([A-Za-z_][\w./-]{0,60})\[([^\[\]=]{1,60}=[^\[\]]*+)\]", re.ASCII)
_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2}(?:,\d{3}){1,6}+)(?![\d,]\d|\d)", re.ASCII)
_UNCERTAIN = re.compile(r"(?:loss|acc\w{0,8})\W{1,4}$", re.IGNORECASE | re.ASCII)
"""Precedes a number that usually has a fraction, so that its comma may be a decimal comma."""
_GROUPED = re.compile(r"\d,\d", re.ASCII)
_NO_THOUSANDS = re.compile(r"(?<![\d.,])(?:0,\d{2,}|\d{1,9},(?:\d{1,2}|\d{4,}))(?![\d,.])", re.ASCII)
_DECIMAL_COMMA = re.compile(r"(?:[=:]\s{0,8}|[A-Za-z_]\s{1,8})-?0,\d{2,20}(?=[eE\s;|%)]|,\s|$)", re.ASCII)
_WITH_COMMA = re.compile(r"(?<![\w.,])([+-]?\d{1,18}),(\d{1,20})(?![\d,.])", re.ASCII)
_POINT = re.compile(r"\d\.\d")
_RATE = re.compile(
    r"(?:^[:\])]?|(?<=[|,;\t])|(?<=\s-)|(?<=[\d%])(?=[\s(])|(?<=/s)(?=[\s(])|(?<=nan|inf|NaN)(?=\s)|"
    r"(?:(?<=/it)|(?<=/gpu|/GPU)|(?<=/step|/iter)|(?<=\d[kKMGs%])|(?<=\d[kKMGT]B|\d[mu]s|\d\ss)|"
    r"(?<=\d[kKMGT]iB|\d\s[kKMGT]B|\d\s[mu]s)|(?<=\d\s[kKMGT]iB))(?=\s))\s{0,8}\(?"
    rf"({NUMBER})([kKMB]?)\s?((?i:{_SPEED}))(?![\w/])\)?",
    re.ASCII,
)
"""A number before a unit of speed that is not the value of a name before it, as after another number with its unit."""
_LIST_OF_ONE = re.compile(rf"(?<=[=:])(\s?)\[({NUMBER})\]", re.IGNORECASE | re.ASCII)
_AFTER_NUMBER = re.compile(
    r"(?:\s?/\s?(\d{1,12}(?:\.\d{1,9})?)(?=\s?[kMGT]i?B))?"
    rf"(?-i:([kKMB])(?![A-Za-z]))?(?:\s?({_SPEED}|[mu]?s/[a-z]{{2,12}}|%|[mu]?s|sec|min|h|(?-i:[kMGT]i?B)|W|TFLOPS)(?![\w/]))?",
    re.IGNORECASE | re.ASCII,
)
"""What is printed directly after a number: the whole of which it is a part, k, K, M or B, and a unit."""
_IS = re.compile(r"([\w@.-]{1,40}) is (?=[+-]?\.?\d)", re.ASCII)
_SEPARATOR = re.compile(r",\s|\||\t|\s-\s")
_WIDE = re.compile(r"\s{2,8}(?=[A-Za-z_|‖])")
"""Blanks between the fields of a line."""
_NORM = re.compile(r"(?:^|[\s,;])([|‖]{1,2}[A-Za-z_]\w{0,20}[|‖]{1,2})$", re.ASCII)
"""A name between bars, as that of a norm: "|g|: 0.1"."""
_DELIMITER = re.compile(r"[,;|(\[{)\]}\t]|\s-{1,2}\s|\s{2,}|%")
FRACTION = re.compile(r"\d\.\d|\d[eE]-\d|\b(?:nan|inf)\b", re.IGNORECASE)
"""Occurs in lines of metrics, but hardly in those that count something."""
_WORDS = frozenset(
    {"of", "in", "at", "took", "for", "to", "after", "from", "and", "on", "with", "by", "is", "was", "done"}
)
_CLOCK = re.compile(r":\s|:\d|=", re.ASCII)
"""Occurs in a name only if that is the rest of a text like "time: 12:30:01"."""
_ARITHMETIC = re.compile(r"(?:^|\s)[x*/+×÷-]\s?\d")
"""Occurs in a name only if that is the rest of a calculation: "12 m x 18 m = 216"."""
_HAS_NUMBER = re.compile(r"\s[+-]?\.?\d")
_NUMBER_WITHIN = re.compile(r".*\s[+-]?(?!\d{1,2}\s)\d\S*\s+(?=[A-Za-z_])")
"""The part of a name up to a number that belongs to the text before it ("VRAM 29.2/32.0GB lr", but not "top 5 acc")."""
_ASSIGNED_BEFORE = re.compile(r".*\S[=:]\S+\s{1,4}(?=[A-Za-z_])", re.ASCII)
"""A name with a value that is no number, and the blank after it: "eta=3:12:00 step_time"."""
_NO_WORD = re.compile(r"^[^\w'\"`$<]{1,8}")
_UNIT_BEFORE = re.compile(r"^(?:s|secs?|seconds|ms|mins?|h|%)\.\s{1,4}")
_DONE_BEFORE = re.compile(r"^(?:is )?(?:done|finished|completed?|ended)[.:!-]{1,3}\s{1,4}(?=\w)", re.IGNORECASE)
"""The end of the sentence before a name: "Epoch 1 done. train_loss=0.5"."""
_MAX_NAME = 60
_STAGED = re.compile(r"(?:train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test)[ _/.-]", re.IGNORECASE)
_STAGE_BEFORE = re.compile(r"(train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test):\s", re.IGNORECASE)
_METRIC = re.compile(
    r"(?<![a-z])(?:[a-z]{0,12}loss(?:es)?|fitness|[a-z]{0,8}acc(?:uracy)?|accu|top-?\d|ppl|perplexity|rewards?|score|bleu|"
    r"rouge[\w-]{0,5}|wer|cer|f1|auc|auroc|r?mse|mae|mape|rmsle|m?ap\d{0,2}|m?iou|dice|psnr|ssim|fid|lpips|kl|entropy|"
    r"elbo|nll|bpc|bpb|precision|recall|(?:train|val(?:id)?|eval|test)[_/-]err(?:or)?|grad[_ ]?norm|success[_ ]rate|"
    r"win[_ ]?rate|(?:episod\w{1,3}|mean|avg)[_ ]return)"
    r"(?![a-z]|\.(?:c|cc|cpp|cu|cuh|h|o|py|pyc|rs|so)(?![a-z])|"
    r"[ _-](?:weights?|scale|fn|func\w*|coeff?\w*|type|lambda)(?![a-z]))",
    re.IGNORECASE,
)

METRIC_MARKS = (
    *("oss", "acc", "Acc", "ACC", "eward", "core", "mse", "MSE", "mae", "MAE", "auc", "AUC", "ppl", "PPL", "erplexity"),
    *("ntropy", "kl", "KL", "rad_norm", "PSNR", "psnr", "-err", "_err", "/err", "iou", "IoU", "f1", "F1"),
)
"""Parts of the usual names that `names_a_metric` knows, as marks of families."""


def metric_pairs(text: str) -> list[Pair]:
    """Return the pairs of a text. A name that occurs twice gets the stage named before it as prefix:
    "train loss=1 acc=0.9, val loss=2 acc=0.8" gives "train acc" and "val acc"."""
    if may_have_amounts(text):
        text, amounts = without_parts(text)
        if amounts:
            return list(with_parts(_pairs_of(text), amounts))
    return _pairs_of(text)


def _pairs_of(text: str) -> list[Pair]:
    """Return the pairs of a text whose amounts are printed without a whole."""
    groups: list[Pair] = []
    text, rates = _without_rates(_without_commas(text) if "," in text else text)
    if " is " in text:
        text = _IS.sub(lambda match: f"{match[1]}: " if _METRIC.search(match[1]) else match[0], text)
    if "=[" in text or ":[" in text or ": [" in text:
        text = _LIST_OF_ONE.sub(r"\1\2", text)
    if "[" in text and "=" in text:
        for group in _GROUP.finditer(text):
            groups += _of_group(group[1], group[2])
        if groups:
            text = _GROUP.sub(" , ", text)
    pairs = groups + (_consecutive(text) or _joined(text) or _listed(text) or _worded(text))
    if pairs and rates:
        pairs += rates
    if len(dict(pairs)) == len(pairs):
        return pairs
    names = [name for name, _ in pairs]
    staged, stage = [], ""
    for name, value in pairs:
        if match := _STAGED.match(name):
            stage = match[0]
        staged.append((stage + name if not match and names.count(name) > 1 else name, value))
    return staged


def names_a_metric(pairs: Iterable[Pair]) -> bool:
    """Return True if one of the names is that of a result of training ("avg_loss"), not only of a setting or time."""
    return any(_METRIC.search(name) for name, _ in pairs)


def _without_commas(text: str) -> str:
    """Return the text without separators of thousands and with decimal points, where commas are certain to be either;
    other numbers with commas are left as they are, and NUMBER does not match them."""
    if not _GROUPED.search(text):
        return text
    if _NO_THOUSANDS.search(text):
        if _DECIMAL_COMMA.search(text) and not _POINT.search(text):
            return _WITH_COMMA.sub(r"\1.\2", text)
        return text

    def whole(match: re.Match[str]) -> str:
        start, end = match.span()
        fraction = text[end : end + 1] == "."
        uncertain = match[0].count(",") == 1 and not fraction and _UNCERTAIN.search(text[max(0, start - 20) : start])
        return match[0] if uncertain else match[0].replace(",", "")

    return _THOUSANDS.sub(whole, text)


def _without_rates(text: str) -> tuple[str, list[Pair]]:
    """Return the text without numbers before units of speed, and these as pairs (unit, number)."""
    if "/s" not in text and "s/" not in text:
        return text, []
    rates: list[Pair] = []

    def take(match: re.Match[str]) -> str:
        value, unit = _scaled(match[1], match[2]), match[3]
        rates.append((unit, Quantity(value, unit) if "s/" in unit[:3] else value))
        return ""

    text = _RATE.sub(take, text)
    if not rates:
        return text, rates
    names = [name for name, _ in rates]
    return text.rstrip(" |,;-"), [pair for pair in rates if names.count(pair[0]) == 1]


def _scaled(number: str, factor: str | None) -> float:
    """Return the value of a number with the suffix k, K, M or B, or none, as if it had been printed in full."""
    if not factor:
        return float(number)
    return float(f"{number}e{_EXPONENTS[factor]}") if number[-1] in "0123456789." and "e" not in number.lower() else nan


def _value(name: str, match: re.Match[str], group: int) -> list[Pair]:
    """Return the pair of a name and the _VALUE whose number is a group of the match; [] if the value is not certain."""
    factor = match[group + 1]
    if factor and (_BYTES.search(name) or not match[group][-1].isdecimal()):
        return []
    if factor == "B" and not _COUNTED.search(name):
        return []
    value = _scaled(match[group], factor)
    if abs(value) == inf and match[group][-1].isdecimal():  # "id=123e4567" is no number
        return []
    unit = match[group + 2] or match[group + 3] or match[group + 4]
    return [(name, Quantity(value, unit) if unit else value)]


def quantity_before(name: str, value: float, printed: str, text: str) -> float | None:
    """Return the value of a number before a text with the factor and the unit that the text begins with, such as "k
    tok/s"; None if the factor is not certain."""
    after = _AFTER_NUMBER.match(text)
    assert after is not None
    whole, factor, unit = after.groups()
    if factor and (_BYTES.search(name) or (factor == "B" and not _COUNTED.search(name))):
        return None
    value = _scaled(printed, factor) if factor and printed[-1:].isdecimal() else value
    return Quantity(value, unit, float(whole) if whole else None) if unit else value


def _of_group(group: str, inside: str) -> Iterator[Pair]:
    for name, value in _joined(inside):
        yield group if group.endswith(name) else f"{group}/{name}", value


def _consecutive(text: str) -> list[Pair]:
    """Return the pairs of a text that consists of nothing else."""
    values, rest, _ = _tiles(text, len(text) - len(text.lstrip(" ):],-|>")))
    return [] if rest else values


def _tiles(text: str, position: int = 0) -> tuple[list[Pair], str, bool]:
    """Return (pairs that the text begins with, rest of the text, whether a number is printed as only metrics are: with
    a fraction, an exponent or a unit)."""
    values, measured = list[Pair](), False
    while position < len(text):
        match = _TILE.match(text, position)
        if match is None or match[1].lower() in _WORDS:
            break
        if match[2] and match[1].lower() != "eta":
            values += _value(match[1], match, 2)
        measured = measured or not (match[2] and match[2].isdecimal() and not any(match.group(3, 4, 5, 6)))
        position = match.end()
    return values, text[position:], measured


def _worded(text: str) -> list[Pair]:
    """Return the pairs of a text that consists of names of up to three words and numbers, one of them a metric."""
    values, position = [], len(text) - len(text.lstrip(" ):],-|>"))
    while position < len(text):
        match = _WORDED.match(text, position)
        if match is None or not _WORDS.isdisjoint(match[1].lower().split()):
            return []
        values += _value(" ".join(match[1].split()), match, 2)
        position = match.end()
    return values if names_a_metric(values) and any(value % 1 for _, value in values) else []


def _listed(text: str) -> list[Pair]:
    """Return the pairs of a list between commas, bars or tabs, if half of its parts are pairs and a number has a
    fraction; other lists are prose ("saving checkpoint 3, model 4")."""
    parts = [stripped for part in _SEPARATOR.split(text.strip(" :|,-")) if (stripped := part.strip(" ,"))]
    pairs = [pair for part in parts if (pair := _PART.fullmatch(part)) and _may_be_metric(pair[1])]
    if len(parts) < 2 or 2 * len(pairs) < len(parts) or all(pair[2].isdecimal() for pair in pairs):
        return []
    return [value for pair in pairs for value in _value(pair[1], pair, 2)]


def _may_be_metric(name: str) -> bool:
    """Return False for the name of a remaining time and for prose."""
    words = name.lower().split()
    return words != ["eta"] and _WORDS.isdisjoint(words)


def _joined(text: str) -> list[Pair]:
    """Return the pairs joined by =, : or "is", whatever text lies between them, and the pairs with a fraction that are
    listed beside them."""
    values: list[Pair] = []
    end = 0
    for match in _JOINED.finditer(text):
        before = text[max(end, match.start() - 2 * _MAX_NAME) : match.start()]
        listed, name = _before_number(before)
        if not name and match[0][0] == ":" and before[-1:].isdigit():
            continue  # within a duration
        values += listed
        end = match.end()
        if name:
            values += _value(name, match, 1)
    if values and end < len(text):
        values += _after_number(text[end : end + 1000])
    return values


def _after_number(text: str) -> list[Pair]:
    """Return the pairs in the text after the last joined number."""
    if text.isspace():
        return []
    tiles, rest, measured = _tiles(text)
    return tiles if measured and not rest.strip(" .,;|)]") else list(_listed_beside(text + " | "))


@lru_cache(4096)
def _before_number(text: str) -> tuple[tuple[Pair, ...], str]:
    """Return (pairs listed in the text between two joined numbers, name of the number after it or "").

    Cached, as the texts between the numbers are equal in all lines that one statement prints.
    """
    listed: tuple[Pair, ...] = ()
    if text.find(",", 1) > 0 or text.find("|", 1) > 0 or "  " in text:
        listed = tuple(_listed_beside(_WIDE.sub(" | ", text)))
    if norm := _NORM.search(text):
        return listed, norm[1]
    name = _DELIMITER.split(text)[-1].strip(" .:-").removeprefix("and ")
    if _ARITHMETIC.search(name):
        return listed, ""
    if _HAS_NUMBER.search(name):
        tiles, rest, measured = _tiles(name)
        if measured and tiles and rest:
            listed, name = (*listed, *tiles), rest.strip(" .:-")
        name = _NUMBER_WITHIN.sub("", name)
    if "=" in name or ":" in name:
        name = _ASSIGNED_BEFORE.sub("", name)
    if not name[:1].isalpha():
        name = _NO_WORD.sub("", name)  # a symbol before the name
    if ". " in name or ": " in name:
        name = _DONE_BEFORE.sub("", name)
    if ". " in name:
        name = _UNIT_BEFORE.sub("", name)  # "Time Elapsed: 10.5 s. Mean Reward: 3"
    if ":" in name:
        name = _STAGE_BEFORE.sub(r"\1/", name, 1)  # "val: loss=0.6"
    if name[:1].isalpha() and len(name) <= _MAX_NAME and name.count(" ") < 4 and not _CLOCK.search(name):
        return listed, name
    return listed, ""


def contains_a_metric(text: str) -> bool:
    """Return True if the text contains the name of a result of training."""
    return _METRIC.search(text) is not None


def listed_pairs(text: str) -> list[Pair]:
    """Return the pairs with a fraction or % among the parts between commas, bars or tabs, whatever the others are, and
    numbers before a unit of speed."""
    text, amounts = without_parts(text) if may_have_amounts(text) else (text, [])
    text, rates = _without_rates(_without_commas(text) if "," in text else text)
    pairs = list(_listed_beside(text + " | "))
    return list(with_parts(pairs + rates, amounts)) if pairs else []


def _listed_beside(text: str) -> Iterator[Pair]:
    """Yield the pairs of the parts of a list, but for the last part, which belongs to what follows."""
    for part in _SEPARATOR.split(text)[:-1]:
        pair = _PART.fullmatch(part.strip(" :,-"))
        if pair is None or not _may_be_metric(pair[1]):
            continue
        if not pair[2].isdecimal() or pair[3] or pair.string[pair.end(2) :].startswith("%"):
            yield from _value(pair[1], pair, 2)
