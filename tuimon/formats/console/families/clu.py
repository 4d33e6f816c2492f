"""clu's LoggingWriter (Flax, Scenic, big_vision): the step in brackets, after absl's prefix.

    I0503 10:00:01.123456 140123 logging_writer.py:48] [100] accuracy=0.5, loss=2.27, steps/sec=12.3

Source: clu/metric_writers/logging_writer.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, pairs

_STEP = re.compile(r".{0,60}?\blogging_writer\.py:\d{1,6}\] \[(\d{1,18})\] (?=\S+=)", re.ASCII)


class CluReader(LineReader):
    def read(self, line: Line) -> bool:
        match = _STEP.match(line.text)
        return match is not None and self.sink.add_row(pairs(line.text[match.end() :], ", ", "="), int(match[1]), line)


FAMILY = Family("clu", ("logging_writer.py:",), CluReader, order=31)
