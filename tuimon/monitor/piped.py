"""Files that are shown under other names: spooled standard input, and mirrors of other machines.

The input is spooled to a private temporary file whose name is never shown to the user: the path of its run is "-". Once
the input has ended, the modification time of the file no longer says whether the run is alive, so an event reports it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from tuimon.model.events import Event, FactFound, Notice, RunFound, StreamFound, StreamStatus
from tuimon.model.links import RemotePath
from tuimon.model.points import Fact, Topic

NAME = "-"


class StdinPath(str):
    """The path of the temporary file that standard input is copied to."""

    ended: Callable[[], bool]
    """Return True once all input is in the file."""

    def __new__(cls, path: str, ended: Callable[[], bool]) -> StdinPath:
        self = super().__new__(cls, path)
        self.ended = ended
        return self


def shown_names(paths: Sequence[str]) -> list[str]:
    """Return the paths as the user sees them: absolute, "-" or "host:path"."""
    names = (
        NAME if isinstance(path, StdinPath) else path.shown if isinstance(path, RemotePath) else "" for path in paths
    )
    return [name or os.path.abspath(path) for name, path in zip(names, paths, strict=True)]


def remote_among(paths: Sequence[str | os.PathLike[str]]) -> tuple[RemotePath, ...]:
    """Return the paths of mirrors."""
    return tuple(path for path in paths if isinstance(path, RemotePath))


class Pipes:
    """Rewrite events of standard input and mirrors, and report the end of the input once."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self._open: dict[str, Callable[[], bool]] = {p: p.ended for p in paths if isinstance(p, StdinPath)}
        """Path -> StdinPath.ended, for inputs whose end has not been reported yet."""
        self._names = tuple(f"{os.path.dirname(path)}/" for path in self._open)
        self._streams: dict[str, int] = {}
        self._mirrors = remote_among(paths)

    def renamed(self, event: Event) -> Event:
        """Return `event` without the paths of temporary files and mirrors, and the input's writer."""
        if self._mirrors:
            event = _with_host_names(event, self._mirrors)
        if self._names:
            if isinstance(event, RunFound) and f"{event.path}/".startswith(self._names):
                return replace(event, path=NAME)
            if isinstance(event, StreamFound) and event.path in self._open:
                self._streams[event.path] = event.stream
            if isinstance(event, Notice):
                for path in self._open:
                    event = replace(event, message=event.message.replace(path, "standard input"))
            if isinstance(event, StreamStatus) and event.stream in self._open_streams():
                # The state of the temporary file says nothing about the program that writes into the pipe.
                return replace(event, writer="unknown", process="", copied=False)
        return event

    def _open_streams(self) -> set[int]:
        return {self._streams[path] for path in self._open if path in self._streams}

    @property
    def waiting(self) -> bool:
        """True while the end of at least one input has not been reported."""
        return bool(self._open)

    def has_pending(self) -> bool:
        """Return True if `end_events` would yield an event."""
        return any(path in self._streams for path in self.ended())

    def ended(self) -> list[str]:
        """Return the paths whose input has ended but is not reported yet. Call this before reading the files."""
        return [path for path, ended in self._open.items() if ended()]

    def end_events(self, ended: Sequence[str]) -> Iterator[Event]:
        """Yield one event for each path in `ended`, once. Call this after the files have been read."""
        for path in ended:
            if path in self._streams:
                del self._open[path]
                yield FactFound(self._streams[path], Fact(Topic.INPUT, {"ended": True}))


def _with_host_names(event: Event, paths: Sequence[RemotePath]) -> Event:
    """Return an event with the names of the host in place of paths of mirrors."""
    match event:
        case RunFound():
            for path in paths:
                if (name := path.name_of(event.path)) != event.path:
                    return replace(event, path=name, directory=event.path)
        case StreamStatus(message=message) if message:
            return replace(event, message=_hidden(message, paths))
        case Notice():
            return replace(event, message=_hidden(event.message, paths), hint=_hidden(event.hint, paths))
    return event


def _hidden(text: str, paths: Sequence[RemotePath]) -> str:
    for path in paths:
        text = path.hide(text)
    return text
