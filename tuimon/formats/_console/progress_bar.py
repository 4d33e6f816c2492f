"""Progress bars (tqdm) of a whole training: how far it is, and the metrics that RLinf writes behind its bar.

    Global Step:  10%|###   | 1/10 [00:10<01:30, 10.00s/it, step_time=10, reward_scores=0, actor/lr=1e-6]

RLinf's bar counts the steps done, its loggers count from 0: the step is the bar's minus one. Its timers carry the
suffix "_time", the rest has no prefix; values have three digits. Of other bars only those that are called after a
training tell its total; they are redrawn many times a step, and what stands behind them may be old (Lightning), so
they give no points. Source: rlinf/runners/reasoning_runner.py, tqdm/std.py.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

BAR = re.compile(
    r"(?P<name>[^|%]{0,200}?)\s*+\d{1,3}%\|[^|]*+\|\s*+(?P<done>\d{1,18})/(?P<total>\d{1,18}) "
    r"\[(?P<inside>[^\]]*+)\]?",
    re.ASCII,
)
_RLINF = "Global Step"
_TRAINING = re.compile(r"(?:global step|train\w*(?: progress| step\w*)?|steps?)\s*:?", re.IGNORECASE)


class ProgressBarReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._done = 0

    def read(self, line: Line) -> bool:
        found = BAR.match(line.drawn)
        if found is None or not _TRAINING.fullmatch(found["name"].strip()):
            return False
        done = int(found["done"])
        rlinf = found["name"].lstrip().startswith(_RLINF)
        self.sink.progress(max(0, done - 1) if rlinf else done, int(found["total"]))
        if rlinf and done != self._done:  # the last state is drawn again at the end
            parts = found["inside"].split(",")
            if not found[0].endswith("]"):
                parts.pop()  # the bar is cut at the width of its terminal: of its last number the end may be missing
            pairs = (part.strip().partition("=") for part in parts)
            values = [(name, value) for name, _, printed in pairs if (value := number(printed)) is not None]
            if self.sink.row(values, done - 1, line):
                self._done = done
        return line.message is line.drawn  # else a row stands behind it


FAMILY = Family("progress-bar", ("it/s", "s/it"), ProgressBarReader, order=22, closes=True)
