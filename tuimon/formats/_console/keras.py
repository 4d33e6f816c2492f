"""Keras' progress: "Epoch 3/10", then a line that is redrawn, or written once.

    Epoch 3/10
    8/8 - 0s - 4ms/step - accuracy: 0.9512 - loss: 0.2670 - val_loss: 0.2392            verbose=2
    8/8 ━━━━━━━━━━━━━━━━━━━━ 0s 4ms/step - accuracy: 0.9512 - loss: 0.2670              verbose=1, Keras 3
    100/100 [==============================] - 1s 5ms/step - loss: 0.5                  verbose=1, Keras 2

Epochs count from 0, as in Keras' own CSV and TensorBoard logs of the same names. Only the last state of a bar (8/8)
counts: before it the values are means so far. Source: keras/src/utils/progbar.py.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_EPOCH = re.compile(r"Epoch (\d{1,12})/(\d{1,12})", re.ASCII)
_BAR = re.compile(r"(\d{1,18})/(\1) (?=[-━\[\d ])", re.ASCII)


class KerasReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._epoch: int | None = None
        self._given: set[str] = set()

    def read(self, line: Line) -> bool:
        text = line.message.replace("\b", "").lstrip()
        if found := _EPOCH.fullmatch(text):
            self._epoch = int(found[1]) - 1
            self._given.clear()
            self.sink.progress(self._epoch, int(found[2]))
            return True
        if self._epoch is None or not _BAR.match(text):
            return False
        values = []
        for field in text.split(" - ")[1:]:
            name, _, printed = field.partition(": ")
            value = number(printed.strip())
            if value is not None and name not in self._given:
                values.append((name, value))
        self._given.update(name for name, _ in values)
        return self.sink.row(values, self._epoch, line)


FAMILY = Family("keras", ("Epoch ", "step - ", "s - loss: "), KerasReader, order=40)
