"""Find which of several trainings a file is of, by values of equal meaning in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.reader.texts_beside import BEGINNING, Read, read_excerpt
from tuimon.reader.training_sequences import LEAST_VALUES, SURE, agreement
from tuimon.sources.grouped_files import GroupedFile

_MOST_FILES = 20
"""Maximum number of files that are compared, which takes a few ms each."""


class TrainingsByValues:
    """Compares the beginnings of files with those of trainings, and keeps what is certain."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[str, str] = {}
        """Path of the first file of the training, by path."""

    def numbers(
        self, files: Sequence[GroupedFile], trainings: Sequence[Sequence[GroupedFile]]
    ) -> tuple[dict[str, int], set[str]]:
        """Return (number of the training of each file by path, paths of files that have too few values yet)."""
        if len(files) > _MOST_FILES or len(trainings) > _MOST_FILES:
            return {}, set()
        first = {training[0].path: number for number, training in enumerate(trainings)}
        undecided: set[str] = set()
        new = [file for file in files if self._known.get(file.path) not in first]
        curves = {
            training[0].path: read_excerpt(self._read, [(other, "") for other in training], BEGINNING).curves
            for training in (trainings if new else ())
        }
        for file in new:
            here = read_excerpt(self._read, [(file, "")], BEGINNING)
            parts = {path: agreement(here.curves, there).common for path, there in curves.items()}
            best = max(parts, key=lambda path: parts[path])
            if parts[best] >= SURE and sum(part >= SURE for part in parts.values()) == 1:
                self._known[file.path] = best
            elif here.is_whole and here.length < 2 * LEAST_VALUES:
                undecided.add(file.path)
        return {file.path: first[path] for file in files if (path := self._known.get(file.path)) in first}, undecided
