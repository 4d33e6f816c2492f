"""Find sources that repeat the texts of another source, such as a logged table beside the files that the trainer wrote.

A source is a copy for a step if another source of a different kind has all its texts, with the same prompts and
rewards. Files of one kind are never copies: the ranks of a job may generate the same text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.rollouts import Sample
from tuimon.rollouts.named_in_path import split_of_path, step_of_path
from tuimon.rollouts.parts import parts_of

_DIGITS = re.compile(r"\d+")
_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:pad|bos|eos|unk|start_of_turn|end_of_turn)>")
"""Special tokens, which some writers remove and others keep."""
_Form: TypeAlias = tuple[object, ...]


class Source(NamedTuple):
    """Files of one shape in one directory, or in directories whose names differ in numbers only."""

    shape: str
    """Id of the shape."""
    folder: str
    """Directory relative to the searched one, with # for each number; the name of the file if it is in that itself."""
    split: str


def source_of(shape: str, below: str) -> Source:
    """Return the source of a file. below: its path relative to the searched directory."""
    folder, _, name = below.rpartition("/")
    return Source(shape, _DIGITS.sub("#", folder or name), split_of_path(below))


def form_of(sample: Sample) -> _Form:
    """Return which numbers a sample has: the rows of one kind of file have the same."""
    unknown = (sample.reference is None, sample.advantage is None, sample.truncated is None)
    return tuple(sample.components), sample.length_unit, unknown


def may_repeat(forms: Iterable[tuple[Source, _Form]]) -> bool:
    """Return whether any two sources of one split are of different kinds. forms: the form of a sample of each."""
    kinds: dict[str, set[tuple[str, _Form]]] = {}
    for source, form in forms:
        kinds.setdefault(source.split, set()).add((source.shape, form))
    return any(len(found) > 1 for found in kinds.values())


class _Texts(Struct):
    """Texts of a source at a step."""

    form: _Form
    names_step: bool
    """Whether a path names the step, as those of the trainer's own files do."""
    texts: set[int]
    """Hashes of prompt and response."""
    rewarded: set[tuple[int, float | None]]
    """The same with the reward; None: unknown."""

    def includes(self, other: _Texts) -> bool:
        """Return whether these are all texts of `other`."""
        return all(pair in self.rewarded if pair[1] is not None else pair[0] in self.texts for pair in other.rewarded)


class Copies:
    """Collects samples and finds the sources that are copies."""

    def __init__(self) -> None:
        self._steps: dict[tuple[int | None, str], dict[Source, _Texts]] = {}

    def add(self, source: Source, sample: Sample, below: str) -> None:
        """Add a sample of a source. below: path of its file relative to the searched directory."""
        sources = self._steps.setdefault((sample.step, source.split), {})
        texts = sources.get(source)
        if texts is None:
            texts = sources[source] = _Texts(form_of(sample), step_of_path(below) is not None, set(), set())
        text = hash(tuple(map(_plain, parts_of(sample))))
        reward = sample.reward
        known = reward is not None and not math.isnan(reward)
        texts.texts.add(text)
        texts.rewarded.add((text, float(f"{reward:.6g}") if known else None))

    def found(self) -> frozenset[tuple[Source, int | None]]:
        """Return (source, step) of each copy. Of equal sources the files whose paths name the step are not copies."""
        return frozenset((source, step) for (step, _), sources in self._steps.items() for source in _copies(sources))


def _copies(sources: dict[Source, _Texts]) -> Iterator[Source]:
    kept: list[Source] = []
    for source in sorted(sources, key=lambda source: (-len(sources[source].texts), not sources[source].names_step)):
        texts = sources[source]
        others = (sources[other] for other in kept if other.shape != source.shape or sources[other].form != texts.form)
        if any(other.includes(texts) for other in others):
            yield source
        else:
            kept.append(source)


def _plain(text: str) -> str:
    return "".join(_SPECIAL.sub("", text).split())
