"""Read only the newest of several files that repeat one another, such as the trainer_state.json of each checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from tuimon import lazy_re as re
from tuimon.formats import Format, all_formats
from tuimon.reader.follow import Followed
from tuimon.sources.scan import FoundFile

SAME_SAVE = 60.0
"""Difference (s) of time stamps up to which they do not decide which of two copies is newer (a copied directory).

Then the numbers of the checkpoints decide, or else the sizes. The numbers come first because without a new row between
two saves the later file may be the smaller one (epoch 2.99, then 3.0)."""
_NUMBER = re.compile(r"/(?:tmp-)?checkpoint-(\d{1,15})(?=/)")


class Supersession:
    """The file that is read of each set of files with the same key (Format.supersedes)."""

    def __init__(self) -> None:
        self._followed: dict[str, Followed] = {}
        """The file that is followed, by key."""
        self._recognised: dict[str, FoundFile] = {}
        """The newest file that was recognised, by key; it may not be followed yet."""
        self._superseded: dict[str, tuple[int, float]] = {}
        """(size, time of change) of files that need not be read, by path."""

    def in_order(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """The files that may have to be opened: first those without a key, then the others, newest first."""
        keyed = [(self.sort_key(file, _format_of_name(os.path.basename(file.path))), file) for file in files]
        keyed = [(key, file) for key, file in keyed if not key[0] or not self._is_unchanged(file)]
        return [file for _, file in sorted(keyed, key=lambda pair: pair[0])]

    def _is_unchanged(self, file: FoundFile) -> bool:
        return self._superseded.get(file.path) == (file.size, file.modified)

    def newer_path(self, file: FoundFile) -> str:
        """Path of a newer file that makes it unnecessary to open this one, or ""."""
        log_format = _format_of_name(os.path.basename(file.path))
        if log_format is None or log_format.supersedes is None:
            return ""
        followed = self.newer(file, log_format)
        known = self._recognised.get(log_format.supersedes(file.path))
        newer = followed.path if followed is not None else ""
        if not newer and known is not None and not _is_newer(file, known.path, known.modified, known.size):
            newer = known.path
        if newer:
            self._superseded[file.path] = file.size, file.modified
        return newer

    def recognised(self, file: FoundFile, log_format: Format) -> None:
        """Note that the file is of this format."""
        if log_format.supersedes is not None:
            self._recognised[log_format.supersedes(file.path)] = file

    @staticmethod
    def sort_key(file: FoundFile, log_format: Format | None) -> tuple[int, float, int, int]:
        """A key that sorts the newest file of a set first, so that the others need not be read, after other files."""
        if log_format is None or log_format.supersedes is None:
            return (0, 0.0, 0, 0)
        number = _checkpoint_number(file.path)
        return (1, -(file.modified // SAME_SAVE), 0 if number is None else -number, -file.size)

    def newer(self, file: FoundFile, log_format: Format) -> Followed | None:
        """The followed file that is newer than this one, or None."""
        known = self._followed.get(log_format.supersedes(file.path)) if log_format.supersedes else None
        if known is None:
            return None
        modified = max(known.since.modified, known.modified)  # max() returns the first if the second is NaN
        return None if _is_newer(file, known.path, modified, max(known.since.size, known.size)) else known

    def follow(self, followed: Followed) -> Followed | None:
        """Note that the file is followed; return the one that it replaces, or None."""
        if followed.format.supersedes is None:
            return None
        key = followed.format.supersedes(followed.path)
        older = self._followed.get(key)
        self._followed[key] = followed
        return older


def _is_newer(file: FoundFile, path: str, modified: float, size: int) -> bool:
    """Is the file newer than the one at `path`?"""
    difference = file.modified - modified
    if abs(difference) > SAME_SAVE:
        return difference > 0
    ours, theirs = _checkpoint_number(file.path), _checkpoint_number(path)
    return file.size > size if ours is None or theirs is None or ours == theirs else ours > theirs


def _checkpoint_number(path: str) -> int | None:
    """Number of the checkpoint that contains the file, or None."""
    numbers = _NUMBER.findall(path)
    return int(numbers[-1]) if numbers else None


@lru_cache(maxsize=4096)
def _format_of_name(name: str) -> Format | None:
    """The format with `supersedes` that files of this name have, if they are logs; None if there is no such format."""
    return next((f for f in all_formats() if f.supersedes is not None and f.wants_name(name)), None)
