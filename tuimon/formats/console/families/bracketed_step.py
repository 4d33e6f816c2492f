"""Lines that begin with the step and the total in brackets.

    [020500/50000] WMS    | loss 0.1635 | VRAM 9.8/15.9GB (62%) | GPU 97% | 3.11 it/s | ETA 157.9 min
    [  120/ 5000] loss=0.52 lr=1e-4
    [batch 46/152, epoch 3/15]: loss_rmse:0.08 loss_inv:0.02          step 46 of epoch 3: (3 - 1) * 152 + 46

The line needs the name of a result of training, such as a loss or an accuracy, as installers and compilers number their
lines in the same way.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader
from tuimon.formats.console.families._line import without_prefix
from tuimon.formats.console.families._pairs import METRIC_MARKS, listed_pairs, metric_pairs, names_a_metric

_HEAD = re.compile(r"\[ {0,10}(\d{1,18}) ?/ {0,10}(\d{1,18})\]:?(?=[\s|,])", re.ASCII)
_PLACE = re.compile(
    r"\[(?:batch|iter(?:ation)?|step|it)[ :=]{1,3}(?P<step>\d{1,12}) ?/ ?(?P<size>\d{1,12})[,;]? "
    r"epoch[ :=]{1,3}(?P<epoch>\d{1,9})(?: ?/ ?(?P<epochs>\d{1,9}))?\]:?(?=\s)",
    re.IGNORECASE | re.ASCII,
)
_WITHIN = 100
_MAX_LENGTH = 4000


class BracketedStepReader(LineReader):
    _first_epoch = 1

    def read(self, line: Line) -> bool:
        if "poch" in line.text and (place := _PLACE.search(line.text, 0, _WITHIN)):
            return self._read_place(place, line)
        head = _HEAD.search(line.text, 0, _WITHIN)
        if head is None or len(line.text) > _MAX_LENGTH or without_prefix(line.text[: head.start()]):
            return False
        step, total = int(head[1]), int(head[2])
        rest = line.text[head.end() :]
        values = metric_pairs(rest) or listed_pairs(rest)
        if step > total or not names_a_metric(values):
            return False
        self.sink.report_progress(step, total)
        return self.sink.add_row(values, step, line)

    def _read_place(self, place: re.Match[str], line: Line) -> bool:
        """Read a line with the step within an epoch."""
        rest = line.text[place.end() :]
        values = metric_pairs(rest) or listed_pairs(rest)
        epoch, step, size = (int(place[name]) for name in ("epoch", "step", "size"))
        if without_prefix(line.text[: place.start()]) or not names_a_metric(values) or step > size:
            return False
        self._first_epoch = min(self._first_epoch, epoch)
        step += (epoch - self._first_epoch) * size
        if place["epochs"]:
            self.sink.report_progress(step, int(place["epochs"]) * size)
        return self.sink.add_row([*values, ("epoch", float(epoch))], step, line)


FAMILY = Family(
    "bracketed-step",
    (*METRIC_MARKS, "[batch ", "[Batch ", "[step ", "[iter"),
    BracketedStepReader,
    order=92,
)
