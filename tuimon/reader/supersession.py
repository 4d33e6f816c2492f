"""Read only the newest of several files that repeat one another, such as the trainer_state.json of each checkpoint."""

from __future__ import annotations

from tuimon.formats import Format
from tuimon.reader.follow import Followed
from tuimon.sources.listing import SAME_SAVE, checkpoint_age
from tuimon.sources.scan import FoundFile


class Supersession:
    """The file that is followed of each set of files with the same key (Format.supersedes)."""

    def __init__(self) -> None:
        self._followed: dict[str, Followed] = {}
        """By key."""

    @staticmethod
    def sort_key(file: FoundFile, log_format: Format) -> tuple[int, float, int, int]:
        """A key that sorts the newest file of a set first, so that the others need not be read, after other files."""
        if log_format.supersedes is None:
            return (0, 0.0, 0, 0)
        saved, number = _age(file.path, file.modified)
        return (1, -saved, -number, -file.size)

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
    """Is the file newer than the one at `path`? By its time; else by the number of its checkpoint; else by its size.

    The numbers come first because without a new row between two saves the later file may be the smaller one (epoch
    2.99, then 3.0)."""
    difference = file.modified - modified
    if abs(difference) > SAME_SAVE:
        return difference > 0
    (_, ours), (_, theirs) = _age(file.path, modified), _age(path, modified)
    return file.size > size if not ours or not theirs or ours == theirs else ours > theirs


def _age(path: str, modified: float) -> tuple[float, int]:
    """Return the age of the checkpoint that contains a file; the number is 0 outside of checkpoints."""
    above = path.split("/")[-2::-1]
    return checkpoint_age(next((name for name in above if "checkpoint-" in name), ""), modified)
