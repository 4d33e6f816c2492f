"""torchtune's DiskLogger and StdoutLogger: `log_<time>.txt`.

    Step 4 | loss:nan lr:2e-05 tokens_per_second_per_gpu:1200.1 peak_memory_active:10.2

Source: torchtune/training/metric_logging.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats._console import Family, LineReader
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_STEP = re.compile(r"Step (\d{1,18}) \| ?(?=\S+:\S)", re.ASCII)


class TorchtuneReader(LineReader):
    def read(self, line: Line) -> bool:
        found = _STEP.match(line.message)
        return found is not None and self.sink.row(_pairs(line.message[found.end() :]), int(found[1]), line)


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    for pair in text.split():
        name, _, printed = pair.rpartition(":")
        value = number(printed)
        if name and value is not None:
            yield name, value


FAMILY = Family("torchtune", ("Step ",), TorchtuneReader, order=31)
