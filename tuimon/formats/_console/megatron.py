"""Megatron-LM: fields between bars, printed by the last rank.

     [2026-08-22 15:22:01.123456] iteration       10/     500 | consumed samples:  640 | learning rate: 1.0E-05 | …
     validation loss at iteration 100 | lm loss value: 1.0E+01 | lm loss PPL: 2.2E+04 |          also "… on test set |"
    [Rank 0] (after 10 iterations) memory (MB) | allocated: 9334.4 | max allocated: 10606.5 | …

Names stay as printed ("lm loss"); those of a validation get "validation/", on the test set "test/", those of the memory
"memory (MB)/" and the rank behind them. Old versions have no time stamp.
Source: megatron/training/training.py, megatron/training/utils.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats._console import Family, LineReader
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_STEP = re.compile(r"\W{0,8}iteration\s{1,20}(\d{1,18})/\s{0,20}(\d{1,18}) \|", re.ASCII)
_VALIDATION = re.compile(r"\W{0,8}(validation|test) loss at (?:iteration )?(\d{1,18})([^|]{0,80})\|", re.ASCII)
_MEMORY = re.compile(r"\s*\[Rank (\d{1,9})\] \(after (\d{1,18}) iterations\) memory \(MB\) \|", re.ASCII)


class MegatronReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.message
        if found := _STEP.match(text):
            self.sink.progress(int(found[1]), int(found[2]))
            return self.sink.row(_fields(text[found.end() :]), int(found[1]), line)
        if found := _VALIDATION.match(text):
            prefix = "test/" if found[1] == "test" or "test set" in found[3] else "validation/"
            return self.sink.row(_fields(text[found.end() :], prefix), int(found[2]), line)
        if found := _MEMORY.match(line.text):
            values = _fields(line.text[found.end() :], "memory (MB)/", f"/{found[1]}")
            known = self.sink.step
            used = self.sink.row(values, int(found[2]), line)
            self.sink.step = known
            return used
        return False


def _fields(text: str, before: str = "", behind: str = "") -> Iterator[tuple[str, float]]:
    for field in text.split("|"):
        label, _, printed = field.rpartition(":")
        value = number(printed.strip())
        if label.strip() and value is not None:
            yield f"{before}{label.strip()}{behind}", value


FAMILY = Family("megatron", ("iteration", "loss at "), MegatronReader, order=36)
