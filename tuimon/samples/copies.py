"""Find texts that were read before: a table that a board keeps beside the files that the trainer wrote repeats them.

A text of a step is repeated if a file of another kind has the same prompt, response and reward, or an earlier table of
W&B of the same name, as each table may contain all rows of the table before. Files of one shape in one directory, or
with one name, repeat nothing: several ranks or runs may generate the same text. Files that usually have all texts are
read before those that have some.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from tuimon import lazy_re as re
from tuimon.samples import Sample
from tuimon.samples.named_in_path import split_of_path, step_of_path
from tuimon.samples.parts import SPECIAL, parts_of

_DIGITS = re.compile(r"\d+")
_TABLE = re.compile(r"_\d+_[0-9a-f]+\.table\.json$")
_SHAPES = ("json_lines", "parquet", "beast_logger", "json_documents", "inspect_logs", "databases", "tensorboard_text")
"""Shapes in the order in which they are read; consoles, which print some texts of a step, are the last."""


class Source(NamedTuple):
    """Files of one shape, directory and name, or whose directories and names differ in numbers only."""

    shape: str
    """Id of the shape."""
    folder: str
    """Directory relative to the searched one, with # for each number."""
    name: str
    """Name of the file, with # for each number."""
    split: str


class _File(NamedTuple):
    """A file that may repeat another."""

    source: Source
    table: str
    """Path of a table of W&B without its number; "" for other files."""
    path: str
    """Path of a table."""

    def repeats(self, other: _File) -> bool:
        """Return whether an equal text is the same one."""
        if self.table and self.table == other.table:
            return self.path != other.path
        return are_kinds((self.source, other.source))


class Repeats:
    """The texts that were read so far."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """sources: those of all files that are going to be read."""
        self._has_kinds = are_kinds(sources)
        self._known: dict[tuple[object, ...], set[_File]] = {}
        """Files with a text, and with a text of a reward."""

    def repeated(self, sample: Sample, source: Source, below: str) -> bool:
        """Return whether a text was read before. below: path of its file relative to the searched directory."""
        table = _TABLE.search(below)
        if not self._has_kinds and table is None:
            return False
        file = _File(source, below[: table.start()] if table else "", below if table else "")
        text = sample.step, sample.split, hash(tuple(map(_plain, parts_of(sample))))
        reward = sample.reward
        key = (*text, float(f"{reward:.6g}")) if reward is not None and not math.isnan(reward) else text
        if any(file.repeats(other) for other in self._known.get(key, ())):
            return True
        for part in (text, key):
            self._known.setdefault(part, set()).add(file)
        return False


def are_kinds(sources: Iterable[Source]) -> bool:
    """Return whether sources are of several kinds: shapes, or both directories and names."""
    known = set(sources)
    shapes, folders, names = ({source[place] for source in known} for place in range(3))
    return len(shapes) > 1 or (len(folders) > 1 and len(names) > 1)


def source_of(shape: str, below: str) -> Source:
    """Return the source of a file. below: its path relative to the searched directory."""
    folder, _, name = _DIGITS.sub("#", below).rpartition("/")
    return Source(shape, folder, name, split_of_path(below))


def reading_order(shape: str, below: str) -> tuple[int, bool]:
    """Return what sorts files: of equal texts the first one is kept."""
    place = _SHAPES.index(shape) if shape in _SHAPES else len(_SHAPES)
    return place, step_of_path(below) is None


def _plain(text: str) -> str:
    return "".join(SPECIAL.sub("", text).split())
