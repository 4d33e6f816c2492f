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
from tuimon.rollouts import Sample
from tuimon.rollouts.named_in_path import split_of_path, step_of_path
from tuimon.rollouts.parts import parts_of

_DIGITS = re.compile(r"\d+")
_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:pad|bos|eos|unk|start_of_turn|end_of_turn)>")
"""Special tokens, which some writers remove and others keep."""
_TABLE = re.compile(r"_\d+_[0-9a-f]+\.table\.json$")
_SHAPES = ("json_lines", "parquet", "beast_logger", "json_documents", "inspect_logs", "databases", "tensorboard_text")
"""Shapes in the order in which they are read; consoles, which print some texts of a step, are the last."""


class Source(NamedTuple):
    """Files of one shape in one directory, or in directories whose names differ in numbers only."""

    shape: str
    """Id of the shape."""
    folder: str
    """Directory relative to the searched one, with # for each number; the name of the file if it is in that itself."""
    split: str


class _Kind(NamedTuple):
    """What distinguishes files that may repeat each other."""

    shape: str
    folder: str
    name: str
    """Name of the file, with # for each number."""
    table: str
    """Path of a table of W&B without its number; "" for other files."""
    file: str
    """Path of a table."""

    def repeats(self, other: _Kind) -> bool:
        """Return whether an equal text is the same one."""
        if self.table and self.table == other.table:
            return self.file != other.file
        return self.shape != other.shape or (self.folder != other.folder and self.name != other.name)


class Repeats:
    """The texts that were read so far."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """sources: those of all files that are going to be read."""
        self._is_needed = len({source[:2] for source in sources}) > 1
        self._kinds: set[_Kind] = set()
        self._known: dict[tuple[object, ...], set[_Kind]] = {}
        """Kinds of the files with a text, and with a text of a reward."""

    @property
    def has_kinds(self) -> bool:
        """Whether files of several kinds were read."""
        return any(kind.repeats(other) for kind in self._kinds for other in self._kinds)

    def repeated(self, sample: Sample, source: Source, below: str) -> bool:
        """Return whether a text was read before. below: path of its file relative to the searched directory."""
        table = _TABLE.search(below)
        if not self._is_needed and table is None:
            return False
        folder, _, name = _DIGITS.sub("#", below).rpartition("/")
        kind = _Kind(source.shape, folder, name, below[: table.start()] if table else "", below if table else "")
        self._kinds.add(kind._replace(file=""))
        text = sample.step, sample.split, hash(tuple(map(_plain, parts_of(sample))))
        reward = sample.reward
        key = (*text, float(f"{reward:.6g}")) if reward is not None and not math.isnan(reward) else text
        if any(kind.repeats(other) for other in self._known.get(key, ())):
            return True
        for part in (text, key):
            self._known.setdefault(part, set()).add(kind)
        return False


def source_of(shape: str, below: str) -> Source:
    """Return the source of a file. below: its path relative to the searched directory."""
    folder, _, name = below.rpartition("/")
    return Source(shape, _DIGITS.sub("#", folder or name), split_of_path(below))


def reading_order(shape: str, below: str) -> tuple[int, bool]:
    """Return what sorts files: of equal texts the first one is kept."""
    place = _SHAPES.index(shape) if shape in _SHAPES else len(_SHAPES)
    return place, step_of_path(below) is None


def _plain(text: str) -> str:
    return "".join(_SPECIAL.sub("", text).split())
