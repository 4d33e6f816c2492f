"""OpenMMLab: mmengine's lines, and those of mmcv before it.

    Epoch(train)   [1][ 50/1000]  lr: 1.0000e-02  eta: 0:05:00  time: 0.3100  data_time: 0.0200  memory: 1234  loss: 2.3
    Iter(train) [   50/80000]  base_lr: 1.0000e-02 lr: 1.0000e-02  eta: 1 day, 2:03:04  …
    Epoch(val) [1][25/25]    coco/bbox_mAP: 0.4000  coco/bbox_mAP_copypaste: 0.400 0.600 …  data_time: 0.01  time: 0.10
    Iter(val) [500/500]    mIoU: 41.2000  …                Epoch(test) [25/25]    coco/bbox_mAP: 0.4000  …
    Epoch [1][50/1000]\\tlr: 1.000e-02, eta: 0:05:00, time: 0.310, data_time: 0.020, memory: 1234, loss: 2.3      (mmcv)
    Epoch(val) [1][25]\\tbbox_mAP: 0.4000, …                Iter(val) [25]\\tmIoU: 0.4120, …

Epochs and iterations count from 1; a row of the training has the iteration counted from the first epoch, as in
mmengine's JSON. That logs a validation at its epoch, where there are epochs, and so it is here; else it belongs to the
last iteration told. Its names are those of the JSON, but for times and losses, which the training has too: val/time.
mmcv calls everything in it val/<name> (in TensorBoard), and logs it at the end of the epoch; the number in the line
counts the batches of the validation. A line with "eta" in a validation only tells how far that is. A test gives
test/<name>.
Sources: mmengine/runner/log_processor.py, mmengine/hooks/logger_hook.py, mmcv/runner/hooks/logger/text.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import NUMBER

_HEAD = re.compile(
    r"(?P<kind>Epoch|Iter)(?:\((?P<mode>train|val|test)\))?\s{0,12}(?:\[(?P<epoch>\d{1,9})\])?"
    r"\[\s{0,12}(?P<done>\d{1,18})(?P<size>/\d{1,18})?\](?P<tab>\t| {1,4})",
    re.ASCII,
)
_PAIR = re.compile(
    rf"(?<!\S)([^\s:,]{{1,120}}): ({NUMBER})(?=,?(?:\s{{1,8}}[^\s:,]{{1,120}}:|\s{{0,8}}$))", re.IGNORECASE | re.ASCII
)
_ETA = re.compile(r"(?<!\S)eta: (?:\d{1,9} days?, )?[\d:]++,? {0,2}")
_OF_TRAINING = re.compile(r"time|data_time|loss.*|.*_loss")
"""Names that a validation shares with the training."""


class OpenMMLabReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._step: int | None = None
        self._size = 0
        """Iterations of an epoch."""

    def read(self, line: Line) -> bool:
        found = _HEAD.match(line.message)
        if found is None or (not found["mode"] and not (found["tab"] == "\t" and found["size"])):
            return False
        rest = line.message[found.end() :]
        if found["mode"] in (None, "train"):
            return self._train(found, rest, line)
        if _ETA.search(rest):
            return True
        prefix = f"{found['mode']}/"
        mmcv = not found["size"]
        step, counted = self._step or 0, self._step is None
        if found["epoch"] and found["mode"] == "val":
            step, counted = int(found["epoch"]) * (self._size or 1 if mmcv else 1), False
        named = []
        for name, value in _pairs(rest):
            prefixed = mmcv or prefix == "test/" or _OF_TRAINING.fullmatch(name)
            named.append((prefix + name if prefixed and not name.startswith(prefix) else name, value))
        known = self.sink.step
        used = self.sink.row(named, step, line, counted)
        self.sink.step = step if known is None else known
        return used

    def _train(self, found: re.Match[str], rest: str, line: Line) -> bool:
        size, step, epoch = int((found["size"] or "/0")[1:]), int(found["done"]), int(found["epoch"] or 0)
        if found["kind"] == "Epoch":
            if not epoch or not size:
                return False
            self._size = size
            step += (epoch - 1) * size
        elif size:
            self.sink.progress(step, size)
        values = list(_pairs(_ETA.sub("", rest)))
        if values and epoch:
            values.append(("epoch", float(epoch)))
        self._step = step
        return self.sink.row(values, step, line)


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    for name, printed in _PAIR.findall(text):
        yield name, float(printed)


FAMILY = Family("openmmlab", ("Epoch(", "Iter(", "Epoch [", "Iter ["), OpenMMLabReader, order=37)
