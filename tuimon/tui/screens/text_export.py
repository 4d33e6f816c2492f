"""Export of generated texts as JSON Lines. A thread runs it; the texts are written as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tuimon.draw.numbers import thousands
from tuimon.samples.searching import TooSlow
from tuimon.text import home_relative

if TYPE_CHECKING:
    from tuimon.samples import Sample


class _Ended(Exception):
    """The export was ended by the user."""


class TextExport:
    """An export that has begun."""

    def __init__(self, path: Path, searched: str) -> None:
        """path: the file; searched: directory that the sources of the texts are relative to."""
        self._path, self._searched = path, searched
        self._count = 0
        self._steps: set[int | None] = set()
        self._is_ended = False

    @property
    def progress(self) -> str:
        """What has been done, for the head of the view."""
        return f"saving, {_texts(self._count)}; Escape ends it"

    def end(self) -> None:
        """End the export before it is complete."""
        self._is_ended = True

    def save(self, samples: Iterable[Sample | None], write: Callable[[Path, Iterator[str]], None]) -> str:
        """Save the samples and return a sentence about it. None: a sample that its file no longer has.

        write: called with the path and the lines; it leaves no file if they raise."""
        try:
            write(self._path, self._lines(samples))
        except _Ended:
            return "The export was ended; no file was saved"
        except TooSlow as slow:
            return f"{slow}; no file was saved"
        except OSError as error:
            return f"Cannot be saved: {error}"
        steps = f" of {thousands(len(self._steps))} steps" if len(self._steps) > 1 else ""
        return f"Saved {_texts(self._count)}{steps}: {home_relative(self._path)}"

    def _lines(self, samples: Iterable[Sample | None]) -> Iterator[str]:
        from tuimon.exports.sample_lines import sample_json

        for sample in samples:
            if self._is_ended:
                raise _Ended
            if sample is not None:
                self._count += 1
                self._steps.add(sample.step)
                yield sample_json(sample, self._searched)


def _texts(count: int) -> str:
    return f"{thousands(count)} text{'s' if count != 1 else ''}"
