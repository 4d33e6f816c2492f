"""detectron2, and maskrcnn-benchmark before it: fields between two blanks.

    [11/20 10:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.9  loss_cls: 0.5  time: 0.2500
            last_time: 0.2600  data_time: 0.0100  last_data_time: 0.0090   lr: 4e-06  max_mem: 2000M       (one line)
    [11/20 10:09:00 d2.evaluation.testing]: copypaste: Task: bbox
    [11/20 10:09:00 d2.evaluation.testing]: copypaste: AP,AP50,AP75,APs,APm,APl
    [11/20 10:09:00 d2.evaluation.testing]: copypaste: 37.9000,58.8000,…
    eta: 0:10:00  iter: 20  loss: 1.9000 (2.1000)  time: 0.25 (0.26)  lr: 0.002  max mem: 2000      (maskrcnn-benchmark)

Iterations count from 0, as in its JSON; losses are medians of the last 20, times are means; of "a (b)", a is read, the
nearer one. An evaluation is bbox/AP …, as in its JSON. It is printed before the row of its iteration, so it waits for
that row, unless a checkpoint that was just saved, or the end of the training, tells the iteration.
Sources: detectron2/utils/events.py, detectron2/evaluation/testing.py, detectron2/engine/{defaults,hooks,train_loop}.py,
maskrcnn_benchmark/engine/trainer.py.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import NUMBER, number

_ROW = re.compile(
    r"(?:.{0,120}?(?:INFO|\]): {1,4})?(?:eta: (?:\d{1,9} days?, )?[\d:]{5,9}  )?iter: (\d{1,18})  ", re.ASCII
)
_FIELD = re.compile(rf"([^:]{{1,80}}): ({NUMBER})M?(?: \({NUMBER}\))?", re.IGNORECASE | re.ASCII)
_EVALUATION = re.compile(r".{0,120}?copypaste: (Task: )?(.{1,4000})", re.ASCII)
_SAVED = re.compile(r".{0,120}?Saving checkpoint to .{0,300}model_(\d{7,18})\.pth", re.ASCII)
_ENDED = "Overall training speed: "
_MAX_WAITING = 1000


class Detectron2Reader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._task = ""
        self._names: list[str] = []
        self._step: int | None = None
        """Where the training is, as far as that is known exactly."""
        self._last = -1
        self._waiting: list[tuple[list[tuple[str, float]], Line]] = []

    def read(self, line: Line) -> bool:
        if found := _ROW.match(line.text):
            step = int(found[1])
            fields = [
                field for part in re.split(r"\s{2,}", line.text[found.end() :]) if (field := _FIELD.fullmatch(part))
            ]
            if not fields:
                return False
            for values, evaluated in self._waiting:
                self.sink.row(values, step, evaluated)
            self._waiting, self._step, self._last = [], None, step
            return self.sink.row([(field[1], float(field[2])) for field in fields], step, line)
        if found := _EVALUATION.match(line.text):
            return self._evaluation(bool(found[1]), found[2], line)
        if found := _SAVED.match(line.text):
            self._step = int(found[1]) if int(found[1]) >= self._last else None
        elif _ENDED in line.text and self._last >= 0:
            self._step = self._last + 1
        return False

    def _evaluation(self, begins: bool, text: str, line: Line) -> bool:
        parts = text.split(",")
        values = [number(part) for part in parts]
        if begins:
            self._task, self._names = text, []
        elif None in values:
            self._names = parts
        elif self._task and len(values) == len(self._names):
            pairs = zip(self._names, values, strict=True)
            row = [(f"{self._task}/{name}", value) for name, value in pairs if value is not None]
            self._task = ""
            if self._step is not None:
                return self.sink.row(row, self._step, line)
            if len(self._waiting) < _MAX_WAITING:
                self._waiting.append((row, line))
        return True


FAMILY = Family("detectron2", ("iter: ", "copypaste: ", "Saving checkpoint to ", _ENDED), Detectron2Reader, order=38)
