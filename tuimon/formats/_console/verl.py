"""verl, and AgentJet on top of it: one line a step, numbers only.

    step:7 - actor/pg_loss:np.float64(0.0094) - val-core/openai/gsm8k/reward/mean@1:0.31 - timing_s/gen:13.9

Up to 0.4 the values are cut to three decimals; since 0.5 they are Python's repr. Step 0 is a validation before the
training. Source: verl/utils/logger/aggregate_logger.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats._console import Family, LineReader
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_STEP = re.compile(r"step:(\d{1,18}) - ", re.ASCII)


class VerlReader(LineReader):
    def read(self, line: Line) -> bool:
        found = _STEP.match(line.message)
        return found is not None and self.sink.row(_pairs(line.message[found.end() :]), int(found[1]), line)


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    for pair in text.split(" - "):
        key, _, printed = pair.rpartition(":")
        value = number(printed.strip())
        if key and value is not None:
            yield key, value


FAMILY = Family("verl", ("step:",), VerlReader, order=10)
