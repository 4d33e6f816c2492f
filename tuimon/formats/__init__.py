"""Log formats: bytes in, points out, one file a format. Decoders do no I/O.

A format is found by being a module of this package with a FORMAT (or FORMATS). Its docstring gives the byte layout
and the source of what is said there. Three kinds:

- a stream grows at its end. `feed` takes the next bytes, cut anywhere; the decoder keeps an unfinished record until
  its rest comes. The points are the same for any cutting.
- a document is rewritten whole. `load` takes all its bytes and gives what is new since the last load.
- a database holds several runs. `read` takes a connection to a private copy and gives what is new, run by run.
"""

from __future__ import annotations

import posixpath
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Protocol, runtime_checkable

from msgspec import Struct

from tuimon.errors import FormatError
from tuimon.model.points import Item
from tuimon.registry import discover


@runtime_checkable
class StreamDecoder(Protocol):
    """Decodes a log that grows at its end."""

    def feed(self, data: bytes) -> Sequence[Item]:
        """The next bytes of the log, of any length >= 0. Never raises for what the bytes hold: damage is an Item.
        While something is skippable, what is ready may be kept for the next feed, be it an empty one, or flush."""
        ...

    def flush(self) -> Sequence[Item]:
        """No more bytes for now: what an unfinished but self-delimiting last record gives (a JSON object without its
        newline). Feeding may go on afterwards; nothing is given twice."""
        ...

    @property
    def skippable(self) -> int:
        """How many of the bytes that come next will be thrown away unread (a big image record)."""
        return 0

    def skipped(self, count: int) -> None:
        """The reader has moved on by `count` <= skippable bytes instead of feeding them."""
        return

    @property
    def withheld(self) -> bool:
        """Has the last feed, of many bytes, kept whole records for the next one, with whose beginning they are read
        faster? An empty feed, or a flush, gives them."""
        return False

    @property
    def disproved(self) -> bool:
        """What a flush took for right has turned out otherwise. All points given so far are void, and the reader reads
        the log again from its beginning with a new decoder. Never so of a log that is read without a flush."""
        return False


@runtime_checkable
class RestartableDecoder(StreamDecoder, Protocol):
    """Decodes a log whose writer may write it anew from its beginning with the same records (a table that grows a
    column). Of other logs, what is written anew is a new segment, read by a new decoder."""

    def restart(self) -> None:
        """What is fed next are the first bytes of the log again. The decoder gives what is new in them, and a
        SegmentStart where they are not those that it knows."""
        ...


@runtime_checkable
class DocumentDecoder(Protocol):
    """Decodes a document that is rewritten whole."""

    def load(self, data: bytes) -> Sequence[Item]:
        """All bytes of the document as it now is. Gives only what is new when the known points are a prefix of the
        document, else Replaced() and everything. Raises Unfinished for an empty or half-written document, FormatError
        for one that can never become good; the state is then unchanged."""
        ...


@runtime_checkable
class DatabaseDecoder(Protocol):
    """Decodes a SQLite database that holds several runs."""

    def read(self, database: sqlite3.Connection) -> Sequence[tuple[str, Sequence[Item]]]:
        """(name of a run, what is new of it since the last call) for each run in it, known or new, in their order; no
        two names are alike, and a run keeps its name. database: a copy of the present state. An sqlite3.Error passes
        through. Raises FormatError where no run can be read for damage."""
        ...


class Format(Struct, frozen=True):
    """What tuimon needs to know of a log format."""

    id: str
    """Short, stable: "tensorboard"."""
    title: str
    """For a person: "TensorBoard event file"."""
    writers: str
    """Who writes it; with a version where files of that version were read back: "W&B 0.17 and 0.31"."""
    rank: int
    """Which source of a run is best when several hold a metric: store 50, event file 40, JSON 30, CSV 20, text 10."""
    matches: Callable[[str, bytes], bool]
    """(file name, its first bytes: up to 4096, b"" when empty) -> is it this format? Cheap and strict: magic bytes
    where there are some, else the name and the look of the first bytes. Those of a SQLite database are followed by its
    schema, as they do not tell which tables it has."""
    decoder: Callable[[], StreamDecoder] | Callable[[], DocumentDecoder] | Callable[[], DatabaseDecoder]
    directory_is_source: bool = False
    """True: all files of a directory are one source, read in the order of their names (event files)."""
    wants_name: Callable[[str], bool] = lambda name: True
    """(file name) -> is it worth opening at all? Looked at before a byte is read."""
    wants_path: Callable[[str], bool] | None = None
    """(path) -> the same, in place of wants_name, for files that are known by the place where they lie."""
    source_path: Callable[[str], str] | None = None
    """(path) -> path of the source, where the file is one of many that make up one run and none by itself (one metric a
    file): the file's own, or that of a directory above it."""
    metric_name: Callable[[str], str | None] | None = None
    """(path) -> name of the one metric (or setting) that the file holds, where its path tells it, not its bytes. The
    decoder gives it as ""."""
    metric_elsewhere: bool = False
    """True: neither the file nor its path tells the name of its one metric, but a database near it does; see
    tuimon.reader.naming. The points come under the name ""."""
    rewritten_whole: bool = False
    """True: when another file takes the place of this one, it is the same log corrected, and the points so far are
    void. Else it goes on where the first one ended, or is a new segment."""
    describes_run: bool = False
    """True: it tells of the run in whose directory it lies (a config), and is no log where there is none."""
    largest: int = 1 << 30
    """Bytes; a larger document is not read."""
    unsupported: str = ""
    """Not empty: the format is recognised, but not read; what to do instead."""
    tail: Callable[[bytes, bytes], Sequence[Item]] | None = None
    """(up to 4096 bytes from the beginning of a stream, some from its end, cut anywhere at their beginning) -> the
    points that the latter hold, exactly as the decoder will give them once it comes there; those that cannot be told
    without what lies between are left out. Other items are not looked at."""
    supersedes: Callable[[str], str] | None = None
    """(path) -> a key; of the files with one key only the newest is read (the trainer_state.json of checkpoints). Of a
    format that is told by `wants_name`."""

    def wants(self, path: str) -> bool:
        """Is the file at this path worth opening at all?"""
        return self.wants_path(path) if self.wants_path else self.wants_name(posixpath.basename(path))


def not_read() -> StreamDecoder:
    """The decoder of a format that is `unsupported`. Raises FormatError: there is none."""
    raise FormatError("recognised, but not read")


def all_formats() -> tuple[Format, ...]:
    """Every format there is, by the name of its module."""
    formats: tuple[Format, ...] = discover("tuimon.formats", "FORMAT")
    return formats


def wanting(path: str, formats: Sequence[Format] | None = None) -> Iterator[Format]:
    """The formats for which the file at this path is worth opening, in their order. formats: see recognise."""
    by_name = _by_name(posixpath.basename(path))
    known = all_formats() if formats is None else formats
    return (f for f in known if (f.wants_path(path) if f.wants_path else f.id in by_name))


def is_wanted(path: str) -> bool:
    """Is there a format for which the file at this path is worth opening?"""
    return bool(_by_name(posixpath.basename(path))) or any(f.wants(path) for f in _by_path())


@cache
def _by_path() -> tuple[Format, ...]:
    return tuple(f for f in all_formats() if f.wants_path)


@lru_cache(maxsize=4096)
def _by_name(name: str) -> frozenset[str]:
    """Ids of the formats that want files of that name, wherever they lie: names come again in each run."""
    return frozenset(f.id for f in all_formats() if not f.wants_path and f.wants_name(name))


@cache
def kind(id: str) -> str:
    """What a format is, by its id: stream | document | database, or unsupported."""
    log_format = next(f for f in all_formats() if f.id == id)
    if log_format.unsupported:
        return "unsupported"
    decoder = log_format.decoder()
    kinds = {"stream": StreamDecoder, "document": DocumentDecoder, "database": DatabaseDecoder}
    return next(name for name, contract in kinds.items() if isinstance(decoder, contract))


def recognise(path: str, head: bytes, formats: Sequence[Format] | None = None) -> Format | None:
    """The format of a file by its path (or its name alone) and first bytes, see Format.matches; the highest rank wins
    where several match. formats: those there are, where they are not all_formats(), by the same ids."""
    name = posixpath.basename(path)
    best_first = sorted(wanting(path, formats), key=lambda f: -f.rank)
    return next((f for f in best_first if f.matches(name, head)), None)
