"""nanotron: fields separated by bars, numbers from 1000 on with three digits and a factor.

    11/25/2026 10:00:02 [INFO|DP=0|PP=0|TP=0|node1]: iteration: 1 / 500 | consumed_tokens: 524K | lm_loss: 9.9 | …

K, M, G or B, T, P and E are powers of 1000, also of memory, which is in bytes whatever its name says
("hd_total_memory_tb: 312G"): `human_format` is never called with `divide_by_1024`. Source: nanotron/logging/base.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Quantity, number

_HEAD = re.compile(r"iteration: (\d{1,18}) / (\d{1,18}) \| ", re.ASCII)
_SHORTENED = re.compile(r"(-?\d{1,3}(?:\.\d{1,6})?)([KMGBTPE])", re.ASCII)
_EXPONENTS = {"K": 3, "M": 6, "G": 9, "B": 9, "T": 12, "P": 15, "E": 18}


class NanotronReader(LineReader):
    def read(self, line: Line) -> bool:
        head = _HEAD.match(line.message)
        if head is None:
            return False
        self.sink.report_progress(int(head[1]), int(head[2]))
        return self.sink.add_row(_fields(line.message[head.end() :]), int(head[1]), line)

    def reads_alone(self, line: Line) -> bool:
        return True


def _fields(text: str) -> Iterator[Pair]:
    for part in text.split(" | "):
        name, _, printed = part.partition(": ")
        shortened = _SHORTENED.fullmatch(printed)
        value = float(f"{shortened[1]}e{_EXPONENTS[shortened[2]]}") if shortened else number(printed)
        if value is not None and name:
            yield name, Quantity(value, "B") if "memory" in name else value


FAMILY = Family("nanotron", ("iteration: ",), NanotronReader, order=36)
