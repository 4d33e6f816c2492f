"""OpenMMLab: lines of mmengine, and of mmcv before it.

    Epoch(train)   [1][ 50/1000]  lr: 1.0000e-02  eta: 0:05:00  time: 0.3100  data_time: 0.0200  memory: 1234  loss: 2.3
    Iter(train) [   50/80000]  base_lr: 1.0000e-02 lr: 1.0000e-02  eta: 1 day, 2:03:04  …
    Epoch(val) [1][25/25]    coco/bbox_mAP: 0.4000  coco/bbox_mAP_copypaste: 0.400 0.600 …  data_time: 0.01  time: 0.10
    Iter(val) [500/500]    mIoU: 41.2000  …                Epoch(test) [25/25]    coco/bbox_mAP: 0.4000  …
    Epoch [1][50/1000]\\tlr: 1.000e-02, eta: 0:05:00, time: 0.310, data_time: 0.020, memory: 1234, loss: 2.3      (mmcv)
    Epoch(val) [1][25]\\tbbox_mAP: 0.4000, …                Iter(val) [25]\\tmIoU: 0.4120, …

Epochs and iterations count from 1. The step of a training row is the iteration counted from the first epoch, as in
mmengine's JSON. A validation has its epoch as step where there are epochs (as in that JSON), else the last iteration.
Its metrics have the names of the JSON, except times and losses, which also exist in the training: val/time.
mmcv names all metrics of a validation val/<name> (in TensorBoard) and logs them at the end of the epoch; the number in
the line counts the batches of the validation. A validation line with "eta" only reports its progress. A test gives
test/<name>.
Sources: mmengine/runner/log_processor.py, mmengine/hooks/logger_hook.py, mmcv/runner/hooks/logger/text.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair

_HEAD = re.compile(
    r"(?P<kind>Epoch|Iter)(?:\((?P<mode>train|val|test)\))?\s{0,12}(?:\[(?P<epoch>\d{1,9})\])?"
    r"\[\s{0,12}(?P<done>\d{1,18})(?P<size>/\d{1,18})?\](?P<tab>\t| {1,4})",
    re.ASCII,
)
_PAIR = re.compile(
    rf"(?<!\S)([^\s:,]{{1,120}}): ({NUMBER})(?=,?(?:\s{{1,8}}[^\s:,]{{1,120}}:|\s{{0,8}}$))", re.IGNORECASE | re.ASCII
)
_ETA = re.compile(r"(?<!\S)eta: (?:\d{1,9} days?, )?[\d:]++,? {0,2}")
_SHARED = re.compile(r"time|data_time|loss.*|.*_loss")
"""Names of metrics that exist in validation and training."""


class OpenMMLabReader(LineReader):
    _step: int | None = None
    _size = 0
    """Iterations of an epoch."""

    def interrupt(self) -> None:
        super().interrupt()
        self._step = None

    def read(self, line: Line) -> bool:
        head = _HEAD.match(line.message)
        if head is None or (not head["mode"] and not (head["tab"] == "\t" and head["size"])):
            return False
        rest = line.message[head.end() :]
        if head["mode"] in (None, "train"):
            return self._training(head, rest, line)
        if _ETA.search(rest):
            return True
        prefix = f"{head['mode']}/"
        mmcv = not head["size"]
        step, counted = self._step or 0, self._step is None
        if head["epoch"] and head["mode"] == "val":
            step, counted = int(head["epoch"]) * (self._size or 1 if mmcv else 1), False
        row = []
        for name, value in _pairs(rest):
            prefixed = mmcv or prefix == "test/" or _SHARED.fullmatch(name)
            row.append((prefix + name if prefixed and not name.startswith(prefix) else name, value))
        lost = counted and self.sink.interrupted
        used = self.sink.add_row(row, None if lost else step, line, counted, keep_step=True)
        if self.sink.step is None and not lost:
            self.sink.step = step
        return used

    def _training(self, head: re.Match[str], rest: str, line: Line) -> bool:
        size, step, epoch = int((head["size"] or "/0")[1:]), int(head["done"]), int(head["epoch"] or 0)
        if head["kind"] == "Epoch":
            if not epoch or not size:
                return False
            self._size = size
            step += (epoch - 1) * size
        elif size:
            self.sink.report_progress(step, size)
        values = list(_pairs(_ETA.sub("", rest)))
        if values and epoch:
            values.append(("epoch", float(epoch)))
        self._step = step
        return self.sink.add_row(values, step, line)


def _pairs(text: str) -> Iterator[Pair]:
    return ((name, float(printed)) for name, printed in _PAIR.findall(text))


FAMILY = Family("openmmlab", ("Epoch(", "Iter(", "Epoch [", "Iter ["), OpenMMLabReader, order=37)
