"""Families of console lines: each module that has a FAMILY is one, found by the registry.

A family names the marks that its lines hold, as they are in the file, so that lines without any are never looked at,
and makes a reader: an object that keeps what it must remember of one log (the step, an open table) and gives what it
reads to the Sink. A line is shown to the readers in their order until one of them has used it. The
patterns that a user has written in the settings are a family like any other, made by _own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Protocol

from msgspec import Struct

from tuimon.formats._console._line import Line
from tuimon.model.points import Fact, Item, PointsBuilder
from tuimon.registry import discover


class Reader(Protocol):
    """What knows one shape of lines."""

    def read(self, line: Line) -> bool:
        """Has it used this line? Never raises for what the line says."""
        ...

    def flush(self) -> None:
        """No more lines for now: gives what it has kept back and cannot wait for."""
        ...


class LineReader:
    """A Reader that keeps nothing back."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def flush(self) -> None:
        return


class Family(Struct, frozen=True):
    """One shape of lines."""

    id: str
    marks: tuple[str, ...]
    """Each line that is read holds at least one of them."""
    reader: Callable[[Sink], Reader]
    order: int = 50
    """The lower, the earlier it is asked: strict shapes first, "step 3 loss 0.5" last."""
    closes: bool = False
    """Does a bracket say where such a line ends, so that it is read though its newline has not come?"""


class Sink:
    """Takes what the readers of one log have read."""

    def __init__(self) -> None:
        self.step: int | None = None
        """Of the last row, whoever read it: lines that name no step belong to it."""
        self.last_row: list[tuple[str, float]] = []
        self.rows = 0
        """How many have come."""
        self.kept = 0
        """How many a reader has kept back, to give them later."""
        self.disproved = False
        """See StreamDecoder."""
        self.marks: list[tuple[int, int]] | None = None
        """(offset of its line, step) of each row that says its step; None: nobody wants to know."""
        self.points = PointsBuilder()
        """What is ready to be given."""
        self._facts: list[Item] = []
        self._total: int | None = None

    def row(self, values: Iterable[tuple[str, float]], step: int, line: Line, counted: bool = False) -> bool:
        """The numbers that were logged together at a step; False if there are none. counted: from the log's beginning,
        as nothing says the step."""
        row = list(values)
        if not row:
            return False
        self.guess(row, step, line)
        self.confirm(row, step)
        if self.marks is not None and not counted:
            self.marks.append((line.offset, step))
        return True

    def guess(self, row: list[tuple[str, float]], step: int, line: Line) -> None:
        """The points of a row whose step is not certain, as no more lines come for now. The row itself comes when it
        is: confirm it then, or say that it is disproved."""
        for name, value in row:
            self.points.add(name, step, value, line.time)

    def confirm(self, row: list[tuple[str, float]], step: int) -> None:
        """A row whose points were given by a guess that was right."""
        self.step, self.last_row = step, row
        self.rows += 1

    def progress(self, step: int, total: int) -> None:
        """How many steps there will be; told when it changes."""
        if total != self._total and total > 0:
            self._total = total
            self._facts.append(Fact("progress", {"step": step, "total": total}))

    def take(self) -> list[Item]:
        """At most one Points, then facts."""
        facts, self._facts = self._facts, []
        return [*self.points.take(), *facts]

    def __len__(self) -> int:
        return len(self.points)


@cache
def families() -> tuple[Family, ...]:
    """Every family there is, in the order in which they are asked."""
    found: tuple[Family, ...] = discover("tuimon.formats._console", "FAMILY")
    return tuple(sorted(found, key=lambda family: family.order))
