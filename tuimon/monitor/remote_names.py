"""Show runs of other machines under their names there, not by paths of mirrors."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from tuimon.model.events import Event, Notice, RunFound, StreamStatus
from tuimon.model.links import RemotePath


def remote_among(paths: Sequence[str | os.PathLike[str]]) -> tuple[RemotePath, ...]:
    """Return the paths of mirrors."""
    return tuple(path for path in paths if isinstance(path, RemotePath))


def renamed(event: Event, paths: Sequence[RemotePath]) -> Event:
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
