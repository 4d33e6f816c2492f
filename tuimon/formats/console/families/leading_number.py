"""Lines that begin with a bare step.

    1: loss 0.5                   3/14: loss=0.5, acc=0.8             100 | loss: 0.5 | acc: 0.8
    7 [D loss: 0.69, acc.: 50%] [G loss: 0.7]                         1000000: reward=3.5
    [100] loss=0.5, acc=0.8                                           T5X and other logs of clu without absl's prefix
    10: 2.2, 2.3 avg loss, 0.001 rate, 3.1 seconds, 640 images        Darknet

The line needs the name of a result of training and a number with a fraction.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import NUMBER, Family, Line, LineReader
from tuimon.formats.console.families._line import without_prefix
from tuimon.formats.console.families._pairs import FRACTION, METRIC_MARKS, metric_pairs, names_a_metric

_HEAD = re.compile(
    r"\s{0,12}(?P<step>\d{1,15})(?: ?/ ?(?P<total>\d{1,15}))?(?: ?[:|,)-])?\s{1,12}"
    r"(?!(?:[mu]?s|min|h|[kMGT]i?B|[A-Za-z]{1,15}/[A-Za-z]{1,9})\b)(?=[A-Za-z|]|\[(?![=>.]))",
    re.ASCII,
)
"""The step, which no unit follows."""
_BRACKET = re.compile(r"\[ {0,10}(?P<step>\d{1,15})\]:?\s{1,8}(?=[A-Za-z])", re.ASCII)
_DARKNET = re.compile(
    rf"\s{{0,4}}(\d{{1,12}}): ({NUMBER}), ({NUMBER}) avg(?: loss)?, ({NUMBER}) rate, ({NUMBER}) seconds", re.ASCII
)
_WITHIN = 160
_MAX_LENGTH = 4000


class LeadingNumberReader(LineReader):
    def read(self, line: Line) -> bool:
        if len(line.text) > _MAX_LENGTH or "%|" in line.text:
            return False
        if match := _DARKNET.match(line.text):
            names = ("loss", "avg loss", "rate", "seconds")
            return self.sink.add_row(zip(names, map(float, match.groups()[1:]), strict=True), int(match[1]), line)
        text, head = line.message, _HEAD.match(line.message)
        if head is None:
            text, head = line.text, _BRACKET.search(line.text, 0, _WITHIN)
            if head is None or without_prefix(text[: head.start()]):
                return False
        values = metric_pairs(text[head.end() :])
        if not names_a_metric(values) or not FRACTION.search(text, head.end()):
            return False
        step, total = int(head["step"]), head.groupdict().get("total")
        if total is not None:
            if step > int(total):
                return False
            self.sink.report_progress(step, int(total))
        return self.sink.add_row(values, step, line)


FAMILY = Family(
    "leading-number",
    (*METRIC_MARKS, "avg"),
    LeadingNumberReader,
    order=96,
)
