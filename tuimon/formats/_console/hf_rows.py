"""Hugging Face Trainer, TRL, LLaMA-Factory, ms-swift: a dictionary a log, by itself on a line.

    {'loss': -0.2292, 'grad_norm': 1.1403640508651733, 'epoch': 0.02}       transformers 4: numbers
    {'loss': '-0.2292', 'grad_norm': '1.14', 'epoch': '0.01562'}            from 5.0: texts of four digits
    {'loss': 0.5, …, 'global_step/max_steps': '5/30'}                       ms-swift: the step is in the row

No step is in the row, but the progress bar is drawn again right behind it and then counts the step just done (the bar
before lags). So a row waits for the next bar, but not for that of an evaluation, which is drawn below it and counts
batches; where there are no bars, rows count from 1. What is not known for sure goes on at the interval of the rows
before: when standard output is buffered and rows come in bursts, when the run was killed between row and bar, or begun
again in the same log. On a flush a row that waits is given at the step that it would then have, or that a bar says
whose end has not come; what comes later and says otherwise disproves it. Rows of an evaluation and of the end have the
step of the training row before, where no bar right behind them says better.
Source: transformers/trainer_callback.py (ProgressCallback, PrinterCallback).
"""

from __future__ import annotations

import re

from msgspec import Struct

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import numbers, printed_dict
from tuimon.formats._console.progress_bar import BAR
from tuimon.formats._rows import STEP_KEYS, step_of

_KEYS = frozenset({"epoch", "loss", "eval_loss", "train_loss", "train_runtime", "reward", *STEP_KEYS})
_APART = re.compile(r"eval_|test_|predict_|train_runtime$")
_TRAINING = re.compile(r"(?:train\w*\s*:?)?", re.IGNORECASE)
_ROW = ("{", "'", '"')
"""What a row, or a line of one, begins with."""
_MAX_WAITING = 4096
_MAX_LINES = 1000
"""Of a row that pprint has spread."""


class _Waiting(Struct):
    """A row whose step is not known yet."""

    values: list[tuple[str, float]]
    line: Line
    apart: bool
    """Not of a training step: it has the step of the row before."""
    epoch: float | None


class HFRowReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._waiting: list[_Waiting] = []
        self._guessed: list[int] = []
        """Steps at which the first of them were given on a flush."""
        self._drawn = -1
        """Steps done by the last bar; below 0: there was none."""
        self._open_bar: int | None = None
        """Steps done by a bar whose end has not come: it may yet turn out to be nested."""
        self._last = 0
        self._trained = 0
        """The last step of a training row, and how far it is from there to the next."""
        self._interval: int | None = None
        self._begun: list[str] = []
        """Lines of a row that is printed over several."""

    def read(self, line: Line) -> bool:
        text = line.message
        dictionary = text.startswith(_ROW)
        if not dictionary or text is not line.drawn:
            self._bar(line)
        if not dictionary:
            return False
        if text[0] == "{":
            self._begun = []
        elif not self._begun:
            return False
        if text.endswith(",") and len(self._begun) < _MAX_LINES:
            self._begun.append(text)
            return True
        row = printed_dict(" ".join([*self._begun, text]))
        if row is not None or line.ended:
            self._begun = []
        return row is not None and not _KEYS.isdisjoint(row) and self._row(row, line)

    def _row(self, row: dict[str, float | str], line: Line) -> bool:
        values = list(numbers(row))
        for key in STEP_KEYS:
            found = step_of(row[key]) if key in row and key != "epoch" else None
            if found:
                step, total = found
                self.sink.progress(step, total or 0)
                return self.sink.row(((name, value) for name, value in values if name != key), step, line)
        if not values:
            return False
        epoch = row.get("epoch")
        apart = all(_APART.match(key) or key == "epoch" for key in row) or "train_runtime" in row
        self.sink.kept += 1
        self._waiting.append(_Waiting(values, line, apart, epoch if isinstance(epoch, float) else None))
        if self._drawn < 0 or len(self._waiting) >= _MAX_WAITING:
            self._give(None)
        return True

    def _bar(self, line: Line) -> None:
        found = BAR.match(line.drawn)
        if found is None or line.nested or not _TRAINING.fullmatch(found["name"].strip()):
            return
        done = int(found["done"])
        if not line.ended:
            self._open_bar = done if done >= self._drawn else None
            return
        if done < self._drawn:
            self._begin_anew()
        self._drawn = done
        if self._waiting:
            self._give(done)
            self.sink.progress(done, int(found["total"]))

    def _begin_anew(self) -> None:
        """The bar goes back: another training, or the same one resumed, writes into the same log."""
        if self._waiting:
            self._give(None)
        self._last, self._trained, self._interval = 0, 0, None

    def flush(self) -> None:
        at, given = len(self._guessed), self._guessed
        self._guessed = self._placed(self._open_bar)[0]
        self._open_bar = None
        if self._guessed[:at] != given:
            self.sink.disproved = True
        for row, step in zip(self._waiting[at:], self._guessed[at:], strict=True):
            self.sink.guess(row.values, step, row.line)

    def _give(self, done: int | None) -> None:
        """Gives the rows that wait; the last of them is of step `done`, where that is known."""
        steps, self._last, self._trained, self._interval = self._placed(done)
        known = len(self._guessed)
        if steps[:known] != self._guessed:
            self.sink.disproved = True
        for index, (row, step) in enumerate(zip(self._waiting, steps, strict=True)):
            if index < known:
                self.sink.confirm(row.values, step)
            else:
                self.sink.row(row.values, step, row.line, counted=done is None)
        self._waiting, self._guessed = [], []

    def _placed(self, done: int | None) -> tuple[list[int], int, int, int | None]:
        """The steps of the rows that wait; the last step, that of a training row, and the interval between these,
        behind them."""
        last, trained, interval = self._last, self._trained, self._interval
        training = self._steps([row for row in self._waiting if not row.apart], done)
        steps: list[int] = []
        for row in self._waiting:
            if not row.apart:
                step = training.pop(0)
                if trained and step > trained:
                    interval = step - trained
                last = trained = step
            elif row is self._waiting[-1] or (done is not None and not last):
                last = max(last, self._drawn if done is None else done)
            steps.append(last)
        return steps, last, trained, interval

    def _steps(self, rows: list[_Waiting], done: int | None) -> list[int]:
        count = len(rows)
        interval = self._interval or 1
        if done is None and count == 1:
            return [max(self._trained + interval, self._drawn)]
        if done is None or not rows:
            return [self._trained + interval * (index + 1) for index in range(count)]
        last = rows[-1].epoch
        if self._interval is None and last and all(row.epoch is not None for row in rows):
            return [round(done * (row.epoch or 0.0) / last) for row in rows]
        return [max(0, done - interval * (count - 1 - index)) for index in range(count)]


FAMILY = Family("hf-rows", ("{'", '{"', "': ", "it/s", "s/it"), HFRowReader, order=24, closes=True)
