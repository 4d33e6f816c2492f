"""Files that repeat one another, the trainer_state.json of checkpoints: only the newest is read."""

from __future__ import annotations

from tuimon.formats import Format
from tuimon.reader.follow import Followed
from tuimon.sources.scan import FoundFile

SAME_SAVE = 60.0
"""Seconds within which time stamps do not tell which of two copies is the newer (a copied directory)."""


class Newest:
    """Of each set of such files the one that is followed, by Format.supersedes."""

    def __init__(self) -> None:
        self._followed: dict[str, Followed] = {}

    @staticmethod
    def order(file: FoundFile, log_format: Format) -> tuple[int, float, int]:
        """A key that sorts the newest first, so the others need not be read at all; other files before them."""
        if log_format.supersedes is None:
            return (0, 0.0, 0)
        return (1, -(file.modified // SAME_SAVE), -file.size)

    def newer_than(self, file: FoundFile, log_format: Format) -> Followed | None:
        """The one that makes this file superfluous. Written at the same time: the longest is the newest."""
        known = self._followed.get(log_format.supersedes(file.path)) if log_format.supersedes else None
        if known is None:
            return None
        modified = (
            max(known.since.modified, known.modified) if known.modified == known.modified else known.since.modified
        )
        apart = file.modified - modified
        newer = apart > 0 if abs(apart) > SAME_SAVE else file.size > max(known.since.size, known.size)
        return None if newer else known

    def put(self, followed: Followed) -> Followed | None:
        """It is followed now; gives the one whose place it takes."""
        if followed.format.supersedes is None:
            return None
        key = followed.format.supersedes(followed.path)
        older = self._followed.get(key)
        self._followed[key] = followed
        return older
