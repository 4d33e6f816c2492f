"""ROLL's memory probes: the first 20 of each process say how full the device was before and after a phase, in GiB.

    […] actor_train/train_step_start_offload, memory allocated (GB): 2.0, memory reserved (GB): 4.0,
        memory max reserved (GB): 48.0, rss (GB): 16.0 memory device used (GB): 5.0          (one line)

Given as memory/<infix>/<start|end>/<onload|offload>/<what>: the tags of ROLL's trackers without their device index,
as these are the numbers of one process and the trackers' the mean over ranks. device_used, the whole device's use by
every process, is logged nowhere else. The step is the pipeline's where the log tells it, else the number of the
probe. Source: roll/utils/context_managers.py (8eb27cc).
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import NUMBER

_MARK = ", memory allocated (GB): "
_PROBE = re.compile(
    rf"(\S{{1,200}})_(start|end)_(onload|offload), memory allocated \(GB\): ({NUMBER}), "
    rf"memory reserved \(GB\): ({NUMBER}), memory max reserved \(GB\): ({NUMBER}), "
    rf"rss \(GB\): ({NUMBER}),? memory device used \(GB\): ({NUMBER})",
    re.IGNORECASE | re.ASCII,
)
_BEFORE = 220
_WHAT = ("allocated", "reserved", "max_reserved", "rss", "device_used")


class RollMemoryReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._counts: dict[str, int] = {}

    def read(self, line: Line) -> bool:
        at = line.text.find(_MARK)
        if at < 0:
            return False
        start = line.text.rfind(" ", max(0, at - _BEFORE), at) + 1
        found = _PROBE.match(line.text, start)
        if found is None:
            return False
        place = f"memory/{found[1]}/{found[2]}/{found[3]}"
        count = self._counts.get(place, 0)
        self._counts[place] = count + 1
        step = count if self.sink.step is None else self.sink.step
        values = [(f"{place}/{what}", float(found[4 + index])) for index, what in enumerate(_WHAT)]
        known = self.sink.step
        self.sink.row(values, step, line)
        self.sink.step = known
        return True


FAMILY = Family("roll-memory", (_MARK,), RollMemoryReader, order=16)
