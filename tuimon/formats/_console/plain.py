"""The lines that people write themselves: a step, then names and numbers.

    Step 10 (samples: 40): loss=0.5000, reward=0.1000, lr=1.00e-05
    global_step 1/60 rollout_time 0.055s reward 0.1937 loss -0.07035
    Epoch [1/10], Step [100/600], Loss: 0.5                 step 100 of epoch 1: (1 - 1) * 600 + 100
    Train Epoch: 1 [640/60000 (1%)]  Loss: 2.29             of epochs that count from 0, of epoch 0: 0 * 60000 + 640
    Epoch: [0][  10/5005]  Loss 7.01 (7.10)                 between tabs, of PyTorch's examples; also [0]  [ 10/5005]
    epoch 001:    100 / 5000 loss=10.5, ppl=1500.2          fairseq
    Epoch 3: Train Loss: 0.5 Val Loss: 0.6                  names may be of several words
    step 250: train loss 2.0123, val loss 2.1234            so they may between commas or bars (nanoGPT, llm.c)

The message has to begin with the step, or with at most three words before it. Names stay as written; a line that says
that it is of a validation ("Validation step 5: loss 0.3") gives val/<name>, for its names are those of the training.
Names and numbers are joined by "=", ":" or a blank; blanks count only if the whole line is made of such pairs, or of
two parts and more between commas or bars, half of them pairs of which one has a fraction.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import NUMBER

_MAX_LENGTH = 1 << 16
_BAR = "%|"
"""Behind a progress bar stand the metrics of whenever: see progress_bar."""
_WHOLE = r"(\d{1,3}(?:,\d{3}){1,5}|\d{1,18})"
_COUNT = rf"\W{{0,4}}(?<![\s:=([]-){_WHOLE}(?:\s?(?:/|of)\s?{_WHOLE})?(?![\w.]*\d|,\d{{3}}|[kmb]\b)"
"""A count, which is not negative, no fraction and no "10k"; and of how many."""
_LEAD = re.compile(
    rf"\W{{0,4}}((?:[A-Za-z]{{1,20}}\W{{1,3}}){{0,3}}?)"
    rf"((?:global|train(?:ing)?|update|optim\w*)?[_ -]?(?:step|iter(?:ation)?|update|epoch|episode)s?)\b{_COUNT}",
    re.IGNORECASE | re.ASCII,
)
_SECOND = re.compile(
    rf"[\s,;|:\])-]{{0,4}}(?:[\[(]?(?:global[_ ])?(?:step|iter(?:ation)?|batch)s?\b{_COUNT}"
    r"|\[\s{0,8}(\d{1,18})/\s{0,8}(\d{1,18})|\s{0,8}(\d{1,18}) / (\d{1,18})(?=\s))",
    re.IGNORECASE | re.ASCII,
)
_SETTING = re.compile(
    r"\b(?:max|maximum|num|number|warm|warmup|every|per|decay|patience|accum\w*|remaining|target)\b", re.IGNORECASE
)
"""Before "steps" it tells how many there are to be."""
_SAID_BEFORE = re.compile(r"\b(?:best|previous|resum\w{1,4}|(?:re)?load\w{0,4}|restor\w{1,4})\b", re.IGNORECASE)
"""Before a step it tells what was logged there once."""
_SET = re.compile(
    r"(?:\w+[ _])*(?:lr|learning[ _]rate|wd|weight[ _]decay|momentum|gamma|betas?\d?|seed|batch[ _]?size|bs|steps?|"
    r"epochs?|warm\w*|iter(?:ation)?s|workers|gpus|devices|world[ _]size|param\w*|min[ _]delta|dropout)",
    re.IGNORECASE,
)
"""Names of settings: where there is nothing else behind "steps: 1000", it tells how many there are to be."""
_STAGE = r"\b(val(?:id(?:ation)?)?|eval(?:uation)?|test)\b"
_VALIDATION = re.compile(_STAGE, re.IGNORECASE)
_VALIDATION_BEHIND = re.compile(
    rf"[\s,;|:\[\])-]{{0,6}}{_STAGE}[^=:|\d\]]{{0,30}}[:|\]]\s{{0,4}}(?=[a-z])", re.IGNORECASE
)
"""Behind the step, and with names of its own behind it: "| valid on 'valid' subset | loss", but not "val loss: 0.5"."""
_STAGED = re.compile(r"(?:train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test)[ _/.-]", re.IGNORECASE)
_STAGE_BEFORE = re.compile(r"(train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test):\s", re.IGNORECASE)
_UNIT = r"(?:%|ms|s|min|h|GiB|GB|MiB|MB|it/s|s/it|steps?/s|tokens?/s|tok/s|samples?/s)?"
_VALUE = rf"(?:(?:np\.\w{{1,20}}|tensor)\()?({NUMBER})(?:[^()\s]{{0,40}}\))?{_UNIT}(?=[\s,;|)\]}}]|$)(?!,\d{{3}}(?!\d))"
_JOINED = re.compile(rf"\s?[=:]\s{{0,8}}{_VALUE}", re.IGNORECASE | re.ASCII)
_TILE = re.compile(rf"[\s,;|]{{0,8}}([A-Za-z_][\w./@()-]{{0,100}}):?\s{{1,8}}=?\s?{_VALUE}", re.IGNORECASE | re.ASCII)
_LISTED = r"[A-Za-z_][\w./@-]{0,40}"
_PART = re.compile(
    rf"\s{{0,8}}({_LISTED}(?: {_LISTED}){{0,3}})\s{{1,8}}{_VALUE}\s{{0,4}}(?:\([^()]{{0,20}}\)\s{{0,4}})?",
    re.IGNORECASE | re.ASCII,
)
_DELIMITER = re.compile(r"[,;|(\[{)\]}\t]|\s-{1,2}\s|\s{2,}|%")
_WORDS = frozenset(
    {"of", "in", "at", "took", "for", "to", "after", "from", "and", "on", "with", "by", "is", "was", "done"}
)
_CLOCK = re.compile(r":\s|:\d|=", re.ASCII)
"""In what would be a name: it is the rest of "time: 12:30:01"."""
_MAX_NAME = 60


class PlainReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._first_epoch = 1
        self._reached = -1, 0
        """The last epoch of which a step was told, and that step: what is said of the whole epoch belongs to it."""

    def read(self, line: Line) -> bool:
        text = line.message
        found = _LEAD.match(text) if len(text) <= _MAX_LENGTH and _BAR not in text else None
        if found is None:
            return False
        lead, kind, step, at = found[1], found[2].lower(), _whole(found[3]), found.end()
        if lead and (_SETTING.search(lead) or _SAID_BEFORE.search(lead)):
            return False
        total = _whole(found[4]) if found[4] else None
        epoch: int | None = None
        if "epoch" in kind:
            inner = _SECOND.match(text, at)
            if inner:
                at = inner.end()
                self._first_epoch = min(self._first_epoch, step)
                epoch, (step, total) = step, _within(step - self._first_epoch, inner, total)
                self._reached = epoch, step
            elif step == self._reached[0]:
                epoch, (step, total) = step, (self._reached[1], None)
        validation = _VALIDATION.search(lead) if lead else None
        if validation is None and (found := _VALIDATION_BEHIND.match(text, at)) and "train" not in text[at:].lower():
            validation, at = found, found.end()
        values = _pairs(text[at:])
        if not values or (kind[-1] == "s" and not total and all(_SET.fullmatch(name) for name, _ in values)):
            return False
        if validation:
            word = validation[1].lower()
            prefix = "eval/" if word.startswith("eval") else "test/" if word == "test" else "val/"
            values = [(prefix + name, value) for name, value in values]
        elif epoch is not None:
            values.append(("epoch", float(epoch)))
        if total:
            self.sink.progress(step, total)
        return self.sink.row(values, step, line)


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def _within(epochs_done: int, inner: re.Match[str], epochs: int | None) -> tuple[int, int | None]:
    """(step counted from the first epoch, how many there will be) of a step within an epoch."""
    done, size = _whole(inner[1] or inner[3] or inner[5]), inner[2] or inner[4] or inner[6]
    if not size:
        return done, None
    return epochs_done * _whole(size) + done, epochs * _whole(size) if epochs else None


def _pairs(text: str) -> list[tuple[str, float]]:
    """A name that is there twice is of the stage that was named last: "train loss=1 acc=0.9, val loss=2 acc=0.8"."""
    pairs = _tiles(text) or _joined(text) or _listed(text)
    if len(dict(pairs)) == len(pairs):
        return pairs
    names = [name for name, _ in pairs]
    staged, stage = [], ""
    for name, value in pairs:
        if found := _STAGED.match(name):
            stage = found[0]
        staged.append((stage + name if not found and names.count(name) > 1 else name, value))
    return staged


def _tiles(text: str) -> list[tuple[str, float]]:
    """The pairs of a text that is made of nothing else."""
    values, at = [], len(text) - len(text.lstrip(" ):],-|>"))
    while at < len(text):
        found = _TILE.match(text, at)
        if found is None or found[1].lower() in _WORDS:
            return []
        values.append((found[1], float(found[2])))
        at = found.end()
    return values


def _listed(text: str) -> list[tuple[str, float]]:
    """The pairs of a list between commas, bars or tabs, if half of its parts are pairs, and a number has a fraction:
    others are prose ("saving checkpoint 3, model 4")."""
    parts = [part for part in re.split(r",\s|\||\t", text.strip(" :|,-")) if part.strip()]
    found = [pair for part in parts if (pair := _PART.fullmatch(part)) and _WORDS.isdisjoint(pair[1].lower().split())]
    if len(parts) < 2 or 2 * len(found) < len(parts) or all(pair[2].isdecimal() for pair in found):
        return []
    return [(pair[1], float(pair[2])) for pair in found]


def _joined(text: str) -> list[tuple[str, float]]:
    """The pairs of a text that are joined by = or :, whatever stands between them."""
    values, behind = [], 0
    for found in _JOINED.finditer(text):
        name = _DELIMITER.split(text[max(behind, found.start() - 2 * _MAX_NAME) : found.start()])[-1].strip(" .:-")
        if ":" in name:
            name = _STAGE_BEFORE.sub(r"\1/", name, 1)  # "val: loss=0.6"
        behind = found.end()
        if name[:1].isalpha() and len(name) <= _MAX_NAME and name.count(" ") < 4 and not _CLOCK.search(name):
            values.append((name, float(found[1])))
    return values


FAMILY = Family(
    "plain",
    ("step", "Step", "STEP", "iter", "Iter", "ITER", "poch", "EPOCH", "pisode", "pdate"),
    PlainReader,
    order=90,
)
