"""Find the console texts beside metric files that are of other trainings than these.

A text belongs to the run of the metric files in its directory, unless its values show another training (see
`tuimon.reader.training_sequences`). If the texts are of several trainings, only that of the metric files stays with
them: the one with common values, or the only one whose values do not differ. Without such a text each is a run.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from functools import cache

from msgspec import Struct

from tuimon.model.log_names import log_name
from tuimon.model.points import Item, Points
from tuimon.reader.training_relations import PROCESS, training_key
from tuimon.reader.training_sequences import (
    LEAST_VALUES,
    SURE,
    Agreement,
    ValueSequence,
    agreement,
    compared_concept,
    sequence,
)
from tuimon.sources.grouped_files import GroupedFile, natural_order

BEGINNING, _SEARCHED = 64 << 10, 8 << 20
"""Bytes of the beginning of a file that are compared, and size of all files up to which they are read as a whole if
that does not show one training."""
_MOST_FILES = 50
"""Maximum number of metric files that are compared."""
_ENOUGH = 32
"""Number of values of a text from which on its training does not become clearer."""

Logs = Sequence[tuple[GroupedFile, str]]
"""Metric files, and the prefixes of their metrics."""
Read = Callable[[str, int], tuple[Sequence[Item], bool]]
"""Returns the items in the first bytes of a file, and whether these are all bytes."""


class Excerpt(Struct, frozen=True):
    """The points in the first bytes of some files."""

    curves: Collection[tuple[str, ValueSequence]]
    """The metrics by name; several files can have metrics of one name."""
    is_whole: bool
    """Whether the files have no other bytes."""
    has_unread: bool
    """Whether a file has no points in its first bytes, but has others."""

    @property
    def length(self) -> int:
        """The number of values of the longest metric."""
        return max((len(curve.values) for _, curve in self.curves), default=0)


class TextsBeside:
    """Compares console texts with the metric files beside them, and keeps what is certain."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._compared: dict[str, tuple[int, Agreement]] = {}
        """(number of values of the text, result) of the last comparison, by path of the text."""
        self._certain: set[str] = set()
        """Paths of texts that are not compared again, so that they stay in their runs."""

    def others(
        self, texts: Mapping[str, Sequence[GroupedFile]], names: Mapping[str, str], logs: Logs
    ) -> tuple[dict[str, str], set[str]]:
        """Return (names of the trainings of the texts of other trainings, texts that are not certain yet), by path.

        texts: the files of each text, by the path that is written now. names: those of their trainings, if they are
        of several.
        """
        agreements = {
            text: self._agreement(text, [(file, "") for file in files], logs)
            for text, files in texts.items()
            if not PROCESS.search(os.path.basename(text))
        }
        by_key: dict[str, list[str]] = defaultdict(list)
        for text in names if names else texts:
            by_key[names.get(text) or training_key(text) or text].append(text)
        trainings = {min(map(os.path.basename, members), key=natural_order): members for members in by_key.values()}
        known = {
            name: [agreements[text] for text in members if text in agreements] for name, members in trainings.items()
        }
        common = {name: max((result.common for result in results), default=0.0) for name, results in known.items()}
        different = {
            name for name, results in known.items() if not common[name] and any(result.different for result in results)
        }
        if names:
            most = min(max(common.values()), SURE)
            staying = {name for name, part in common.items() if part >= most} if most else trainings.keys() - different
            different = trainings.keys() - (staying if most or len(staying) == 1 else set())
        moved = {text: name for name in different for text in trainings[name]}
        return moved, agreements.keys() - self._certain

    def _agreement(self, text: str, files: Logs, logs: Logs) -> Agreement:
        """Compare a text with the metric files when it has enough values, and again when it has twice as many."""
        count, known = self._compared.get(text, (0, Agreement()))
        if text in self._certain:
            return known
        for limit in (BEGINNING, _SEARCHED):
            if limit == _SEARCHED and sum(_size(file.path) for file, _ in (*files, *logs)) > limit:
                break
            here = read_excerpt(self._read, files, limit)
            if here.is_whole and here.length < max(LEAST_VALUES, 2 * count):
                return known
            concepts = frozenset(compared_concept(name) for name, _ in here.curves) - {""}
            read = cache(self._read)
            # Most often one of the first files shows it, and the others need not be read: 40 ms of a start.
            for number in range(len(logs) - 1):
                known = agreement(here.curves, read_excerpt(read, logs[number : number + 1], limit, concepts).curves)
                if known.common >= SURE:
                    break
            else:
                there = read_excerpt(read, logs, limit, concepts)
                known = agreement(here.curves, there.curves)
            if known.common or (here.is_whole and there.is_whole):
                break
            known = Agreement()
            if limit == BEGINNING and not (there.curves or (concepts and there.has_unread)):
                break
        self._compared[text] = here.length, known
        is_long = sum(_size(file.path) for file, _ in files) > BEGINNING  # to read it at each growth costs seconds
        if known.common or known.different or here.length >= _ENOUGH or is_long or not here.is_whole:
            self._certain.add(text)
        return known


def read_excerpt(read: Read, logs: Logs, limit: int, concepts: Container[str] | None = None) -> Excerpt:
    """Read the metrics with these concepts, or all metrics, in the first bytes of some files."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    whole, unread = len(logs) <= _MOST_FILES, False
    for file, prefix in sorted(logs[:_MOST_FILES], key=lambda log: _order(log[0].path)):
        source = os.path.dirname(file.path) if file.directory_is_source else log_name(file.path).live
        items, is_whole = read(file.path, limit)
        batches = [item for item in items if isinstance(item, Points)]
        whole, unread = whole and is_whole, unread or not (is_whole or batches)
        for batch in batches:
            names = [prefix + name for name in batch.names]
            wanted = [concepts is None or compared_concept(name) in concepts for name in names]
            columns = batch.metric.tolist(), batch.steps.tolist(), batch.values.tolist()
            for metric, step, value in zip(*columns, strict=True):
                if wanted[metric]:
                    points[source, names[metric]].append((step, value))
    curves = [(name, sequence(pairs)) for (_, name), pairs in points.items()]
    return Excerpt([(name, curve) for name, curve in curves if curve is not None], whole, unread)


def _size(path: str) -> int:
    """Return the size of a file in bytes; more than is read if it is unknown."""
    try:
        return os.stat(path).st_size
    except OSError:
        return _SEARCHED + 1


def _order(path: str) -> tuple[list[str | int], tuple[int, str]]:
    """A key that sorts the files of a log from the oldest to the newest."""
    name = log_name(path)
    return natural_order(name.live), name.age
