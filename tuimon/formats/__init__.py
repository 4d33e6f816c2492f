"""Log formats: bytes in, points out, one file a format. Decoders do no I/O.

A format is found by being a module of this package with a FORMAT (or FORMATS). Its docstring gives the byte layout
and the source of what is said there. Two kinds:

- a stream grows at its end. `feed` takes the next bytes, cut anywhere; the decoder keeps an unfinished record until
  its rest comes. The points are the same for any cutting.
- a document is rewritten whole. `load` takes all its bytes and gives what is new since the last load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tuimon.model.points import Item
from tuimon.registry import discover


@runtime_checkable
class StreamDecoder(Protocol):
    """Decodes a log that grows at its end."""

    def feed(self, data: bytes) -> Sequence[Item]:
        """The next bytes of the log, of any length >= 0. Never raises for what the bytes hold: damage is an Item."""
        ...

    def flush(self) -> Sequence[Item]:
        """No more bytes for now: what an unfinished but self-delimiting last record gives (a JSON object without its
        newline). Feeding may go on afterwards; nothing is given twice."""
        ...

    @property
    def skippable(self) -> int:
        """How many of the bytes that come next will be thrown away unread (a big image record). 0 mostly."""
        ...

    def skipped(self, count: int) -> None:
        """The reader has moved on by `count` <= skippable bytes instead of feeding them."""
        ...


@runtime_checkable
class DocumentDecoder(Protocol):
    """Decodes a document that is rewritten whole."""

    def load(self, data: bytes) -> Sequence[Item]:
        """All bytes of the document as it now is. Gives only what is new when the known points are a prefix of the
        document, else Replaced() and everything. Raises Unfinished for an empty or half-written document, FormatError
        for one that can never become good; the state is then unchanged."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """What tuimon needs to know of a log format."""

    id: str
    """Short, stable: "tensorboard"."""
    title: str
    """For a person: "TensorBoard event file"."""
    rank: int
    """Which source of a run is best when several hold a metric: store 50, event file 40, JSON 30, CSV 20, console 10."""
    matches: Callable[[str, bytes], bool]
    """(file name, its first bytes: up to 4096, b"" when empty) -> is it this format? Cheap and strict: magic bytes
    where there are some, else the name and the look of the first bytes."""
    decoder: Callable[[], StreamDecoder] | Callable[[], DocumentDecoder]
    directory_is_source: bool = False
    """True: all files of a directory are one source, read in the order of their names (event files)."""
    wants_name: Callable[[str], bool] = lambda name: True
    """(file name) -> is it worth opening at all? Looked at before a byte is read."""
    unsupported: str = ""
    """Not empty: the format is recognised, but not read; what to do instead."""
    supersedes: Callable[[str], str] | None = None
    """(path) -> a key; of the files with one key only the newest is read (the trainer_state.json of checkpoints)."""


def all_formats() -> tuple[Format, ...]:
    """Every format there is, by the name of its module."""
    formats: tuple[Format, ...] = discover("tuimon.formats", "FORMAT")
    return formats


def recognise(name: str, head: bytes) -> Format | None:
    """The format of a file by its name and first bytes; the highest rank wins where several match."""
    matching = [f for f in all_formats() if f.wants_name(name) and f.matches(name, head)]
    return max(matching, key=lambda f: f.rank, default=None)
