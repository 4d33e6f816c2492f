"""PyTorch's tutorials: the quickstart, and the classifier of CIFAR-10.

    Epoch 2
    -------------------------------
    loss: 1.935678  [ 6464/60000]              step (2 - 1) * 60000 + 6464
    [2,  4000] loss: 1.269                     epoch, batch; batches are counted over all epochs

Further pairs may follow the loss. Sources: pytorch/tutorials (quickstart_tutorial.py, cifar10_tutorial.py).
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, Sink
from tuimon.formats.console.families._pairs import metric_pairs
from tuimon.formats.console.families._steps import EpochSteps

_EPOCH = re.compile(r"Epoch:? \[?(\d{1,9})(?:/\d{1,9})?\]?:?", re.ASCII)
_DONE = re.compile(r"([a-z][\w ]{0,40}: .{1,200}?)\s\[ {0,10}(\d{1,18})/ {0,10}(\d{1,18})\]", re.IGNORECASE | re.ASCII)
_BATCH = re.compile(r"(?:.{0,100}?(?<!\S))?\[(\d{1,9}), {0,10}(\d{1,18})\] (?=loss: )", re.ASCII)


class PyTorchTutorialReader(LineReader):
    _epoch = 1
    _first_epoch = 1

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._steps = EpochSteps()

    def read(self, line: Line) -> bool:
        if match := _EPOCH.fullmatch(line.message):
            self._epoch = int(match[1])
            self._first_epoch = min(self._epoch, self._first_epoch)
            return False
        if match := _BATCH.match(line.text):
            step = self._steps.overall(int(match[1]), int(match[2]))
            row = [*metric_pairs(line.text[match.end() :]), ("epoch", float(match[1]))]
            return len(row) > 1 and self.sink.add_row(row, step, line)
        if line.message.startswith("loss: ") and (match := _DONE.fullmatch(line.message)):
            done, size = int(match[2]), int(match[3])
            step = (self._epoch - self._first_epoch) * size + done
            return done <= size and self.sink.add_row(metric_pairs(match[1]), step, line)
        return False


FAMILY = Family("pytorch-tutorial", ("] loss: ", "  [", "Epoch "), PyTorchTutorialReader, order=39)
