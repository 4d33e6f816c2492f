"""torchtitan: one coloured line per step.

    [titan] 2026-08-21 21:30:01,123 - root - INFO - step:  1  loss:  8.00000  grad_norm:  0.5000
            memory: 30.12GiB(38.02%)  tps: 7,012  tflops: 405.10  mfu: 40.95%      (one line)
    … - validate step:  10  loss:  7.5000  memory: 30.12GiB(38.02%)  tps: 7,012

Every pair of a name and a number is read, whatever its name: recipes add "step_time: 1.234s" or
"time_metrics/end_to_end(s): 1.23". The unit after a number is that of the metric. `memory` is the peak of reserved
memory, in GiB and in percent of the device: memory(GiB) and memory(%). The numbers of a validation are
validation_metrics/<name>, as in its other loggers. Source: torchtitan/components/metrics.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats.console.families import NUMBER, Family, Line, LineReader, Pair
from tuimon.formats.console.families._values import Quantity

_STEP = re.compile(r"(validate )?step:\s{1,20}(\d{1,18})\s{1,4}(?=[A-Za-z_])", re.ASCII)
_PAIR = re.compile(
    rf"(?<!\S)([A-Za-z_][\w./@-]{{0,80}}(?:\([^()\s]{{1,20}}\))?):\s{{0,20}}+"
    rf"(?:([+-]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?)|({NUMBER}))"
    rf"(?: ?(%|[mu]?s|sec|min|h|[kMGT]i?B|W|TFLOPS|[A-Za-z]{{1,15}}/s(?:ec)?)(?![^\s,;(]))?"
    rf" ?(?:\(({NUMBER})%\))?(?=[\s,;]|$)",
    re.IGNORECASE | re.ASCII,
)


class TorchtitanReader(LineReader):
    def read(self, line: Line) -> bool:
        match = _STEP.match(line.message)
        if match is None:
            return False
        prefix = "validation_metrics/" if match[1] else ""
        return self.sink.add_row(_pairs(line.message[match.end() :], prefix), int(match[2]), line)


def _pairs(text: str, prefix: str) -> Iterator[Pair]:
    for name, grouped, plain, unit, percent in _PAIR.findall(text):
        value = float(grouped.replace(",", "") or plain)
        if unit == "GiB":
            yield f"{prefix}{name}(GiB)", value
        else:
            yield prefix + name, Quantity(value, unit) if unit else value
        if percent:
            yield f"{prefix}{name}(%)", float(percent)


FAMILY = Family("torchtitan", ("step:",), TorchtitanReader, order=34)
