"""Lines written by people's own scripts: a step, then names and numbers.

    Step 10 (samples: 40): loss=0.5000, reward=0.1000, lr=1.00e-05
    global_step 1/60 rollout_time 0.055s reward 0.1937 loss -0.07035
    Epoch [1/10], Step [100/600], Loss: 0.5                 step 100 of epoch 1: (1 - 1) * 600 + 100
    Train Epoch: 1 [640/60000 (1%)]  Loss: 2.29             if epochs count from 0, as in epoch 0: 0 * 60000 + 640
    Epoch: [0][  10/5005]  Loss 7.01 (7.10)                 PyTorch's examples, with tabs; also [0]  [ 10/5005]
    | epoch   1 |   200/ 2928 batches | lr 5.00 | loss 5.5  PyTorch's word_language_model
    epoch 001:    100 / 5000 loss=10.5, ppl=1500.2          fairseq
    Epoch 3: Train Loss: 0.5 Val Loss: 0.6                  names of several words; at the last batch of epoch 3, if
                                                            lines or progress bars that are read count its batches
    Ep 3 | Reward: 12.5                                     also "it", "round", "generation"; epoch_3, 第3轮
    Cost after iteration 100: 0.648                         the step after the name of the metric
    epoch 3 train loss 0.5 val loss 0.6                     names of several words and nothing else
    step 250: train loss 2.0123, val loss 2.1234            also between commas or bars (nanoGPT, llm.c)
    E007 | train loss 0.5                                   also num_steps, env_step, timestep, frame
    step 1.5k loss 0.5                                      step 1500: k, K for thousands, M for millions
    Época 3/20 - Pérdida: 0.5                               step and epoch in ten languages

The message begins with the step, or with at most three words before it. Names are kept as written, except that a line
of a validation ("Validation step 5: loss 0.3") gives val/<name>, because its names are those of the training. Names
and numbers are joined by "=", ":" or a blank. Blanks count only if the whole line consists of such pairs, or of two or
more parts between commas or bars, at least half of them pairs and one of these with a fraction.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Sink
from tuimon.formats.console.families._pairs import contains_a_metric, listed_pairs, metric_pairs, names_a_metric
from tuimon.formats.console.families._steps import COUNTED, EpochSteps

_MAX_LENGTH = 1 << 16
_BAR = "%|"
"""Marks a progress bar, after which metrics may be out of date; see progress_bar."""
_WHOLE = r"(\d{1,3}(?:,\d{3}){1,5}|\d{1,6}(?:\.\d{1,6})?[kKM]\b|\d{1,18})"
_COUNT = rf"\W{{0,4}}\s{{0,12}}(?<![\s:=([]-){_WHOLE}(?:\s?(?:/|of)\s?{_WHOLE})?(?![\w.]*\d|,\d{{3}}|(?:[kmb]|ms|s)\b)"
"""A non-negative integer (no fraction; "10k" is 10,000) and optionally the total."""
_COUNTER = (
    r"(?:(?:global|train(?:ing)?|update|optim\w*|num|env(?:ironment)?|agent|total)?[_ -]?"
    rf"(?:{COUNTED}|epoch|timestep|frame)s?|ep|it|e(?=\d))"
)
_LEAD = re.compile(
    rf"(?!\*\*Step \d)\W{{0,4}}((?:[A-Za-z_]{{1,20}}\W{{1,3}}){{0,3}}?)({_COUNTER})(?![a-z])_?{_COUNT}",
    re.IGNORECASE | re.ASCII,
)
"""Not "**Step 2:**", a heading in texts that language models write."""
_SECOND = re.compile(
    r"[\s,;|:\])-]{0,4}(?:[\[(]?"
    rf"(?:(?:global[_ ])?(?:step|iter(?:ation)?|batch)(?:s|_i(?:d|dx|ndex))?\b|i(?==)){_COUNT}"
    r"|\[\s{0,8}(\d{1,18})/\s{0,8}(\d{1,18})|\s{0,8}(\d{1,18}) / (\d{1,18})(?=\s)"
    r"|\s{0,8}(\d{1,18}) ?/\s{0,8}(\d{1,18}) batches\b)",
    re.IGNORECASE | re.ASCII,
)
_AFTER = re.compile(
    rf"([A-Za-z][\w -]{{0,40}}?) (?:at|after|in|for) (?:the )?(?:step|iter(?:ation)?|epoch|episode|update) #?{_COUNT}"
    rf"\s?(?:is\b|[:=,])?\s?({NUMBER})(?=[\s,;|]|$)",
    re.IGNORECASE | re.ASCII,
)
"""Cost after iteration 100: 0.648"""
_AT_BOTH = re.compile(
    r"([A-Za-z][\w -]{0,40}?) at epoch (\d{1,9}) and (?:iteration|step|batch) (\d{1,12}):? ?(?:is )?"
    rf"({NUMBER})(?=\s|$)",
    re.IGNORECASE | re.ASCII,
)
"""Loss at epoch 0 and iteration 500 is 0.219"""
_QUOTED = re.compile(r"['\"]([\w@./-]{1,60})['\"](?=:)", re.ASCII)
"""A name in a dictionary that is printed within a line."""
_BETWEEN = (" at ", " after ", " in ", " for ")
_CHINESE_STEP = re.compile(r"第 ?(\d{1,9}) ?(轮|步|回合|次迭代|个?epoch)")
_LANGUAGES = {
    "epoch": ("época", "epoca", "époque", "epoche", "эпоха", "エポック", "에포크", "에폭"),
    "iteration": ("iteración", "itération", "iteração", "итерация", "反復", "迭代"),
    "step": ("paso", "étape", "schritt", "шаг", "ステップ", "스텝", "步数"),
}
_TRANSLATIONS = {word: english for english, words in _LANGUAGES.items() for word in words}
_TRANSLATED = re.compile("|".join(map(re.escape, _TRANSLATIONS)) + r"(?=\W{0,4}\d)", re.IGNORECASE)
_FULL_WIDTH = str.maketrans({"：": ": ", "，": ", ", "；": "; ", "（": " (", "）": ") ", "｜": " | ", "＝": "="})
_SETTING = re.compile(
    r"\b(?:max|maximum|num|number|warm|warmup|every|per|decay|patience|accum\w*|remaining|target|fps)\b", re.IGNORECASE
)
"""Words before "steps" by which the number is a setting."""
_REPEATED = re.compile(r"\b(?:best|previous|resum\w{1,4}|(?:re)?load\w{0,4}|restor\w{1,4})\b", re.IGNORECASE)
"""Words before a step by which the line repeats what was logged at an earlier step."""
_SET = re.compile(
    r"(?:\w+[ _])*(?:lr|learning[ _]rate|wd|weight[ _]decay|momentum|gamma|betas?\d?|seed|batch[ _]?size|bs|steps?|"
    r"epochs?|warm\w*|iter(?:ation)?s|workers|gpus|devices|world[ _]size|param\w*|min[ _]delta|dropout)",
    re.IGNORECASE,
)
"""Names of settings: if a line like "steps: 1000" has no other pairs, the number is a setting too."""
_FACTORS = {"k": 1_000, "m": 1_000_000}
_STAGE = r"\b(val(?:id(?:ation)?)?|eval(?:uation)?|test)\b"
_SHORT = re.compile(
    r"ep|it|e|(?:\w+[_ -])?(?:round|generation|timestep|frame)s?|(?:num|env(?:ironment)?|agent|total)[_ -]?\w+"
)
"""Words that count steps only in lines with the name of a result of training."""
_VALIDATION = re.compile(_STAGE, re.IGNORECASE)
_VALIDATION_AFTER = re.compile(
    rf"[\s,;|:\[\])-]{{0,6}}{_STAGE}[^=:|\d\]]{{0,30}}[:|\]]\s{{0,4}}(?=[a-z])", re.IGNORECASE
)
"""A stage after the step that is not part of a name: "| valid on 'valid' subset | loss", but not "val loss: 0.5"."""


class PlainReader(LineReader):
    _first_epoch = 1
    _last_in_epoch = -1, 0
    """(epoch, step) of the last line that names both: lines about that whole epoch get this step."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._steps = EpochSteps()

    def read(self, line: Line) -> bool:
        text = line.message
        if not text.isascii():
            text = _CHINESE_STEP.sub(r"epoch \1", text.translate(_FULL_WIDTH))
            text = _TRANSLATED.sub(lambda word: _TRANSLATIONS[word[0].lower()], text)
        head = _LEAD.match(text) if len(text) <= _MAX_LENGTH and _BAR not in text else None
        if head is None or (_SHORT.fullmatch(head[2].lower()) and not contains_a_metric(text[head.end() :])):
            return self._read_after(text, line)
        if head[1].lower().endswith(_BETWEEN) and self._read_after(text, line):
            return True
        lead, kind, step, end = head[1], head[2].lower(), _integer(head[3]), head.end()
        if lead and (_SETTING.search(lead) or _REPEATED.search(lead)):
            return False
        total = _integer(head[4]) if head[4] else None
        epoch: int | None = None
        if "epoch" in kind or kind.startswith("iter"):
            inner = _SECOND.match(text, end)
            if inner and ("epoch" in kind or "step" in inner[0].lower()):
                end = inner.end()
                self._first_epoch = min(self._first_epoch, step)
                epoch, (step, total) = step, self._overall(step, inner, total)
                self._last_in_epoch = epoch, step
            elif "epoch" in kind and step == self._last_in_epoch[0]:
                epoch, (step, total) = step, (self._last_in_epoch[1], None)
        validation = _VALIDATION.search(lead) if lead else None
        if validation is None and (stage := _VALIDATION_AFTER.match(text, end)) and "train" not in text[end:].lower():
            validation, end = stage, stage.end()
        rest = text[end:]
        values = metric_pairs(_QUOTED.sub(r"\1", rest) if "{" in rest and "{" not in text[:end] else rest)
        if not values and " | " in rest and names_a_metric(listed := listed_pairs(rest)):
            values = listed
        if not values:
            return self._read_after(text, line)
        if epoch is None and "epoch" in kind and (place := self.sink.step_of_epoch(step, values)) is not None:
            epoch, (step, total) = step, (place, None)
        if kind[-1] == "s" and not total and all(_SET.fullmatch(name) for name, _ in values):
            return False
        if validation:
            word = validation[1].lower()
            prefix = "eval/" if word.startswith("eval") else "test/" if word == "test" else "val/"
            values = [(prefix + name, value) for name, value in values]
        elif epoch is not None:
            values.append(("epoch", float(epoch)))
        if total:
            self.sink.report_progress(step, total)
        return self.sink.add_row(values, step, line)

    def reads_alone(self, line: Line) -> bool:
        """Return False for lines that count epochs or iterations, whose steps depend on lines before them."""
        head = _LEAD.match(line.message)
        return head is None or not ("epoch" in head[2].lower() or head[2].lower().startswith("iter"))

    def _read_after(self, text: str, line: Line) -> bool:
        """Read a line whose step comes after the name of its metric."""
        if " and " in text and (both := _AT_BOTH.match(text)):
            epoch, step = int(both[2]), int(both[3])
            values = [(both[1], float(both[4])), ("epoch", float(epoch))]
            return self.sink.add_row(values, self._steps.overall(epoch, step), line)
        match = _AFTER.match(text)
        if match is None or _SETTING.search(match[1]) or _REPEATED.search(match[1]):
            return False
        if not contains_a_metric(match[1]) and "cost" not in match[1].lower():
            return False
        values = [(match[1], float(match[4])), *metric_pairs(text[match.end() :])]
        return self.sink.add_row(values, _integer(match[2]), line)

    def _overall(self, epoch: int, inner: re.Match[str], epochs: int | None) -> tuple[int, int | None]:
        """Return (step, total or None), counted from the first epoch, of a step within an epoch."""
        done, size = (next(filter(None, inner.groups()[part::2]), "") for part in (0, 1))
        if not size:
            return self._steps.overall(epoch, _integer(done)), None
        return (epoch - self._first_epoch) * _integer(size) + _integer(done), epochs * _integer(
            size
        ) if epochs else None


def end_of_step(message: str) -> int:
    """Return where the text after the step of a line begins; 0 if the line does not begin with a step."""
    head = _LEAD.match(message)
    return head.end() if head else 0


def _integer(text: str) -> int:
    factor = _FACTORS.get(text[-1:].lower())  # expressions ignore case
    return round(float(text[:-1]) * factor) if factor else int(text.replace(",", ""))


FAMILY = Family(
    "plain",
    (
        "step",
        "Step",
        "STEP",
        "iter",
        "Iter",
        "ITER",
        "poch",
        "EPOCH",
        "pisode",
        "pdate",
        "ound ",
        "eneration ",
        "Ep ",
        "ep ",
        "ep=",
        "it ",
        "第",
        "rame",
        *(f"E{digit}" for digit in range(10)),
        *("poca", "poque", "poche", "пох", "エポ", "에포", "에폭", "teraci", "térat", "teraç", "терац", "反復", "迭代"),
        *("aso ", "tape ", "chritt", "шаг", "Шаг", "ステップ", "스텝", "步数"),
    ),
    PlainReader,
    order=90,
)
