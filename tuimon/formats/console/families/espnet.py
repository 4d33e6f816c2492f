"""ESPnet: the results of an epoch, and of some batches of it, by stage.

    1epoch:train:1-50batch: iter_time=1e-04, loss=45.4, acc=0.05          step 50 of epoch 1
    1epoch results: [train] loss=45.4, acc=0.05, time=10 minutes and 3 seconds, [valid] loss=47.7, acc=0.04

The results of an epoch have its last step, or the epoch as the step if no batches are printed; their names begin with
the stage.
Source: espnet2/train/reporter.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair, Sink
from tuimon.formats.console.families._steps import EpochSteps

_RESULTS = re.compile(r".{0,200}?\b(\d{1,9})epoch results: ", re.ASCII)
_BATCHES = re.compile(r".{0,200}?\b(\d{1,9})epoch:(\w{1,20}):\d{1,12}-(\d{1,12})batch: ", re.ASCII)
_STAGE = re.compile(r"\[(\w{1,40})\] ", re.ASCII)
_PAIR = re.compile(rf"(?<![^\s,])([A-Za-z_]\w{{0,60}})=({NUMBER})(?=,|$)", re.IGNORECASE | re.ASCII)


class ESPnetReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._steps = EpochSteps()
        self._last: int | None = None
        """Step of the last line about batches."""

    def read(self, line: Line) -> bool:
        if match := _BATCHES.match(line.text):
            if match[2] == "train":
                self._last = self._steps.overall(int(match[1]), int(match[3]))
            prefix = "" if match[2] == "train" else f"{match[2]}/"
            return self.sink.add_row(_pairs(line.text[match.end() :], prefix), self._last or 0, line)
        match = _RESULTS.match(line.text)
        if match is None:
            return False
        _, *parts = _STAGE.split(line.text[match.end() :])
        values = [
            pair for stage, text in zip(parts[::2], parts[1::2], strict=True) for pair in _pairs(text, f"{stage}/")
        ]
        return self.sink.add_row(values, int(match[1]) if self._last is None else self._last, line)


def _pairs(text: str, prefix: str) -> list[Pair]:
    return [(prefix + name, float(value)) for name, value in _PAIR.findall(text)]


FAMILY = Family("espnet", ("epoch results: ", "epoch:train:", "epoch:valid:"), ESPnetReader, order=30)
