"""Keras: "Epoch 3/10", then a progress line that is redrawn, or written once.

    Epoch 3/10
    8/8 - 0s - 4ms/step - accuracy: 0.9512 - loss: 0.2670 - val_loss: 0.2392            verbose=2
    8/8 ━━━━━━━━━━━━━━━━━━━━ 0s 4ms/step - accuracy: 0.9512 - loss: 0.2670              verbose=1, Keras 3
    100/100 [==============================] - 1s 5ms/step - loss: 0.5                  verbose=1, Keras 2

Epochs count from 0, as in Keras' own CSV and TensorBoard logs, which use the same names; the progress is that of the
console, from 1. Only the last state of a bar
(8/8) is read: the values before it are running means. Source: keras/src/utils/progbar.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Sink, pairs

_EPOCH = re.compile(r"Epoch (\d{1,12})/(\d{1,12})", re.ASCII)
_BAR = re.compile(r"(\d{1,18})/(\1) (?=[-━\[\d ])", re.ASCII)


class KerasReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._epoch: int | None = None
        self._given: set[str] = set()
        """Metrics already read in this epoch."""

    def interrupt(self) -> None:
        super().interrupt()
        self._epoch = None

    def read(self, line: Line) -> bool:
        text = line.message.replace("\b", "").lstrip()
        if match := _EPOCH.fullmatch(text):
            self._epoch = int(match[1]) - 1
            self._given.clear()
            self.sink.report_progress(self._epoch, int(match[2]), counted="epoch")
            return False  # other scripts begin their epochs with the same line
        if self._epoch is None or not _BAR.match(text):
            return False
        fields = text.partition(" - ")[2]
        values = [(name, value) for name, value in pairs(fields, " - ", ": ") if name not in self._given]
        self._given.update(name for name, _ in values)
        return self.sink.add_row(values, self._epoch, line)


FAMILY = Family("keras", ("Epoch ", "step - ", "s - loss: "), KerasReader, order=40)
