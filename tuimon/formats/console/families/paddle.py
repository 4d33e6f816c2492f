"""PaddleNLP's Trainer: one line of pairs, the step among them.

    [2023-05-01 10:00:00,123] [    INFO] - loss: 2.3, learning_rate: 1e-05, global_step: 10, interval_runtime: 1.2,
        interval_samples_per_second: 3.3, epoch: 0.01                                          (one line)

Source: paddlenlp/trainer/trainer_callback.py (PrinterCallback, ProgressCallback), trainer.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, pairs

_STEP = re.compile(r"(?<![\w.])global_step: (\d{1,18})(?=,|$)", re.ASCII)


class PaddleReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.message
        step = _STEP.search(text, 0, 4000)
        if step is None or not step.start() or len(text) > 8000:
            return False
        parts = text.split(", ")
        row = list(pairs(text, ", ", ": "))
        if 2 * len(row) < len(parts) or ", " in text[: text.find(": ")]:
            return False
        return self.sink.add_row([pair for pair in row if pair[0] != "global_step"], int(step[1]), line)


FAMILY = Family("paddle", (", global_step: ",), PaddleReader, order=33)
