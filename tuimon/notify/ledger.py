"""File of the news that each channel has received. A restart of `tuimon check --follow` does not repeat them.

`$XDG_STATE_HOME/tuimon/told/<hash of the paths>.json` holds, for each channel, the stage of each of the news by its id.
The file names no address of a channel and no run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tuimon.errors import UsageError
from tuimon.notify.outbox import Channel
from tuimon.replacing import make_private, replace_content

_MOST = 20_000
"""Number of the newest news that are remembered for a channel."""


class Ledger:
    """Stages of the news that each channel has got; of one process at a time."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Read the file. Raises UsageError if another process watches the same paths."""
        self._file = _file_of(paths)
        make_private(self._file.parent)
        self._lock = threading.Lock()
        self._held = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._held)
            raise UsageError("another `tuimon check --follow` watches these paths", "Stop it first.") from error
        self._told: dict[str, dict[str, int]] = {}
        with suppress(OSError, ValueError):  # there is none, or it was damaged by hand
            for key, stages in json.loads(self._file.read_bytes()).items():
                newest = list(stages.items())[-_MOST:]
                self._told[key] = {id: stage for id, stage in newest if isinstance(stage, int)}

    def told(self, channel: Channel) -> Mapping[str, int] | None:
        """Return the stages that a channel was told, by the ids of the news; None for a new channel."""
        return self._told.get(_channel_key(channel))

    def add(self, channel: Channel, stages: Mapping[str, int]) -> None:
        """Note what a channel has got; from any thread. Raises OSError, such as on a full disk."""
        with self._lock:
            self._told.setdefault(_channel_key(channel), {}).update(stages)
            replace_content(self._file, json.dumps(self._told).encode(), 0o600)

    def close(self) -> None:
        os.close(self._held)


def is_watched(paths: Sequence[str]) -> bool:
    """Return whether a `tuimon check --follow` of these paths runs and sends their news."""
    try:
        with open(_file_of(paths).with_suffix(".lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def _file_of(paths: Sequence[str]) -> Path:
    from platformdirs import user_state_path

    name = _digest_of_texts(*sorted(map(os.path.abspath, paths)))
    return user_state_path("tuimon") / "told" / f"{name}.json"


def _channel_key(channel: Channel) -> str:
    """Return a digest of the settings of a channel: one with another address is another channel."""
    settings = (getattr(channel, name) for name in getattr(channel, "__struct_fields__", ()))
    return _digest_of_texts(channel.name, *(repr(setting) for setting in settings if not callable(setting)))


def _digest_of_texts(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
