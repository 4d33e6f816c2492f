"""Standard input as a path: what comes through a pipe lies in a private file, which nobody shall see the name of.

Its run is at "-", and once the pipe has ended no time of that file says whether the run lives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from tuimon.model.events import Event, FactFound, RunFound, StreamFound
from tuimon.model.points import Fact

NAME = "-"


class Piped(str):
    """A path of a file that holds what has come through standard input."""

    ended: Callable[[], bool]
    """Whether all of it has come."""

    def __new__(cls, path: str, ended: Callable[[], bool]) -> Piped:
        made = super().__new__(cls, path)
        made.ended = ended
        return made


class Pipes:
    """What is told of the runs of pipes."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self._waiting: dict[str, Callable[[], bool]] = {p: p.ended for p in paths if isinstance(p, Piped)}
        """Of those that have not ended, as far as has been told."""
        self._names = tuple(f"{os.path.dirname(path)}/" for path in self._waiting)
        self._streams: dict[str, int] = {}

    def renamed(self, event: Event) -> Event:
        """The event as others shall know it."""
        if self._names:
            if isinstance(event, RunFound) and f"{event.path}/".startswith(self._names):
                return replace(event, path=NAME)
            if isinstance(event, StreamFound) and event.path in self._waiting:
                self._streams[event.path] = event.stream
        return event

    @property
    def waiting(self) -> bool:
        """Whether any has not been told to have ended."""
        return bool(self._waiting)

    def have_news(self) -> bool:
        """Whether `told` has something to tell."""
        return any(path in self._streams for path in self.ended())

    def ended(self) -> list[str]:
        """Those of which all has come and that have not been told yet. To be asked before what they hold is read."""
        return [path for path, ended in self._waiting.items() if ended()]

    def told(self, ended: Sequence[str]) -> Iterator[Event]:
        """That they have; once. To be told after it was read."""
        for path in ended:
            if path in self._streams:
                del self._waiting[path]
                yield FactFound(self._streams[path], Fact("input", {"ended": True}))
