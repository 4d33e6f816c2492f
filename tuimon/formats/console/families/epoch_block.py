"""People's own scripts: the epoch in a line of its own, then lines of its metrics.

    Epoch: 3/30                                        Epoch 3/24
    Train Loss: 5.94 - Train Perplexity: 380           ----------
    Val Loss: 5.31 | Val. PPL: 202                     train Loss: 0.2853 Acc: 0.8852

    Epoch 1/3
      Batch 10/12 - loss: 0.52, acc: 0.81              step 10 of epoch 1: (1 - 1) * 12 + 10

    Training loss ........ 0.5                         also │ train_loss │ 0.5 │, a table of names and values
    Validation loss: 0.0137                            outside a block: of the row before, whatever its step

A line counts if it consists of names and numbers, one name is a result of training and one number has a fraction. It
belongs to the epoch, or to the step of a row logged since. A name without a stage ("Acc") gets that of its line
("train Acc"). "Test set: Average loss: 0.0493, Accuracy:
9833/10000 (98%)", of PyTorch's example for MNIST, gives test/Average loss and test/Accuracy, the fraction.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink
from tuimon.formats.console.families._pairs import FRACTION, contains_a_metric, metric_pairs, names_a_metric
from tuimon.formats.console.families._steps import EpochSteps

_HEAD = re.compile(
    r"(?:\W{0,80}|Starting |Begin(?:ning)? )(?:training )?epoch\s{0,4}[:#]?\s{0,4}\[?(\d{1,9})\]?"
    r"(?:\s?(?:/|of)\s?\[?(\d{1,9})\]?)?"
    r"(?: ?[:|.,-]? ?(?:Epoch )?(?:took|time)\b[^a-z]{0,4}\d[^=]{0,40}| started| completed| finished)?\W{0,80}",
    re.IGNORECASE | re.ASCII,
)
_STAGE = re.compile(
    r"\W{0,8}(train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test)(?: set| results?)?[ :_.-]", re.IGNORECASE
)
_VALIDATED = re.compile(r"\W{0,4}(?:val(?:id(?:ation)?)?|eval(?:uation)?|test|dev)[ _.:]", re.IGNORECASE)
_COUNTER = re.compile(r"\b(?:step|iter|batch|update|episode|best|target|init\w*|previous|patience)", re.IGNORECASE)
"""Names of lines about something else than this epoch."""
_STAGE_WORD = re.compile(r"train|val|eval|test", re.IGNORECASE)
_HEADING = re.compile(
    r"\W{0,8}(train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test) (?:set|results?|metrics)?:\s", re.IGNORECASE
)
_PAIR = re.compile(r"[A-Za-z][\w@./()-]{0,40}(?:[ .][\w@./()-]{1,40}){0,4}\s{0,8}[:=]?\s{0,8}$", re.ASCII)
_VALUE = re.compile(
    r"(?<![\w.])[+-]?(?:\d[\d,]*+\.?\d*+(?:[eE][+-]?\d++)?+|nan|inf)(?![\w.]*\d)\s?(?:%|ms|s)?",
    re.IGNORECASE | re.ASCII,
)
_FRACTION = re.compile(r"(?<![\d.])(\d{1,12})/(\d{1,12})(?: \(\d{1,3}(?:\.\d{1,6})?%\))?(?![\d.])", re.ASCII)
_COUNTED = re.compile(r"\(\d{1,12}/\d{1,12}\)", re.ASCII)
"""The counts behind a share: "accuracy: 20.78%, (512/2464)"."""
_BATCH = re.compile(
    r"\W{0,8}(?:mini-?)?batch(?:es)?\W{0,4}\s{0,8}(\d{1,12})(?:\s?(?:/|of)\s?(\d{1,12}))?(?![\w.]*\d)", re.IGNORECASE
)
_ROW_OF_TABLE = re.compile(r"[|│┃║]?\s{0,80}([^|│┃║]{1,80}?)\s{0,80}[|│┃║]\s{0,80}([^\s|│┃║]{1,40})\s{0,80}[|│┃║]")
"""A name and a value between bars."""
_LEADERS = re.compile(r"(?<=\w) ?\.{3,200} ?(?=[+-]?(?:\d|nan|inf))", re.IGNORECASE)
"""Dots between a name and its value."""
_TEST_SET = re.compile(r"\W{0,2}(test|val\w*|train\w*) set: Average loss: ", re.IGNORECASE)
_MAX_LINE = 400
_MAX_BLOCK = 200
"""Lines after the head of an epoch; later ones must name a loss."""


class EpochBlockReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._epoch: int | None = None
        self._rows_before = 0
        """Number of rows of the sink when the epoch began."""
        self._first_epoch: int | None = None
        self._steps = EpochSteps()
        self._precede = False
        """Whether lines of validations may precede the row of their step."""

    def interrupt(self) -> None:
        super().interrupt()
        self._epoch = None

    def read(self, line: Line) -> bool:
        text = line.message
        if len(text) > _MAX_LINE:
            return False
        if "poch" in text or "EPOCH" in text:
            if (match := _HEAD.fullmatch(text)) is not None:
                self._epoch, self._rows_before = int(match[1]), self.sink.row_count
                self.lines_awaited = _MAX_BLOCK
                if match[2] and int(match[1]) <= int(match[2]):
                    self.sink.report_progress(int(match[1]), int(match[2]))
            return False
        if match := _TEST_SET.match(text):
            return self._test_set(match, line)
        if match := _BATCH.match(text):
            return self._batch(match, line)
        if not contains_a_metric(text) or not FRACTION.search(text):
            return False
        if self._epoch is None:
            return self._read_validation(text, line)
        row = _row(text)
        if not row or not names_a_metric(row) or any(_COUNTER.search(name) for name, _ in row):
            return False
        own = self.sink.row_count == self._rows_before or self.sink.step is None
        used = self.sink.add_row(row, self._epoch if own else self.sink.step, line, keep_step=own)
        if own:
            self._rows_before = self.sink.row_count
        return used

    def _read_validation(self, text: str, line: Line) -> bool:
        """Read a line of a validation outside a block; it belongs to the row before it. If the first one precedes all
        rows, none is read: the rows that they belong to may follow them."""
        if _VALIDATED.match(text) is None or not (row := _row(text)) or not names_a_metric(row):
            return False
        if self.sink.row_count == 0:
            self._precede = True
        if self._precede or self.sink.step is None:
            return False
        return self.sink.add_row(row, None, line)

    def _batch(self, match: re.Match[str], line: Line) -> bool:
        epoch, batch = self._epoch or 0, int(match[1])
        values = metric_pairs(line.message[match.end() :])
        if not names_a_metric(values):
            return False
        if self._first_epoch is None or epoch < self._first_epoch:
            self._first_epoch = epoch
        size = int(match[2]) if match[2] else 0
        step = (epoch - self._first_epoch) * size + batch if size else self._steps.overall(epoch, batch)
        return self.sink.add_row([*values, ("epoch", float(epoch))] if self._epoch is not None else values, step, line)

    def _test_set(self, match: re.Match[str], line: Line) -> bool:
        prefix = match[1].lower() + "/"
        text = line.message[match.end(1) + len(" set: ") :]
        fraction = _FRACTION.search(text)
        values = [
            (prefix + name, value) for name, value in metric_pairs(text[: fraction.start()] if fraction else text)
        ]
        if fraction and int(fraction[2]) >= max(1, int(fraction[1])):
            values.append((prefix + "Accuracy", int(fraction[1]) / int(fraction[2])))
        return self.sink.add_row(values, self._epoch if self.sink.step is None else self.sink.step, line)


def _row(text: str) -> list[Pair]:
    """Return the pairs of a line that consists of nothing else."""
    if cells := _ROW_OF_TABLE.fullmatch(text):
        text = f"{cells[1]}: {cells[2]}"
    text = _LEADERS.sub(": ", text)
    heading = _HEADING.match(text)
    body = _COUNTED.sub("", text[heading.end() :] if heading else text)
    rest = body
    for part in _VALUE.split(rest)[:-1]:
        if not _PAIR.search(part.strip(" \t,;|-(*)=>") or "x"):
            return []
    tail = _VALUE.split(rest)[-1].strip(" \t,;|-).*%")
    if tail:
        return []
    pairs = metric_pairs(body)
    stage = _STAGE.match(text)
    if stage is None:
        return pairs
    joint = "/" if heading else " "
    return [(name if _STAGE_WORD.match(name) else f"{stage[1]}{joint}{name}", value) for name, value in pairs]


FAMILY = Family(
    "epoch-block",
    (
        *(
            "poch",
            "EPOCH",
            "atch ",
            "oss: ",
            "oss=",
            "oss ",
            "alidation ",
            "ccuracy: ",
            "ccuracy=",
            "Val ",
            "Dev ",
            "Test ",
        ),
    ),
    EpochBlockReader,
    order=95,
)
