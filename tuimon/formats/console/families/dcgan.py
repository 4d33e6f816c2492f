"""PyTorch's DCGAN example: two counters in brackets, that of the epoch and that of the batch in it.

    [0/5][50/1583]\tLoss_D: 1.9847\tLoss_G: 5.5914\tD(x): 0.5970\tD(G(z)): 0.5730 / 0.0070
    [3/100][10/782] Loss: 0.5                     step 3 * 782 + 10, or from 1 if the first epoch is 1

Source: pytorch/examples dcgan/main.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader
from tuimon.formats.console.families._pairs import metric_pairs, names_a_metric

_HEAD = re.compile(
    r"(.{0,60}?)\[ {0,9}(\d{1,9})/ {0,9}\d{1,9}\] ?\[ {0,9}(\d{1,9})/ {0,9}(\d{1,9})\]:?(?=[\s|,])", re.ASCII
)
_MAX_LENGTH = 4000


class DCGANReader(LineReader):
    _first_epoch: int | None = None

    def read(self, line: Line) -> bool:
        text = line.text
        head = _HEAD.match(text) if len(text) <= _MAX_LENGTH else None
        if head is None:
            return False
        epoch, batch, size = int(head[2]), int(head[3]), int(head[4])
        values = metric_pairs(text[head.end() :])
        if not names_a_metric(values) or batch > size:
            return False
        if self._first_epoch is None or epoch < self._first_epoch:
            self._first_epoch = min(epoch, 1)
        step = (epoch - self._first_epoch) * size + batch
        return self.sink.add_row([*values, ("epoch", float(epoch))], step, line)


FAMILY = Family("dcgan", ("][",), DCGANReader, order=91)
