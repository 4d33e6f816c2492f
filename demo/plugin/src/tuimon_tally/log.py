"""Tally logs: a first line `#tally 1`, then a line `<step> <metric> <value>` for each point.

Source: this file defines the format.
"""

from __future__ import annotations

import re

from tuimon.formats import Format, StreamDecoder
from tuimon.model.points import Damage, Item, PointsBuilder

_POINT = re.compile(rb"(-?\d{1,18}) (\S{1,200}) ([-+.\deE]+|nan|inf|-inf)")
_LONGEST = 1000
"""Longest line (bytes)."""


class TallyDecoder(StreamDecoder):
    """Decodes whole lines and keeps the rest for the next call."""

    def __init__(self) -> None:
        self._points = PointsBuilder()
        self._rest = b""
        self._offset = 0
        """Position of `_rest` in the file."""
        self._in_long_line = False

    def feed(self, data: bytes) -> list[Item]:
        damage: list[Item] = []
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self._in_long_line:
                self._read(line, damage)
            self._in_long_line = False
            self._offset += len(line) + 1
        if len(rest) > _LONGEST:
            if not self._in_long_line:
                damage.append(Damage(self._offset, len(rest), "a line is too long"))
            self._in_long_line = True
            self._offset += len(rest)
            rest = b""
        self._rest = rest
        return [*self._points.take(), *damage]

    def _read(self, line: bytes, damage: list[Item]) -> None:
        try:
            if len(line) <= _LONGEST and (match := _POINT.fullmatch(line)):
                self._points.add(match[2].decode("utf-8", "replace"), int(match[1]), float(match[3]))
                return
        except ValueError:  # 1e5e5
            pass
        if line and not line.startswith(b"#"):
            damage.append(Damage(self._offset, len(line) + 1, "not a point"))

    def flush(self) -> list[Item]:
        return []  # without its newline the last number may be incomplete


FORMAT = Format(
    "tally",
    "tally log",
    "tuimon-tally 1.0",
    30,
    matches=lambda name, head: head.startswith(b"#tally 1\n"),
    decoder=TallyDecoder,
    wants_name=lambda name: name.endswith(".tally"),
)
