"""Find texts that were read before: a table that a board keeps beside the files that the trainer wrote repeats them.

A text of a step is repeated if a file of another kind has the same prompt, response and reward, or an earlier table of
W&B of the same name, as each table may contain all rows of the table before. Files of one kind repeat nothing: the
ranks of a job may generate the same text. Files whose paths name their step are read first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from tuimon import lazy_re as re
from tuimon.rollouts import Sample
from tuimon.rollouts.named_in_path import split_of_path
from tuimon.rollouts.parts import parts_of

_DIGITS = re.compile(r"\d+")
_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:pad|bos|eos|unk|start_of_turn|end_of_turn)>")
"""Special tokens, which some writers remove and others keep."""
_TABLE = re.compile(r"_\d+_[0-9a-f]+\.table\.json$")
_Form: TypeAlias = tuple[object, ...]


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
    form: _Form
    """Which numbers the samples of the source have."""
    table: str = ""
    """Path of a table of W&B without its number; "" for other files."""
    file: str = ""
    """Path of a table."""

    def repeats(self, other: _Kind) -> bool:
        """Return whether an equal text is the same one."""
        return self[:2] != other[:2] or (self.table == other.table and self.file != other.file)


class Repeats:
    """The texts that were read so far."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """sources: those of all files that are going to be read."""
        self._is_needed = len({source[:2] for source in sources}) > 1
        self._forms: dict[Source, _Form] = {}
        self._known: dict[tuple[object, ...], set[_Kind]] = {}
        """Kinds of the files with a text, and with a text of a reward."""

    @property
    def has_kinds(self) -> bool:
        """Whether files of several kinds were read."""
        return len({(source.shape, form) for source, form in self._forms.items()}) > 1

    def repeated(self, sample: Sample, source: Source, below: str) -> bool:
        """Return whether a text was read before. below: path of its file relative to the searched directory."""
        table = _TABLE.search(below)
        if not self._is_needed and table is None:
            return False
        form = self._forms.setdefault(source, _form_of(sample))
        kind = _Kind(source.shape, form, below[: table.start()], below) if table else _Kind(source.shape, form)
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


def _form_of(sample: Sample) -> _Form:
    unknown = (sample.reference is None, sample.advantage is None, sample.truncated is None)
    return tuple(sample.components), sample.length_unit, unknown


def _plain(text: str) -> str:
    return "".join(_SPECIAL.sub("", text).split())
