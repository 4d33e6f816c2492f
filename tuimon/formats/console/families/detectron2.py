"""detectron2, and maskrcnn-benchmark before it: fields separated by two blanks.

    [11/20 10:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.9  loss_cls: 0.5  time: 0.2500
            last_time: 0.2600  data_time: 0.0100  last_data_time: 0.0090   lr: 4e-06  max_mem: 2000M       (one line)
    [11/20 10:09:00 d2.evaluation.testing]: copypaste: Task: bbox
    [11/20 10:09:00 d2.evaluation.testing]: copypaste: AP,AP50,AP75,APs,APm,APl
    [11/20 10:09:00 d2.evaluation.testing]: copypaste: 37.9000,58.8000,…
    eta: 0:10:00  iter: 20  loss: 1.9000 (2.1000)  time: 0.25 (0.26)  lr: 0.002  max mem: 2000      (maskrcnn-benchmark)

Iterations count from 0, as in its JSON. Losses are medians of the last 20 iterations, times are means; of "a (b)", a
(the shorter average) is read. An evaluation becomes bbox/AP …, as in its JSON. It is printed before the row of its
iteration, so it is held back until that row, unless a checkpoint saved just before or the end of the training names
the iteration.
Sources: detectron2/utils/events.py, detectron2/evaluation/testing.py, detectron2/engine/{defaults,hooks,train_loop}.py,
maskrcnn_benchmark/engine/trainer.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair, Sink, number

_ROW = re.compile(
    r"(?:.{0,120}?(?:INFO|\]): {1,4})?(?:eta: (?:\d{1,9} days?, )?[\d:]{5,9}  )?iter: (\d{1,18})  ", re.ASCII
)
_FIELD = re.compile(rf"([^:]{{1,80}}): ({NUMBER})M?(?: \({NUMBER}\))?", re.IGNORECASE | re.ASCII)
_EVALUATION = re.compile(r".{0,120}?copypaste: (Task: )?(.{1,4000})", re.ASCII)
_SAVED = re.compile(r".{0,120}?Saving checkpoint to .{0,300}model_(\d{7,18})\.pth", re.ASCII)
_ENDED = "Overall training speed: "
_MAX_HELD = 1000


class Detectron2Reader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._task = ""
        self._names: list[str] = []
        self._step: int | None = None
        """Current iteration, if it is known exactly."""
        self._last_step = -1
        self._held: list[tuple[list[Pair], Line]] = []

    def interrupt(self) -> None:
        super().interrupt()
        self._task, self._step, self._held = "", None, []

    def read(self, line: Line) -> bool:
        if match := _ROW.match(line.text):
            step = int(match[1])
            parts = re.split(r"\s{2,}", line.text[match.end() :])
            fields = [field for part in parts if (field := _FIELD.fullmatch(part))]
            if not fields:
                return False
            for row, evaluation in self._held:
                self.sink.add_row(row, step, evaluation)
            self._held, self._step, self._last_step = [], None, step
            return self.sink.add_row([(field[1], float(field[2])) for field in fields], step, line)
        if match := _EVALUATION.match(line.text):
            return self._evaluation(bool(match[1]), match[2], line)
        if match := _SAVED.match(line.text):
            self._step = int(match[1]) if int(match[1]) >= self._last_step else None
        elif _ENDED in line.text and self._last_step >= 0:
            self._step = self._last_step + 1
        return False

    def _evaluation(self, begins: bool, text: str, line: Line) -> bool:
        parts = text.split(",")
        values = [number(part) for part in parts]
        if begins:
            self._task, self._names = text, []
        elif None in values:
            self._names = parts
        elif self._task and len(values) == len(self._names):
            columns = zip(self._names, values, strict=True)
            row = [(f"{self._task}/{name}", value) for name, value in columns if value is not None]
            self._task = ""
            if self._step is not None:
                return self.sink.add_row(row, self._step, line)
            if len(self._held) < _MAX_HELD:
                self._held.append((row, line))
        return True


FAMILY = Family("detectron2", ("iter: ", "copypaste: ", "Saving checkpoint to ", _ENDED), Detectron2Reader, order=38)
