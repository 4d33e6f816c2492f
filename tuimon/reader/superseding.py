"""Files that repeat one another, the trainer_state.json of checkpoints: only the newest is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from tuimon.formats import Format, all_formats
from tuimon.reader.follow import Followed
from tuimon.sources.scan import FoundFile

SAME_SAVE = 60.0
"""Seconds within which time stamps do not tell which of two copies is the newer (a copied directory): their numbers do,
and their sizes where they have none. Without a new row between them the later may be the smaller: epoch 2.99, 3.0."""
_NUMBER = re.compile(r"/(?:tmp-)?checkpoint-(\d{1,15})(?=/)")


class Newest:
    """Of each set of such files the one that is followed, by Format.supersedes."""

    def __init__(self) -> None:
        self._followed: dict[str, Followed] = {}
        self._recognised: dict[str, FoundFile] = {}
        """The newest that was opened, before it is followed."""
        self._repeats: dict[str, tuple[int, float]] = {}
        """Path -> (size, time of change) of those that were found to be superfluous."""

    def in_order(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Those worth opening, as far as their names tell, such files last and the newest of them first."""
        keyed = [(self.order(file, _by_name(os.path.basename(file.path))), file) for file in files]
        keyed = [(key, file) for key, file in keyed if not key[0] or not self._is_old(file)]
        return [file for _, file in sorted(keyed, key=lambda one: one[0])]

    def _is_old(self, file: FoundFile) -> bool:
        return self._repeats.get(file.path) == (file.size, file.modified)

    def repeated_by(self, file: FoundFile) -> str:
        """The path of a newer one that makes this file superfluous, which so need not be opened; "" where none does."""
        log_format = _by_name(os.path.basename(file.path))
        if log_format is None or log_format.supersedes is None:
            return ""
        followed = self.newer_than(file, log_format)
        known = self._recognised.get(log_format.supersedes(file.path))
        newer = followed.path if followed is not None else ""
        if not newer and known is not None and not _is_newer(file, known.path, known.modified, known.size):
            newer = known.path
        if newer:
            self._repeats[file.path] = file.size, file.modified
        return newer

    def recognised(self, file: FoundFile, log_format: Format) -> None:
        """The file is of this format."""
        if log_format.supersedes is not None:
            self._recognised[log_format.supersedes(file.path)] = file

    @staticmethod
    def order(file: FoundFile, log_format: Format | None) -> tuple[int, float, int, int]:
        """A key that sorts the newest first, so the others need not be read at all; other files before them."""
        if log_format is None or log_format.supersedes is None:
            return (0, 0.0, 0, 0)
        number = _number(file.path)
        return (1, -(file.modified // SAME_SAVE), 0 if number is None else -number, -file.size)

    def newer_than(self, file: FoundFile, log_format: Format) -> Followed | None:
        """The one that makes this file superfluous."""
        known = self._followed.get(log_format.supersedes(file.path)) if log_format.supersedes else None
        if known is None:
            return None
        modified = (
            max(known.since.modified, known.modified) if known.modified == known.modified else known.since.modified
        )
        return None if _is_newer(file, known.path, modified, max(known.since.size, known.size)) else known

    def put(self, followed: Followed) -> Followed | None:
        """It is followed now; gives the one whose place it takes."""
        if followed.format.supersedes is None:
            return None
        key = followed.format.supersedes(followed.path)
        older = self._followed.get(key)
        self._followed[key] = followed
        return older


def _is_newer(file: FoundFile, path: str, modified: float, size: int) -> bool:
    """Than the one at `path`."""
    apart = file.modified - modified
    if abs(apart) > SAME_SAVE:
        return apart > 0
    ours, theirs = _number(file.path), _number(path)
    return file.size > size if ours is None or theirs is None or ours == theirs else ours > theirs


def _number(path: str) -> int | None:
    """Of the checkpoint that the file lies in; None outside of any."""
    found = _NUMBER.findall(path)
    return int(found[-1]) if found else None


@lru_cache(maxsize=4096)
def _by_name(name: str) -> Format | None:
    """The format with such files that one of this name, the same in each checkpoint, must be of, if it is a log."""
    return next((f for f in all_formats() if f.supersedes is not None and f.wants_name(name)), None)
