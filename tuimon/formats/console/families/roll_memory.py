"""ROLL's memory probes: the first 20 of each process report the device memory before and after a phase, in GiB.

    […] actor_train/train_step_start_offload, memory allocated (GB): 2.0, memory reserved (GB): 4.0,
        memory max reserved (GB): 48.0, rss (GB): 16.0 memory device used (GB): 5.0          (one line)

The metrics are memory/<infix>/<start|end>/<onload|offload>/<name>: the tags of ROLL's trackers without their device
index, as these are the numbers of one process and those of the trackers the mean over ranks. device_used, the use of
the whole device by all processes, is logged nowhere else. The step is that of the pipeline if the log names it, else
the number of the probe. Source: roll/utils/context_managers.py (8eb27cc).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Sink

_MARK = ", memory allocated (GB): "
_PROBE = re.compile(
    rf"(\S{{1,200}})_(start|end)_(onload|offload), memory allocated \(GB\): ({NUMBER}), "
    rf"memory reserved \(GB\): ({NUMBER}), memory max reserved \(GB\): ({NUMBER}), "
    rf"rss \(GB\): ({NUMBER}),? memory device used \(GB\): ({NUMBER})",
    re.IGNORECASE | re.ASCII,
)
_BEFORE = 220
_NAMES = ("allocated", "reserved", "max_reserved", "rss", "device_used")


class RollMemoryReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._counts: dict[str, int] = {}

    def read(self, line: Line) -> bool:
        mark = line.text.find(_MARK)
        if mark < 0:
            return False
        probe = _PROBE.match(line.text, line.text.rfind(" ", max(0, mark - _BEFORE), mark) + 1)
        if probe is None:
            return False
        phase = f"memory/{probe[1]}/{probe[2]}/{probe[3]}"
        count = self._counts.get(phase, 0)
        self._counts[phase] = count + 1
        step = count if self.sink.step is None and not self.sink.interrupted else self.sink.step
        values = [(f"{phase}/{name}", float(probe[4 + index])) for index, name in enumerate(_NAMES)]
        return self.sink.add_row(values, step, line, keep_step=True)


FAMILY = Family("roll-memory", (_MARK,), RollMemoryReader, order=16)
