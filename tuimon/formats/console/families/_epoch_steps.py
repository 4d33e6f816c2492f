"""Steps of rows that name only their epoch, from the numbers that the Hugging Face Trainer prints at its start.

      Num examples = 8,000
      Num Epochs = 2
      Total train batch size (w. parallel, distributed & accumulation) = 16
      Total optimization steps = 1,000

An epoch has total / epochs steps, unless the total is that of `max_steps` or of a fraction of an epoch: then it is no
multiple of the epochs, or differs from the examples divided by the batch size. The trainer logs at multiples of an
interval, so steps are known exactly although epochs are rounded, once a single interval fits all rows.
Source: transformers/trainer.py (_inner_training_loop).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from tuimon import lazy_re as re

MARKS = ("Num examples = ", "Num Epochs = ", "Total train batch size ", "Total optimization steps = ")
_FIELD = re.compile(
    rf"({'|'.join(mark.rstrip(' =') for mark in MARKS)})(?: \([^()]{{0,99}}\))? = (\d[\d,]{{0,29}})$", re.ASCII
)
_EXAMPLES, _EPOCHS, _BATCH, _TOTAL = (mark.rstrip(" =") for mark in MARKS)
_DRIFT = 0.25
"""Intervals by which steps of exact epochs may miss a multiple, at most one step: the last batches of an epoch may not
be a whole step."""


class EpochSteps:
    """Computes steps from epochs if the beginning of a training shows how many steps an epoch has."""

    def __init__(self) -> None:
        self._fields: dict[str, int] = {}
        self._per_epoch = 0
        self.total = 0
        self.interval: int | None = None
        """Steps from one training row to the next once a single interval fits; 0 if none does."""

    def read(self, text: str) -> None:
        """Read a line that may be one of the beginning of a training."""
        if match := _FIELD.search(text):
            self._fields[match[1]] = int(match[2].replace(",", ""))
            if match[1] == _TOTAL:  # the last of them
                before, self._per_epoch = self._per_epoch, self._steps_per_epoch()
                if before not in (0, self._per_epoch):
                    self.interval = None

    def _steps_per_epoch(self) -> int:
        total, epochs = self._fields.get(_TOTAL, 0), self._fields.get(_EPOCHS, 0)
        if not epochs or not total or total % epochs:
            return 0
        examples, batch = self._fields.get(_EXAMPLES, 0), self._fields.get(_BATCH, 0)
        if examples and batch and abs(total / epochs - examples / batch) >= 2:
            return 0
        self.total = total
        return total // epochs

    @property
    def is_usable(self) -> bool:
        """Whether steps can be computed as far as is known."""
        return self._per_epoch > 0 and self.interval != 0

    def decide(self, epochs: Sequence[float]) -> int:
        """Return the interval that fits the epochs of the first training rows best, or 0 if none does, and keep it once
        it is the only one."""
        intervals = self._fitting(epochs, 0) or self._fitting(epochs, 1)
        if len(intervals) < 2:
            self.interval = intervals[0] if intervals else 0
        share = epochs[-1] * self._per_epoch / len(epochs)
        return min(intervals, key=lambda interval: abs(interval - share), default=0)

    def _fitting(self, epochs: Sequence[float], skipped: int) -> list[int]:
        """Return the intervals of whose multiples the epochs show consecutive ones: from the first multiple on, or with
        `skipped` rows before them from any one on."""
        steps = [epoch * self._per_epoch for epoch in epochs]
        first = steps[0] if skipped else 0.0
        rounding = 2 * self._tolerance(4, *epochs)
        gaps = list(enumerate(steps[skipped:], 1))
        if not gaps:
            return []
        low = max(ceil((step - first - rounding) / count) for count, step in gaps)
        high = min(floor((step - first + rounding) / count) for count, step in gaps)
        return [
            interval
            for interval in range(max(low, 1), high + 1)
            if all(
                abs(step - interval * (round(steps[skipped] / interval) - 1 + count if skipped else count))
                <= self._tolerance(interval, *epochs)
                for count, step in gaps
            )
            and 2 * self._tolerance(interval, *epochs) < interval
        ]

    def _tolerance(self, interval: int, *epochs: float) -> float:
        """Return the number of steps by which these epochs may miss their steps."""
        return rounding(*epochs) * self._per_epoch + min(1.0, _DRIFT * interval)

    def step(self, epoch: float, interval: int, expected: int) -> int:
        """Return the step of a row: `expected` or the nearest multiple of the interval if its epoch allows that."""
        step = epoch * self._per_epoch
        for logged in (expected, interval * round(step / interval)):
            if abs(step - logged) <= self._tolerance(interval, epoch):
                return logged
        return round(step)


def rounding(*epochs: float) -> float:
    """Return the amount by which printed epochs may be rounded: half a unit of the last digit that one of them has."""
    return 0.5 * 10.0 ** -max(len(repr(epoch).partition(".")[2]) for epoch in epochs)
