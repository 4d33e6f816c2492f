"""Hugging Face Trainer, TRL, LLaMA-Factory, ms-swift: each log call prints a dictionary on its own line.

    {'loss': -0.2292, 'grad_norm': 1.1403640508651733, 'epoch': 0.02}       transformers 4: numbers
    {'loss': '-0.2292', 'grad_norm': '1.14', 'epoch': '0.01562'}            from 5.0: texts of four digits
    {'loss': 0.5, …, 'global_step/max_steps': '5/30'}                       ms-swift: the step is in the row

Otherwise the row has no step, but the progress bar is drawn again right after it and shows the steps done (the bar
before the row lags). So a row is held back until the next bar, except a nested one, which counts the batches of an
evaluation; without bars, rows count from 1. Where no bar gives the step, it continues at the interval of the rows
before: when standard output is buffered and rows come in bursts, or when the run was killed between row and bar or
resumed in the same log. A flush gives held rows a guessed step: the one that they would then have, or that of an
unfinished bar; if later lines contradict the guess, it is disproved. A row whose epoch shows that it was logged before
the bar (standard output is buffered, the bar on standard error is not) has the step of its epoch. Rows of an evaluation
and the final summary have the step of the training row before them, unless a bar right after them gives a later one.
Source: transformers/trainer_callback.py (ProgressCallback, PrinterCallback).
"""

from __future__ import annotations

import re

from msgspec import Struct

from tuimon.formats._shared.rows import STEP_KEYS, step_of
from tuimon.formats.console.families import (
    Family,
    Line,
    LineReader,
    Pair,
    Sink,
    numbers,
    printed_dict,
)

_KEYS = frozenset({"epoch", "loss", "eval_loss", "train_loss", "train_runtime", "reward", *STEP_KEYS})
_EVALUATION = re.compile(r"eval_|test_|predict_|train_runtime$")
_TRAINING_BAR = re.compile(r"(?:train\w*\s*:?)?", re.IGNORECASE)
_ROW = ("{", "'", '"')
"""First characters of a row, or of a line of a row printed over several lines."""
_MAX_HELD = 4096
_TOLERANCE = 0.25
"""Intervals by which an epoch, which is printed with few digits, may miss a multiple of the interval between rows."""
_MAX_LINES = 1000
"""Lines of a row that pprint has spread."""


class _Held(Struct):
    """A row whose step is not known yet."""

    values: list[Pair]
    line: Line
    training: bool
    """False for an evaluation or a summary, which has the step of the row before."""
    epoch: float | None


class HFRowReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._held: list[_Held] = []
        self._guessed: list[int] = []
        """Steps with which the first of the held rows were given on a flush."""
        self._bar_step = -1
        """Steps done by the last bar; negative before the first bar."""
        self._open_bar: int | None = None
        """Steps done by a bar whose line has not ended: it may still turn out to be nested."""
        self._last_step = 0
        self._last_training_step = 0
        self._interval: int | None = None
        """Steps from one training row to the next."""
        self._last_epoch: float | None = None
        """Epoch of the last training row."""
        self._row_lines: list[str] = []
        """First lines of a row that is printed over several."""

    def interrupt(self) -> None:
        super().interrupt()
        self._held, self._guessed, self._row_lines, self._open_bar = [], [], [], None

    def read(self, line: Line) -> bool:
        text = line.message
        dictionary = text.startswith(_ROW)
        if not dictionary or text is not line.drawn:
            self._read_bar(line)
        if not dictionary:
            return False
        if text[0] == "{":
            self._row_lines = []
        elif not self._row_lines:
            return False
        if text.endswith(",") and len(self._row_lines) < _MAX_LINES:
            self._row_lines.append(text)
            return True
        row = printed_dict(" ".join([*self._row_lines, text]), whole=True)
        if row is not None or line.ended:
            self._row_lines = []
        return row is not None and not _KEYS.isdisjoint(row) and self._read_row(row, line)

    def _read_row(self, row: dict[str, float | str], line: Line) -> bool:
        values = list(numbers(row))
        for key in STEP_KEYS:
            known = step_of(row[key]) if key in row and key != "epoch" else None
            if known:
                step, total = known
                self.sink.report_progress(step, total or 0)
                return self.sink.add_row(((name, value) for name, value in values if name != key), step, line)
        if not values:
            return False
        epoch = row.get("epoch")
        training = "train_runtime" not in row and not all(_EVALUATION.match(key) or key == "epoch" for key in row)
        self.sink.held_count += 1
        self._held.append(_Held(values, line, training, epoch if isinstance(epoch, float) else None))
        if self._bar_step < 0 or len(self._held) >= _MAX_HELD:
            self._release(None)
        return True

    def _read_bar(self, line: Line) -> None:
        bar = line.bar
        if bar is None or line.nested or not _TRAINING_BAR.fullmatch(bar["name"].strip()):
            return
        done = int(bar["done"])
        if not line.ended:
            self._open_bar = done if done >= self._bar_step else None
            return
        if done < self._bar_step:  # another training, or the same one resumed, writes into the same log
            if self._held:
                self._release(None)
            self._last_step, self._last_training_step, self._interval, self._last_epoch = 0, 0, None, None
        self._bar_step = done
        if self._held:
            self._release(done)
            self.sink.report_progress(done, int(bar["total"]))

    def flush(self) -> None:
        known, guessed = len(self._guessed), self._guessed
        self._guessed = self._steps_of_held(self._open_bar)[0]
        self._open_bar = None
        if self._guessed[:known] != guessed:
            self.sink.disproved = True
        for row, step in zip(self._held[known:], self._guessed[known:], strict=True):
            self.sink.guess_row(row.values, step, row.line)

    def _release(self, done: int | None) -> None:
        """Add the held rows. The last of them has step `done`, unless that is None (unknown)."""
        steps, self._last_step, self._last_training_step, self._interval = self._steps_of_held(done)
        known = len(self._guessed)
        if steps[:known] != self._guessed:
            self.sink.disproved = True
        for index, (row, step) in enumerate(zip(self._held, steps, strict=True)):
            if index < known:
                self.sink.confirm_row(row.values, step)
            else:
                self.sink.add_row(row.values, step, row.line, counted=done is None)
            if row.training:
                self._last_epoch = row.epoch
        self._held, self._guessed = [], []

    def _steps_of_held(self, done: int | None) -> tuple[list[int], int, int, int | None]:
        """Return the steps of the held rows, and the last step, last training step and interval after them."""
        last, last_training, interval = self._last_step, self._last_training_step, self._interval
        training_steps = iter(self._training_steps([row for row in self._held if row.training], done))
        steps: list[int] = []
        for row in self._held:
            if row.training:
                step = next(training_steps)
                if last_training and step > last_training:
                    interval = step - last_training
                last = last_training = step
            elif row is self._held[-1] or (done is not None and not last):
                last = max(last, self._bar_step if done is None else done)
            steps.append(last)
        return steps, last, last_training, interval

    def _training_steps(self, rows: list[_Held], done: int | None) -> list[int]:
        count = len(rows)
        interval = self._interval or 1
        by_epoch = self._steps_by_epoch(rows)
        if by_epoch and (done is None or by_epoch[-1] <= done):
            return by_epoch
        if done is None and count == 1:
            return [max(self._last_training_step + interval, self._bar_step)]
        if done is None or not rows:
            return [self._last_training_step + interval * (index + 1) for index in range(count)]
        last_epoch = rows[-1].epoch
        if self._interval is None and last_epoch and all(row.epoch is not None for row in rows):
            return [round(done * (row.epoch or 0.0) / last_epoch) for row in rows]
        return [max(0, done - interval * (count - 1 - index)) for index in range(count)]

    def _steps_by_epoch(self, rows: list[_Held]) -> list[int]:
        """Return the steps that the epochs of the rows give at the steps per epoch so far. Empty if the epochs are not
        known, do not rise, or are not whole intervals apart, for example because they are rounded."""
        step, epoch = self._last_training_step, self._last_epoch
        if not self._interval or not step or not epoch or epoch <= 0:
            return []
        intervals_per_epoch = step / epoch / self._interval
        steps: list[int] = []
        before = 0
        for row in rows:
            passed = ((row.epoch or 0.0) - epoch) * intervals_per_epoch
            if not before < round(passed) or abs(passed - round(passed)) > _TOLERANCE:
                return []
            before = round(passed)
            steps.append(step + before * self._interval)
        return steps


FAMILY = Family("hf-rows", ("{'", '{"', "': ", "it/s", "s/it"), HFRowReader, order=24, self_closing=True)
