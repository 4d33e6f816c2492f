"""What the texts beside a number say: its name, its unit, its stage, and whether it counts steps.

" - loss: "            name "loss"                   "[Losses: x "       name "x", title "Losses"
"val loss: tensor("    name "val loss"               "Test: Acc@1 "      stage "test"
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tuimon import lazy_re as re
from tuimon.compiled_toml import load_toml

_WORDS = load_toml(Path(__file__).with_name("words.toml"))
EPOCH, COARSE, BATCH, GLOBAL = 3, 4, 6, 9
"""Ranks of the words for epochs, rounds and frames, batches of an epoch, and steps of the whole training."""
_RANKS = {word: int(rank) for rank, words in _WORDS["steps"].items() for word in words}
METRIC = re.compile(
    rf"(?<![a-z])(?:{'|'.join(_WORDS['metrics'])})"
    r"(?![a-z]|\.(?:c|cc|cpp|cu|cuh|h|o|py|pyc|rs|so)(?![a-z])|"
    r"[ _-](?:weights?|scale|fn|func\w{0,9}|coeff?\w{0,9}|type|lambda)(?![a-z]))"
    rf"|{'|'.join(_WORDS['metrics_anywhere'])}",
    re.IGNORECASE,
)
"""Occurs in the names of results of training."""
MARKS = (*_WORDS["marks"], *(f"E{digit}" for digit in range(10)))
"""Each line of metrics and each heading of an epoch or a stage has at least one of these strings."""
_NO_NAME = frozenset(_WORDS["joining"])
_IGNORED = re.compile(rf"(?:.*[\W_])?(?:{'|'.join(_WORDS['ignored'])})", re.IGNORECASE)
"""Names of numbers that are no metrics."""
_GLOBAL = ("global", "total", "training", "train", "environment", "env", "learner", "agent")
_SETTING = re.compile(
    r"(?<![a-z])(?:max|maximum|number of|num_(?!steps|updates)|warm|warmup|every|per|decay|patience|accum\w{0,8}|"
    r"remaining|target|fps|best|time)(?![a-z])|_per_|/s\b",
    re.IGNORECASE,
)
"""Words by which a counter is a setting or belongs to another step."""
_DONE = re.compile(r" (?:executed|done|completed|finished|taken)$")
"""What may follow a counter: "Steps executed"."""
FRACTION = re.compile(r"\d\.\d|\d[eE]-\d|\b(?:nan|inf)\b", re.IGNORECASE)
"""Occurs in lines of metrics, but hardly in those that count something."""
_STAGE = re.compile(
    r"(?<![\w./@-])(?:(val(?:id(?:ation|ating)?)?)|(eval(?:uation|uating|uate)?)|(test(?:ing)?)|(dev)|(train(?:ing)?))"
    r"(?![\w/@.-])",
    re.IGNORECASE,
)
_STAGES = ("", "val", "eval", "test", "dev", "train")
_UNITS = (
    r"%|‰|[A-Za-z]{1,15}/s(?:ec)?(?:/(?:gpu|device|rank))?|[mu]?s/[a-z]{2,12}|TFLOPS|"
    r"(?-i:[kMGT]i?B)|[muµ]s|seconds|sec|(?-i:s|W)|min|minutes|h|hours|days"
)
_UNIT = re.compile(
    r"(?:(?-i:([kKMB]))(?=\s?[A-Za-z]{1,12}/s|\b))?"
    rf"(?:({_UNITS})(?!\w|/(?!\s?\d))"
    rf"| ({_UNITS})(?=/\s?\d|[,;|)\]}}.]|\s{{0,9}}$|\s{{1,4}}[^\s\d.+-]|\s{{1,4}}-\s"
    r"|\s{2,4}\d[\d.]{0,20}\s?[A-Za-z]{1,15}/[a-z]|(?<!min)(?<!\sh)(?<!%)\s{1,4}\d))?",
    re.IGNORECASE,
)
"""A unit directly behind a number, or after a blank, but not the beginning of the next name ("0.5 min 0.2")."""
_WRAPPER = re.compile(r"(?:np|numpy|torch)?\.?\w{1,20}\([\[(]?$")
_COMPARED = re.compile(r"\s[<>]=?\s{1,4}$")
"""End of a text that compares the number behind it, as a requirement does: "Force numpy < 2.0"."""
_JOINT = " \t:=：([{\"'<>~≈→*#│|┃-–"
BESIDE = re.compile(r"[:=：|│┃(,\[][\s\"'(\[]{0,8}$|[:=(\[{] ?[\w.]{1,30}\($|\bis $")
"""The end of a text that joins a name and its number, rather than a blank."""
_SEPARATOR = re.compile(
    r"[,;|│┃║\t\]}，；。、%]|\s{2,}|\s[-–—•>]{1,2}\s|[=-]>|[:：=](?=\s|[^\x00-\x7f])|：|\((?![^()]{0,40}\))|[\[{]"
)
_NORM = re.compile(r"(?:^|[\s,;])([|‖]{1,2}[A-Za-z_]\w{0,20}[|‖]{1,2})\W{1,4}$")
_SENTENCE = re.compile(
    r"(?:.*[\s)][a-z)]{0,20}\. |[a-z]{6,20}\. |and |is |of |the |at |in |for |with |"
    r"(?:is )?(?:done|finished|completed?|ended)\W{1,3}(?=\w))",
    re.IGNORECASE,
)
_STRIPPED = " \t\"'`*#>•–=.!?~_:-"
_MAX_NAME, _MAX_WORDS = 60, 5


def is_name(label: str) -> bool:
    """Whether a label can be the name of a metric: not "ETA", not "callback.py", not a sentence."""
    if not label or len(label) > _MAX_NAME or label.count(" ") >= _MAX_WORDS or label.endswith(".py"):
        return False
    if label.lower().rpartition(" ")[2] in _NO_NAME:
        return False
    return "/s/" in label or not _IGNORED.fullmatch(label)


@lru_cache(4096)
def step_rank(label: str) -> int:
    """Return how much a name says that its number is a step: 9 for "global_step", 3 for "epoch", 0 for "loss"."""
    low = label.lower().strip("[](){}# ")
    if low in _RANKS:
        return _RANKS[low]
    if "/" in low and not low.endswith(("/step", "/global_step", "/total_timesteps", "/epoch")):
        return 0
    words = _DONE.sub("", low).replace("-", " ").replace("_", " ").replace("/", " ").split()
    if not words or len(words) > 4 or METRIC.search(low) or _SETTING.search(low):
        return 0
    rank = _RANKS.get(words[-1], 0)
    if len(words) > 1 and words[-2] in _GLOBAL and rank >= 7:
        return GLOBAL
    return rank if len(words) == 1 or rank > 3 or words[-1].startswith("epoch") else 0


def unit_after(text: str) -> tuple[str, str, int]:
    """Return (factor "k", "K", "M", "B" or "", unit or "", length) of what a text behind a number begins with."""
    match = _UNIT.match(text)
    assert match is not None
    return match[1] or "", match[2] or match[3] or "", match.end()


def stage_of(text: str) -> str:
    """Return the last stage that a text names as a word: "val" for "[Validation] "; "" without one."""
    matches = list(_STAGE.finditer(text))
    return _STAGES[matches[-1].lastindex or 0] if matches else ""


def stage_word(text: str) -> str:
    """Return the first stage of a text as it is printed: "Val" for "Val loss"; "" without one."""
    match = _STAGE.search(text)
    return match[0] if match else ""


@lru_cache(4096)
def label_before(text: str) -> tuple[str, str]:
    """Return (title, name) that the text before a number gives it: ("Losses", "x") for "[Losses: x "."""
    if norm := _NORM.search(text):
        return "", norm[1]
    if _COMPARED.search(text):
        return "", ""
    text = _WRAPPER.sub("", text).rstrip(_JOINT)
    if text.endswith((" is", " was")):
        text = text[: text.rindex(" ")].rstrip(_JOINT)
    while text:
        cuts = list(_SEPARATOR.finditer(text))
        cut = cuts[-1] if cuts else None
        label = _tidy(text[cut.end() :] if cut else text)
        if label and any(map(str.isalpha, label)):
            title = ""
            if cut and cut[0][:1] in ":：[({":
                title = _tidy(text[: cut.start()].rsplit("[")[-1].rsplit("|")[-1].rsplit(",")[-1])
            return title, label
        if cut is None or label or cut[0] in "])}":
            return "", ""
        text = text[: cut.start()].rstrip(_JOINT)
    return "", ""


def label_behind(text: str) -> str:
    """Return the name that follows a number without any before it: "avg loss" for " avg loss, "."""
    match = re.match(
        r"\s(?![kKMGTB]\s)([^\W\d][\w./-]{0,30}(?: [^\W\d][\w./-]{0,30}){0,2})\s*(?=[,;|)\]}]|$|\.(?:\s|$))", text
    )
    return match[1] if match else ""


def _tidy(text: str) -> str:
    """Return a name without the signs around it and the sentence before it."""
    text = text.strip(_STRIPPED)
    if "=" in text and " " in text:  # msg=start step=
        text = text.rsplit(" ", 1)[1]
    while sentence := _SENTENCE.match(text):
        text = text[sentence.end() :]
    first = next((index for index, sign in enumerate(text) if sign.isalnum() or sign in "_|‖@$("), len(text))
    return " ".join(text[first:].split())
