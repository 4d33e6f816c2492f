"""Hugging Face Trainer, TRL, LLaMA-Factory, ms-swift: each log call prints a dictionary on its own line.

    {'loss': -0.2292, 'grad_norm': 1.1403640508651733, 'epoch': 0.02}       transformers 4: numbers
    {'loss': '-0.2292', 'grad_norm': '1.14', 'epoch': '0.01562'}            from 5.0: texts of four digits
    {'loss': 0.5, …, 'global_step/max_steps': '5/30'}                       ms-swift: the step is in the row

Otherwise the row has no step, but the progress bar is drawn again right after it and shows the steps done (the bar
before the row lags). So a row is held back until the next bar, except a nested one, which counts the batches of an
evaluation; without bars, the epoch gives the step (_epoch_steps), or rows count from 1. Where no bar gives the step, it
continues at the interval of the rows before: when standard output is buffered and rows come in bursts, or when the run
was killed between row and bar or resumed in the same log. A flush gives held rows a guessed step: the one that they
would then have, or that of an unfinished bar; if later lines contradict the guess, it is disproved. A row whose epoch
shows that it was logged before the bar (standard output is buffered, the bar on standard error is not) has the step of
its epoch. Rows of an evaluation and the final summary have the step of the training row before them, unless a bar right
after them gives a later one. Some writers do not draw the bar again after a row: then the bar before it shows its step.
Where the bar after the first row is further than that before it, the row is held back until the second one, which shows
whether the steps before or after the rows are in the ratio of their epochs, or else multiples of the interval at which
the trainer logs.
Source: transformers/trainer_callback.py (ProgressCallback, PrinterCallback).
"""

from __future__ import annotations

from itertools import groupby

from msgspec import Struct

from tuimon import lazy_re as re
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
from tuimon.formats.console.families._epoch_steps import MARKS, EpochSteps, rounding

_KEYS = frozenset({"epoch", "loss", "eval_loss", "train_loss", "train_runtime", "reward", *STEP_KEYS})
_EVALUATION = re.compile(r"eval_|test_|predict_|train_runtime$")
_TRAINING_BAR = re.compile(r"(?:train\w*\s*:?)?", re.IGNORECASE)
_ROW = ("{", "'", '"')
"""First characters of a row, or of a line of a row printed over several lines."""
_MAX_HELD = 4096
_TOLERANCE = 0.25
"""Intervals by which an epoch, which is printed with few digits, may miss a multiple of the interval between rows."""
_DRIFT = 0.01
"""Fraction by which steps may miss the ratio of their epochs: the last batches of an epoch may not be a whole step."""
_MAX_LINES = 1000
"""Lines of a row that pprint has spread."""


class _Held(Struct):
    """A row whose step is not known yet."""

    values: list[Pair]
    line: Line
    training: bool
    """False for an evaluation or a summary, which has the step of the row before."""
    epoch: float | None
    before: int
    """Steps done by the bar before the row; negative without one."""
    after: int | None = None
    """Steps done by the bar after the row, if the row is held until it is known whether that is its step."""


class _Known(Struct, frozen=True):
    """State after a number of rows."""

    last_step: int = 0
    training_step: int = 0
    """Step of the last training row."""
    interval: int | None = None
    """Steps from one training row to the next."""
    epoch: float | None = None
    """Epoch of the last training row."""


class HFRowReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._held: list[_Held] = []
        self._guessed: list[int] = []
        """Steps with which the first of the held rows were given on a flush."""
        self._bar_step = -1
        """Steps done by the last bar; negative before the first bar."""
        self._bar_precedes: bool | None = None
        """Whether the bar before a row shows its step, not the one after it; None until two rows have been compared."""
        self._open_bar: int | None = None
        """Steps done by a bar whose line has not ended: it may still turn out to be nested."""
        self._known = _Known()
        self._epoch_steps = EpochSteps()
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
            if " = " in text:
                self._epoch_steps.read(text)
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
        self._held.append(_Held(values, line, training, epoch if isinstance(epoch, float) else None, self._bar_step))
        if self._bar_step < 0:
            if self._uses_epochs():
                self.sink.computed_count += training
                self._decide_interval()
            else:
                self.sink.numbered_count += training
                self._release(None)
        elif len(self._held) >= _MAX_HELD:
            self._release(None)
        elif (
            self._bar_precedes and len(self._held) == 1 and (not training or self._bar_step > self._known.training_step)
        ):
            self._release(self._bar_step)
        return True

    def _uses_epochs(self) -> bool:
        """Return whether the steps of the held rows are computed from their epochs."""
        usable = self._bar_step < 0 and self._epoch_steps.is_usable
        return usable and all(row.epoch is not None for row in self._held)

    def _decide_interval(self) -> None:
        """Release the held rows if it is known now whether steps can be computed from their epochs."""
        epochs = [row.epoch or 0.0 for row in self._held if row.training]
        if self._epoch_steps.interval is None and epochs:
            self._epoch_steps.decide(epochs)
        if self._epoch_steps.interval == 0:
            self.sink.numbered_count += self.sink.computed_count
            self.sink.computed_count = 0
        if self._epoch_steps.interval is not None or len(self._held) >= _MAX_HELD:
            self._release(None)

    def _read_bar(self, line: Line) -> None:
        bar = line.bar
        if bar is None or line.nested or not _TRAINING_BAR.fullmatch(bar["name"].strip()):
            return
        done = int(bar["done"])
        if not line.ended:
            self._open_bar = done if done >= self._bar_step else None
            if done > self._bar_step:
                self.sink.note_bar(done, int(bar["total"]))
            return
        if done < self._bar_step:  # another training, or the same one resumed, writes into the same log
            if self._held:
                self._release(None)
            self._known = _Known()
        if self._bar_step < 0 and self._held:
            self._release(None)
        self._bar_step = done
        if self._held:
            if self._bar_precedes is not None or self._compare(done):
                self._release(done)
            self.sink.report_progress(done, int(bar["total"]))
        elif self._bar_precedes:
            self.sink.report_progress(done, int(bar["total"]))
        self.sink.note_bar(done, int(bar["total"]))
        self.sink.note_rate(int(bar["total"]), bar["inside"])

    def _compare(self, done: int) -> bool:
        """Find out from the first two training rows and the bars around each whether the bar before a row has its step.
        Return whether the steps of the held rows are known now. A bar that is drawn again has the row's step itself."""
        new = [row for row in self._held if row.after is None]
        for row in new:
            row.after = done
        rows = [row for row in self._held if row.training]
        if not rows or rows[-1].after != done:
            return not rows
        if any(row.after is not None and not 0 < row.before < row.after for row in rows):
            self._bar_precedes = False
        elif len(rows) > 1:
            self._bar_precedes = _bar_precedes(rows[0], rows[1])
        return self._bar_precedes is not None

    def flush(self) -> None:
        known, guessed = len(self._guessed), self._guessed
        self._guessed = self._steps_of_held(self._open_bar)[0]
        self._open_bar = None
        if self._guessed[:known] != guessed:
            self.sink.disproved = True
        for row, step in zip(self._held[known:], self._guessed[known:], strict=True):
            self.sink.guess_row(row.values, step, row.line)

    def _release(self, done: int | None) -> None:
        """Add the held rows. The last of them has step `done`, unless that is None (unknown) or its bar is known."""
        steps, self._known = self._steps_of_held(done)
        known = len(self._guessed)
        if steps[:known] != self._guessed:
            self.sink.disproved = True
        for index, (row, step) in enumerate(zip(self._held, steps, strict=True)):
            if index < known:
                self.sink.confirm_row(row.values, step, row.line)
            else:
                self.sink.add_row(row.values, step, row.line, counted=done is None and row.after is None)
        self._held, self._guessed = [], []

    def _steps_of_held(self, done: int | None) -> tuple[list[int], _Known]:
        """Return the steps of the held rows, and what is known after them."""
        if self._uses_epochs():
            return self._steps_by_header()
        before, steps = self._known, list[int]()
        for after, group in groupby(self._held, key=lambda row: row.after):
            rows = list(group)
            if after is not None and self._bar_precedes and rows[0].training:
                after = rows[0].before
            part, self._known = self._steps_of_group(rows, done if after is None else after)
            steps += part
        known, self._known = self._known, before
        return steps, known

    def _steps_by_header(self) -> tuple[list[int], _Known]:
        """Return the steps that the epochs of the held rows give at the steps per epoch that the trainer printed."""
        steps, last, epoch = list[int](), self._known.last_step, self._known.epoch
        epochs = [row.epoch or 0.0 for row in self._held if row.training]
        interval = self._epoch_steps.interval or (self._epoch_steps.decide(epochs) if epochs else 0) or 1
        for row in self._held:
            expected = last + interval if row.training else last
            last = self._epoch_steps.step(row.epoch or 0.0, interval, expected)
            steps.append(last)
            epoch = row.epoch if row.training else epoch
        if self._held:
            self.sink.report_progress(last, self._epoch_steps.total)
        return steps, _Known(last, last, interval, epoch)

    def _steps_of_group(self, held: list[_Held], done: int | None) -> tuple[list[int], _Known]:
        """Return the steps of rows without a bar between them, and what is known after them."""
        known = self._known
        last, last_training, interval, epoch = known.last_step, known.training_step, known.interval, known.epoch
        training_steps = iter(self._training_steps([row for row in held if row.training], done))
        steps: list[int] = []
        for row in held:
            if row.training:
                step = next(training_steps)
                if last_training and step > last_training:
                    interval = step - last_training
                last = last_training = step
                epoch = row.epoch
            elif row is held[-1] or (done is not None and not last):
                last = max(last, self._bar_step if done is None else done)
            steps.append(last)
        return steps, _Known(last, last_training, interval, epoch)

    def _training_steps(self, rows: list[_Held], done: int | None) -> list[int]:
        count = len(rows)
        interval = self._known.interval or 1
        by_epoch = self._steps_by_epoch(rows)
        if by_epoch and (done is None or by_epoch[-1] <= done):
            return by_epoch
        if done is None and count == 1:
            return [max(self._known.training_step + interval, self._bar_step)]
        if done is None or not rows:
            return [self._known.training_step + interval * (index + 1) for index in range(count)]
        last_epoch = rows[-1].epoch
        if self._known.interval is None and last_epoch and all(row.epoch is not None for row in rows):
            return [round(done * (row.epoch or 0.0) / last_epoch) for row in rows]
        return [max(0, done - interval * (count - 1 - index)) for index in range(count)]

    def _steps_by_epoch(self, rows: list[_Held]) -> list[int]:
        """Return the steps that the epochs of the rows give at the steps per epoch so far. Empty if the epochs are not
        known, do not rise, or are not whole intervals apart, for example because they are rounded."""
        step, epoch = self._known.training_step, self._known.epoch
        if not self._known.interval or not step or not epoch or epoch <= 0:
            return []
        intervals_per_epoch = step / epoch / self._known.interval
        steps: list[int] = []
        before = 0
        for row in rows:
            passed = ((row.epoch or 0.0) - epoch) * intervals_per_epoch
            if not before < round(passed) or abs(passed - round(passed)) > _TOLERANCE:
                return []
            before = round(passed)
            steps.append(step + before * self._known.interval)
        return steps


def _bar_precedes(first: _Held, second: _Held) -> bool:
    """Return whether the bars before two training rows, rather than the later ones after them, show their steps.

    Steps are in the ratio of the epochs. If that holds for both pairs of bars or for none, for example because the
    epochs are rounded, the trainer logs at multiples of an interval: the bars 10 and 20 show such steps rather than 20
    and 30 do, and 5 and 10 rather than the next steps 6 and 11."""
    before = first.before, second.before
    after = first.after or 0, second.after or 0
    fits = _in_ratio_of_epochs(before, first, second)
    if fits != _in_ratio_of_epochs(after, first, second):
        return fits
    interval = before[1] - before[0]
    if before == (after[0] - 1, after[1] - 1):
        return before[0] == interval or (interval > 1 and before[0] % interval == 0)
    return before[0] == interval and before[1] == after[0] != after[1] - after[0]


def _in_ratio_of_epochs(steps: tuple[int, int], first: _Held, second: _Held) -> bool:
    """Return whether the steps are in the ratio of the epochs as far as these are known."""
    if not first.epoch or not second.epoch:
        return True
    difference = abs(steps[0] * second.epoch - steps[1] * first.epoch)
    return difference <= rounding(first.epoch, second.epoch) * sum(steps) + _DRIFT * steps[1] * first.epoch


FAMILY = Family("hf-rows", ("{'", '{"', "': ", "it/s", "s/it", *MARKS), HFRowReader, order=24, self_closing=True)
