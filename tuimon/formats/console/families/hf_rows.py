"""Hugging Face Trainer, TRL, LLaMA-Factory, ms-swift: each log call prints a dictionary on its own line.

    {'loss': -0.2292, 'grad_norm': 1.1403640508651733, 'epoch': 0.02}       transformers 4: numbers
    {'loss': '-0.2292', 'grad_norm': '1.14', 'epoch': '0.01562'}            from 5.0: texts of four digits
    {'loss': 0.5, …, 'global_step/max_steps': '5/30'}                       ms-swift: the step is in the row

The step of a row is, in this order:

- the step that is in the row
- the steps done by the bar on the line before it, unless a row above has the same metrics, or the log draws its bars
  after the rows, as tqdm.write does: it shows that by a row below the bar 0/100, or by a bar that is drawn twice
- in a log whose rows went through a buffer, as without `python -u`, the number of the row times the steps between two
  rows: such a log begins with several rows between two bars of the same step
- the steps done by the next progress bar of the training, which is drawn again after each row; of several rows before
  one bar each has the step in the ratio of the epochs
- in a log without bars, or with none but that of step 0, the one that the epoch gives at the steps per epoch that the
  trainer has printed (_epoch_steps)
- the number of the row

A row is held until its step is known, or the log has ended, and no row is taken back. An evaluation and the final
summary have the step of the training row before them, unless a bar follows at once.
Source: transformers/trainer_callback.py (ProgressCallback, PrinterCallback).
"""

from __future__ import annotations

from math import gcd

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.formats._shared.rows import STEP_KEYS, step_of
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, numbers, printed_dict
from tuimon.formats.console.families._epoch_steps import MARKS, EpochSteps

_KEYS = frozenset({"epoch", "loss", "eval_loss", "train_loss", "train_runtime", "reward", *STEP_KEYS})
_EVALUATION = re.compile(r"eval_|test_|predict_|train_runtime$")
_TRAINING_BAR = re.compile(r"(?:train\w*\s*:?)?", re.IGNORECASE)
_ROW = ("{", "'", '"')
"""First characters of a row, or of a line of a row printed over several lines."""
_MAX_HELD = 4096
_MAX_LINES = 1000
"""Lines of a row that pprint has spread."""


class _Held(Struct):
    """A row whose step is not known yet."""

    values: list[Pair]
    line: Line
    training: bool
    """False for an evaluation or a summary."""
    epoch: float | None


class HFRowReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._held: list[_Held] = []
        self._bar_step = -1
        """Steps done by the last bar; negative before the first one."""
        self._total = 0
        """Total of the bars of the training."""
        self._bar_end = -1
        """Offset behind the last bar, and behind the rows directly below it."""
        self._row_below = False
        """Whether a row below the last bar has taken its step."""
        self._bars_follow = False
        """Whether the log draws its bars after the rows."""
        self._open_bar: int | None = None
        """Steps done by a bar whose line has not ended."""
        self._step = 0
        """Step of the last training row."""
        self._interval = 1
        """Steps from one training row to the next."""
        self._count = 0
        """Training rows with a step."""
        self._burst: tuple[int, int] | None = None
        """Training rows and steps done when a buffer of rows was written for the first time."""
        self._buffered_interval = 0
        """Steps from one training row to the next in a log of buffered rows; 0 if it is unknown."""
        self._epoch = 0.0
        """Epoch of the last training row; 0 if it is unknown."""
        self._epoch_steps = EpochSteps()
        self._row_lines: list[str] = []
        """First lines of a row that is printed over several."""

    def interrupt(self) -> None:
        super().interrupt()
        self._held, self._row_lines, self._open_bar = [], [], None

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
                self.sink.facts.report_progress(step, total or 0)
                return self.sink.add_row(((name, value) for name, value in values if name != key), step, line)
        if not values:
            return False
        epoch = row.get("epoch")
        training = "train_runtime" not in row and not all(_EVALUATION.match(key) or key == "epoch" for key in row)
        self.sink.held_count += 1
        self._held.append(_Held(values, line, training, epoch if isinstance(epoch, float) else None))
        is_below = line.offset == self._bar_end
        self._bars_follow |= is_below and self._bar_step == 0
        names = [name for name, _ in self.sink.last_row] if self.sink.step == self._bar_step else []
        # a step has each metric once: bars are missing
        is_next = self._row_below and names == [name for name, _ in values]
        if is_below and not self._bars_follow and not is_next:
            self._bar_end, self._row_below = _end_of(line), True
            self._release(self._bar_step)
            self.sink.facts.report_progress(self._bar_step, self._total)
        elif self._bar_step < 0:
            self._release_without_bar()
        elif "train_runtime" in row and self._training_held > 1:  # buffered, and the end of the buffer
            self.end()
        elif len(self._held) >= _MAX_HELD:
            self._release(self._bar_step)
        return True

    def _read_bar(self, line: Line) -> None:
        bar = line.bar
        if bar is None or line.nested or not _TRAINING_BAR.fullmatch(bar["name"].strip()):
            return
        done, total = int(bar["done"]), int(bar["total"])
        if not line.ended:
            self._open_bar = done if total == self._total and done >= self._bar_step else None
            if done > self._bar_step:
                self.sink.facts.note_bar(done, total)
            return
        self._bars_follow |= done == self._bar_step
        if done < self._bar_step:  # another training, or the same one resumed, writes into the same log
            self._release(self._bar_step)
            self._step, self._interval, self._epoch, self._bars_follow = 0, 1, 0.0, False
            self._count, self._burst, self._buffered_interval = 0, None, 0
        again = done == self._bar_step
        self._bar_step, self._total, self._bar_end, self._row_below = done, total, _end_of(line), False
        if self._held and not self._awaits_burst(again):
            self._release(done)
            self.sink.facts.report_progress(done, total)
        self.sink.facts.note_bar(done, total)
        self.sink.facts.note_rate(total, bar["inside"])

    def _awaits_burst(self, again: bool) -> bool:
        """Return whether the held rows were buffered, and only the next ones tell the steps between two rows.

        again: whether the bar below the rows is the one above them.
        """
        rows = self._count + self._training_held
        if self._burst is None:
            if again and not self._count and rows > 1:
                self._burst = rows, self._bar_step
        elif not self._buffered_interval and rows > self._burst[0]:
            earlier_rows, earlier_step = self._burst
            measured = (self._bar_step - earlier_step) / (rows - earlier_rows)
            shared = gcd(self._bar_step, earlier_step)  # rows are logged at multiples of the interval
            self._buffered_interval = min(_divisors(shared), key=lambda interval: abs(interval - measured))
        return self._burst is not None and not self._buffered_interval

    @property
    def _training_held(self) -> int:
        return sum(row.training for row in self._held)

    def flush(self) -> None:
        if self._open_bar is not None and (self._burst is None or self._buffered_interval):
            self._release(self._open_bar)
        self._open_bar = None

    @property
    def awaits_end(self) -> bool:
        return bool(self._held)

    def end(self) -> None:
        if self._bar_step <= 0:
            self._release_without_bar(at_end=True)
        elif self._held:
            rows = self._training_held
            if not self._buffered_interval and not self._count and rows > 1:  # all of them were buffered until the end
                late = self._bar_step < self._total and self._bar_step % (rows + 1) == 0
                self._buffered_interval = self._bar_step // (rows + late)
            following = self._step + self._interval * rows
            self._release(max(self._bar_step, min(following, self._total)))

    def _release(self, done: int) -> None:
        """Add the held rows before a bar that shows the steps done."""
        steps = iter(self._training_steps([row.epoch for row in self._held if row.training], done))
        for row in self._held:
            step = next(steps) if row.training else done if row is self._held[-1] else self._step or done
            if row.training:
                self._interval = step - self._step if self._step and step > self._step else self._interval
                self._step, self._epoch, self._count = step, row.epoch or 0.0, self._count + 1
            self.sink.add_row(row.values, step, row.line)
        self._held = []

    def _training_steps(self, epochs: list[float | None], done: int) -> list[int]:
        """Return the steps of training rows with these epochs, of which the last has the step `done` at most."""
        if self._buffered_interval:
            return [self._buffered_interval * (self._count + number + 1) for number in range(len(epochs))]
        known = [epoch for epoch in epochs if epoch is not None]
        if len(epochs) > 1 and len(known) == len(epochs) and known[-1] > 0:
            per_epoch = self._step / self._epoch if self._epoch else done / known[-1]
            steps = [min(done, round(per_epoch * epoch)) for epoch in known]
            if len({self._step, *steps}) > len(steps):  # epochs of two digits may give two rows one step
                return steps
        interval = min(self._interval, max(0, done - self._step) // max(1, len(epochs)))
        return [done - interval * after for after in reversed(range(len(epochs)))]

    def _release_without_bar(self, at_end: bool = False) -> None:
        """Add the held rows of a log without bars, once it is known whether their epochs give the steps."""
        epochs = [row.epoch or 0.0 for row in self._held if row.training]
        by_epoch = self._epoch_steps.is_usable and all(row.epoch is not None for row in self._held)
        interval = self._epoch_steps.interval
        if by_epoch and interval is None and epochs:
            interval = self._epoch_steps.decide(epochs)
            if self._epoch_steps.interval is None and not at_end and len(self._held) < _MAX_HELD:
                return
            self._epoch_steps.interval = interval
        for row in self._held:
            counted = not (by_epoch and interval)
            if row.training and not counted:
                self._step = self._epoch_steps.step(row.epoch or 0.0, interval or 1, self._step + (interval or 1))
            else:
                self._step += row.training
            self.sink.numbered_count += row.training and counted
            self.sink.computed_count += row.training and not counted
            self.sink.add_row(row.values, self._step, row.line, counted=True)
        if self._held and by_epoch and interval:
            self.sink.facts.report_progress(self._step, self._epoch_steps.total)
        self._held = []


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def _end_of(line: Line) -> int:
    return line.offset + len(line.raw) + 1


FAMILY = Family("hf-rows", ("{'", '{"', "': ", "it/s", "s/it", *MARKS), HFRowReader, order=24, self_closing=True)
