"""The tasks whose lines stand in one log (see _labels), each with readers, a step and a progress of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.formats._console import Family, Reader, Sink
from tuimon.formats._console._line import Line


class Task:
    """The lines of one task, or of a log that has but one: readers of its own, made when there is a line for them."""

    def __init__(self, families: Sequence[Family], sink: Sink) -> None:
        self.sink = sink
        self._families = families
        self._readers: dict[int, Reader] = {}

    def reader(self, index: int) -> Reader:
        """Of the family of that index."""
        known = self._readers.get(index)
        if known is None:
            known = self._readers[index] = self._families[index].reader(self.sink)
        return known

    def flush(self) -> None:
        for reader in self._readers.values():
            reader.flush()


class TaskSink(Sink):
    """Takes what one of several tasks has written. Its points go where those of the log go. A metric belongs to the
    task that gave it first, or to lines without a label before that, and is "<label>/<name>" of any other: what two
    tasks log are two series."""

    def __init__(self, log: Sink, label: str, owners: dict[str, str]) -> None:
        """owners: metric -> label of the task that it belongs to, the same for all tasks of a log."""
        super().__init__()
        self.marks = log.marks
        self.points = log.points
        self._log = log
        self._label = label
        self._owners = owners
        self._names: dict[str, str] = {}

    def guess(self, row: list[tuple[str, float]], step: int, line: Line) -> None:
        super().guess([(self._names.get(name) or self._named(name), value) for name, value in row], step, line)

    def progress(self, step: int, total: int) -> None:
        self._log.progress(step, total)

    def _named(self, name: str) -> str:
        if name not in self._owners:  # what is given already is of a line without a label
            self._owners[name] = "" if name in self.points.names else self._label
        owner = self._owners[name]
        self._names[name] = given = name if owner == self._label else f"{self._label}/{name}"
        return given
