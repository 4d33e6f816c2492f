"""Megatron-LM: fields separated by bars, printed by the last rank.

     [2026-08-22 15:22:01.123456] iteration       10/     500 | consumed samples:  640 | learning rate: 1.0E-05 | …
     validation loss at iteration 100 | lm loss value: 1.0E+01 | lm loss PPL: 2.2E+04 |          also "… on test set |"
    [Rank 0] (after 10 iterations) memory (MB) | allocated: 9334.4 | max allocated: 10606.5 | …

Names are kept as printed ("lm loss"). Those of a validation become validation/<name>, on the test set test/<name>,
those of the memory "memory (MB)/<name>/<rank>". Old versions print no timestamp.
Source: megatron/training/training.py, megatron/training/utils.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, pairs

_STEP = re.compile(r"\W{0,8}iteration\s{1,20}(\d{1,18})/\s{0,20}(\d{1,18}) \|", re.ASCII)
_VALIDATION = re.compile(r"\W{0,8}(validation|test) loss at (?:iteration )?(\d{1,18})([^|]{0,80})\|", re.ASCII)
_MEMORY = re.compile(r"\s*\[Rank (\d{1,9})\] \(after (\d{1,18}) iterations\) memory \(MB\) \|", re.ASCII)


class MegatronReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.message
        if match := _STEP.match(text):
            self.sink.report_progress(int(match[1]), int(match[2]))
            return self.sink.add_row(pairs(text[match.end() :], "|", ":"), int(match[1]), line)
        if match := _VALIDATION.match(text):
            prefix = "test/" if match[1] == "test" or "test set" in match[3] else "validation/"
            row = ((prefix + name, value) for name, value in pairs(text[match.end() :], "|", ":"))
            return self.sink.add_row(row, int(match[2]), line)
        if match := _MEMORY.match(line.text):
            fields = pairs(line.text[match.end() :], "|", ":")
            row = ((f"memory (MB)/{name}/{match[1]}", value) for name, value in fields)
            return self.sink.add_row(row, int(match[2]), line, keep_step=True)
        return False


FAMILY = Family("megatron", ("iteration", "loss at "), MegatronReader, order=36)
