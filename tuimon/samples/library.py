"""The texts below a directory by step: a step is indexed when it is asked for, and a text is decoded when it is shown.

The index of a step holds numbers and the first words of each text. A few steps are kept. A file whose path names its
step is not opened before; of other files the positions of their rows are found first. All methods may read files, so
that a thread calls them.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.samples import Sample, Shape
from tuimon.samples.copies import Repeats, reading_order, source_of
from tuimon.samples.discovery import Location, path_below, sample_files, samples_in
from tuimon.samples.flags import NAMES, flags_of
from tuimon.samples.named_in_path import step_of_path
from tuimon.samples.parts import parts_of, question_of
from tuimon.sources.files import Signature, signature

_HEAD = 160
"""Characters of the beginning of a text that an entry keeps."""
_STEPS_KEPT = 4
_REPORT_EVERY = 64
"""Number of new entries after which a listener hears of them."""
_DIGITS = re.compile(r"\d+")


class Entry(Struct, frozen=True, weakref=False, gc=False):
    """A sample without its texts."""

    file: str
    location: Location
    step: int | None
    split: str
    group: str
    """Group of the file, or the digest of the prompt."""
    reward: float | None
    components: tuple[tuple[str, float], ...]
    length: int
    length_unit: str
    truncated: bool | None
    advantage: float | None
    error: bool
    flags: int
    text: int
    """Hash of the response: equal for identical ones."""
    prompt: str
    """Digest of the prompt."""
    head: str
    """First words of the response."""
    prompt_head: str
    """First words of what the user asks."""


def entry_of(sample: Sample, location: Location) -> Entry:
    """Return the entry of a sample."""
    prompt = digest(sample.prompt or "")
    prompt_text, response = parts_of(sample)
    return Entry(
        sample.source,
        location,
        sample.step,
        sample.split,
        prompt if sample.group == (sample.prompt or "") else sample.group,
        sample.reward,
        tuple(sample.components.items()),
        sample.length,
        sample.length_unit,
        sample.truncated,
        sample.advantage,
        bool(sample.error),
        flags_of(sample.response, sample.prompt),
        hash(response),
        prompt,
        first_words(response.removeprefix("<think>")),
        first_words(question_of(sample, prompt_text)),
    )


def first_words(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text[: 4 * _HEAD].split())[:_HEAD]


def flag_shares(entries: Sequence[Entry]) -> dict[str, float]:
    """Return the share of the entries that have each flag; {} for no entries."""
    return {
        name: sum(bool(entry.flags & bit) for entry in entries) / len(entries) for bit, name in NAMES.items() if entries
    }


def digest(text: str) -> str:
    """Return a hash of a text: twelve hexadecimal digits."""
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:12]


class _File:
    """A file and the steps that its rows belong to."""

    def __init__(self, path: str, shape: Shape, below: str) -> None:
        self.path, self.shape, self.below = path, shape, below
        self.source = source_of(shape.id, below)
        self.seen: Signature | None = None
        """Signature of the file when it was indexed."""
        self.named_step = step_of_path(below)
        self.positions: dict[int | None, array[int]] = {}
        """Positions of the rows of each step, without duplicates, ascending."""
        self.read = False
        """Whether `positions` is complete; before, the file belongs to the step that its path names."""
        self.last = 0
        """Position from which a file that has grown is read on."""

    @property
    def steps(self) -> set[int | None]:
        return set(self.positions) if self.read else {self.named_step}

    def forget(self) -> None:
        self.positions, self.read, self.last = {}, False, 0


class Library:
    """Samples at or below some paths."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self.problems: dict[str, str] = {}
        """Why a file could not be read, by its path."""
        self._files: dict[str, _File] = {}
        self._kinds: set[str] = set()
        """Paths without their digits of which one file is known to have samples."""
        self._kept: OrderedDict[int | None, list[Entry]] = OrderedDict()

    # ------------------------------------------------------------------ steps

    @property
    def steps(self) -> tuple[int | None, ...]:
        """Steps with samples, ascending; None, if any sample has no step, is the first."""
        steps: set[int | None] = set()
        for file in self._files.values():
            if file.read or file.named_step is not None:
                steps |= file.steps
        return tuple(sorted(steps, key=lambda step: (step is not None, step)))

    def refresh(self) -> set[int | None]:
        """Look for new, changed and removed files and return the steps that have changed."""
        found = {
            name: self._files.get(name) or _File(name, shape, path_below(name, path))
            for path in self.paths
            for name, shape in sample_files(path)
        }
        changed: set[int | None] = set()
        for name in self._files.keys() - found.keys():
            changed |= self._files[name].steps
        # the last file decides first about those that are named like it: earlier ones of a mirror may be empty
        known = {name for name, file in reversed(found.items()) if name in self._files or self._has_samples(file)}
        self._files = {name: file for name, file in found.items() if name in known}
        for file in self._files.values():
            changed |= self._update(file)
        for step in changed:
            self._kept.pop(step, None)
        return changed

    def _has_samples(self, file: _File) -> bool:
        """Return whether the file has a sample, or is named like one that has."""
        kind = _DIGITS.sub("#", file.path)
        if file.named_step is None or kind in self._kinds or any(True for _ in self._samples(file, 0)):
            self._kinds.add(kind)
            return True
        return False

    def _update(self, file: _File) -> set[int | None]:
        """Return the steps of a file that have changed since it was read."""
        try:
            now = signature(os.stat(file.path))  # noqa: PTH116
        except OSError:
            return set()
        if now == file.seen:
            return set()
        before = file.steps if file.seen is not None else set()
        is_longer = file.seen is not None and now[2:] == file.seen[2:] and now[0] >= file.seen[0]
        file.seen = now
        if file.named_step is not None:
            file.forget()
            return before | {file.named_step}
        if is_longer and file.shape.grows and None not in file.positions:
            before = set()
        else:
            file.forget()
        return before | {sample.step for _, sample in self._indexed(file)}

    def _indexed(self, file: _File) -> Iterator[tuple[Location, Sample]]:
        """Yield the samples of a file from `last` on, and note the positions of their rows."""
        for location, sample in self._samples(file, file.last):
            positions = file.positions.setdefault(sample.step, array("q"))
            if not positions or positions[-1] < location.position:
                positions.append(location.position)
            file.last = location.position
            yield location, sample
        file.read = True

    def _samples(self, file: _File, start: int) -> Iterator[tuple[Location, Sample]]:
        try:
            yield from samples_in(file.path, file.shape, file.below, start)
            if not start:
                self.problems.pop(file.path, None)
        except (OSError, FormatError) as error:
            self.problems[file.path] = f"{file.below}: {error}"

    # ------------------------------------------------------------------ entries and texts

    def entries(
        self, step: int | None, progress: Callable[[list[Entry]], object] = lambda entries: None
    ) -> list[Entry]:
        """Return the entries of a step, in the order of the files. progress: called with the entries so far."""
        if step not in self._kept:
            entries: list[Entry] = []
            for location, sample in self.samples(step):
                entries.append(entry_of(sample, location))
                if len(entries) % _REPORT_EVERY == 0:
                    progress(entries[:])
            self._kept[step] = entries
        self._kept.move_to_end(step)
        while len(self._kept) > _STEPS_KEPT:
            self._kept.popitem(last=False)
        return self._kept[step]

    def samples(self, step: int | None) -> Iterator[tuple[Location, Sample]]:
        """Yield the samples of a step with their texts, each text that several kinds of files have once."""
        files = self._of(step)
        repeats = Repeats(file.source for file in files)
        for file in files:
            for location, sample in self._of_step(file, step):
                if not repeats.repeated(sample, file.source, file.below):
                    yield location, sample

    def _of(self, step: int | None) -> list[_File]:
        return [file for file in self._in_order() if step in file.steps]

    def _in_order(self) -> list[_File]:
        return sorted(self._files.values(), key=lambda file: reading_order(file.shape.id, file.below))

    def sources(self, entries: Sequence[Entry]) -> list[str]:
        """Return the directories that entries are from, with # for each number; the names of files in the root."""
        paths = dict.fromkeys(entry.file for entry in entries)
        sources = [file.source for path in paths if (file := self._files.get(path)) is not None]
        return list(dict.fromkeys(source.folder or source.name for source in sources))

    def _of_step(self, file: _File, step: int | None) -> Iterator[tuple[Location, Sample]]:
        if not file.read:
            file.forget()  # it may have been read in part
            yield from (found for found in self._indexed(file) if found[1].step == step)
            return
        wanted = file.positions.get(step)
        if not wanted:
            return
        for location, sample in self._samples(file, wanted[0]):
            if location.position > wanted[-1]:
                break
            if sample.step == step:
                yield location, sample

    def sample(self, entry: Entry) -> Sample | None:
        """Decode the texts of an entry; None if the file no longer has them."""
        file = self._files.get(entry.file)
        if file is None:
            return None
        for location, sample in self._samples(file, entry.location.position):
            if location == entry.location:
                return sample
            if location > entry.location:
                break
        return None
