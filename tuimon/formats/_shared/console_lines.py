"""Assembly of console text that a logger recorded in pieces into lines."""

from __future__ import annotations

from tuimon.formats._shared.checkpoint_lines import MARKS, CheckpointFacts
from tuimon.model.points import Fact, Item, Topic

MAX_LINE = 1 << 16
"""Characters; a longer line is split."""
MAX_BATCH = 1000
"""Lines in one Fact."""


class ConsoleLines:
    """Lines of the streams (stdout, stderr) of one run. As on a screen, text that a carriage return overwrites is
    dropped, so that of a progress bar the last state is kept."""

    def __init__(self) -> None:
        self._pending: dict[str, str] = {}
        self._lines: list[str] = []
        self._times: list[float | None] = []
        self._checkpoints = CheckpointFacts()

    def add(self, stream: str, text: str, wall_time: float | None) -> None:
        """Add the next text of a stream, split anywhere."""
        *lines, rest = (self._pending.get(stream, "") + text).split("\n")
        for line in lines:
            self._line(line, wall_time)
        if len(rest) > MAX_LINE:
            rest = _visible(rest)
            while len(rest) > MAX_LINE:
                self._line(rest[:MAX_LINE], wall_time)
                rest = rest[MAX_LINE:]
        self._pending[stream] = rest

    def end(self, wall_time: float | None = None) -> None:
        """Note that the streams are closed, so that text without a newline is a line."""
        for rest in self._pending.values():
            if rest:
                self._line(rest, wall_time)
        self._pending = {}

    def _line(self, line: str, wall_time: float | None) -> None:
        text = _visible(line)
        self._lines.append(text)
        self._times.append(wall_time)
        if any(mark in text for mark in MARKS):
            self._checkpoints.read(text, wall_time)

    def take(self) -> list[Item]:
        """Return the lines since the last call as facts: "times" (seconds since the epoch or None) and "lines", of
        equal length. The facts about checkpoints come first."""
        facts: list[Item] = list(self._checkpoints.take())
        for start in range(0, len(self._lines), MAX_BATCH):
            lines, times = self._lines[start : start + MAX_BATCH], self._times[start : start + MAX_BATCH]
            facts.append(Fact(Topic.CONSOLE, {"lines": lines, "times": times}, wall_time=times[0]))
        self._lines, self._times = [], []
        return facts


def _visible(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]
