"""Log formats: bytes in, points out. Decoders do no I/O.

To add a format, add a module to this package or to one of its sub-packages and define FORMAT (or a tuple FORMATS) in
it. The module's docstring describes the byte layout and names its source. There are four kinds of decoder:

- A stream grows at its end. `feed` takes the next bytes, split anywhere; the decoder keeps an incomplete record until
  the rest arrives. The points do not depend on how the bytes are split.
- A document is rewritten whole. `load` takes all its bytes and returns what is new since the last call.
- A journal is a stream that holds several runs. `feed_runs` takes the next bytes and returns the items of each run.
- A database holds several runs. `read` takes a connection to a private copy and returns what is new in each run.
"""

from __future__ import annotations

import posixpath
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.model.log_names import log_name
from tuimon.model.points import Item
from tuimon.registry import FORMATS, Caught, discover, has_failed, is_installed, note_failure


@runtime_checkable
class StreamDecoder(Protocol):
    """Decoder of a log that grows at its end. Only `feed` and `flush` must be implemented."""

    def feed(self, data: bytes) -> Sequence[Item]:
        """Decode the next bytes of the log (any number, possibly none) and return the items that they complete.

        Never raises because of the content: unreadable bytes become a Damage item. While `skippable` > 0, decoded items
        may be held back until the next `feed()` (possibly `feed(b"")`) or `flush()`.
        """
        ...

    def flush(self) -> Sequence[Item]:
        """Decode a last record that is complete but not terminated, such as a JSON object without its newline.

        Called when the log has stopped growing for now. `feed` may be called afterwards; no item is returned twice.
        """
        ...

    def end(self) -> Sequence[Item]:
        """Decode what is left of a log that has ended: a last line without a newline, where it can be complete, and
        records that were kept until then.

        Called at most once, after `flush`, for a file that has not changed for long; only a new decoder is used later.
        """
        return ()

    @property
    def skippable(self) -> int:
        """Number of bytes that come next and that the decoder does not need, such as the rest of a large image."""
        return 0

    def advance(self, count: int) -> None:
        """Note that the reader has skipped the next `count` <= `skippable` bytes, or zeros, instead of feeding them."""
        return

    @property
    def skips_zeros(self) -> bool:
        """Whether zero bytes that come next change nothing, so that a hole of a sparse file can be skipped."""
        return False

    @property
    def held_back(self) -> bool:
        """Whether the last `feed` kept whole records because they decode faster together with the bytes that follow, or
        because later bytes may show that the records are not needed.

        The next `feed()` (possibly `feed(b"")`) or `flush()` returns them.
        """
        return False

    @property
    def awaits_end(self) -> bool:
        """Whether whole records are kept until later ones, or the end of the log, show their step."""
        return False

    @property
    def incomplete_at(self) -> int | None:
        """Offset of a record whose end has not been fed yet; None without one, or if records do not have a length.

        A line without its newline does not count: texts may end so.
        """
        return None

    @property
    def remark(self) -> str:
        """Note for the user about how the log was read so far, other than its damage; "" without one."""
        return ""

    @property
    def proposed_patterns(self) -> Mapping[str, str]:
        """Example of lines that are not understood by the setting of console_patterns that would read them."""
        return {}

    @property
    def unread(self) -> str:
        """Examples of numbers that gave no point; "" if none are known."""
        return ""

    @property
    def must_reread(self) -> bool:
        """Whether an earlier `flush` or empty `feed` decoded a record wrongly, as later ones show, so that all items
        returned so far are void.

        The reader then reads the log again from the beginning with a new decoder. Always False if neither has been
        called.
        """
        return False


@runtime_checkable
class DocumentDecoder(Protocol):
    """Decoder of a document that is rewritten whole."""

    def load(self, data: bytes) -> Iterable[Item]:
        """Decode the whole document and return what is new. Items that are decoded while they are taken must be taken
        before the next call.

        If the points returned so far are not a prefix of the document, return Replaced() and then everything. Raises
        Unfinished for an empty or half-written document, and FormatError for one that cannot become valid by growing;
        the state is then unchanged.
        """
        ...


@runtime_checkable
class DatabaseDecoder(Protocol):
    """Decoder of a SQLite database that holds several runs."""

    def read(self, database: sqlite3.Connection) -> Sequence[tuple[str, Sequence[Item]]]:
        """Return (run name, items that are new since the last call) for every run, in the order of the database.

        Names are unique, and a run keeps its name. `database` is open on a copy of the current state. An sqlite3.Error
        may propagate. Raises FormatError if damage makes all runs unreadable.
        """
        ...


@runtime_checkable
class JournalDecoder(Protocol):
    """Decoder of a log that grows at its end and holds several runs."""

    def feed_runs(self, data: bytes) -> Sequence[tuple[str, Sequence[Item]]]:
        """Decode the next bytes of the log and return (run name, new items) for the runs that have new items. Names are
        unique. Never raises because of the content."""
        ...


RunsDecoder: TypeAlias = DatabaseDecoder | JournalDecoder
_T = TypeVar("_T")


class Format(Struct, frozen=True):
    """Description of a log format."""

    id: str
    """Short, stable identifier: "tensorboard"."""
    title: str
    """Name shown to the user: "TensorBoard event file"."""
    writers: str
    """Programs that write it, with the versions whose files the tests read: "W&B 0.17 and 0.31"."""
    rank: int
    """Priority if several sources of a run hold a metric: store 50, event file 40, JSON 30, CSV 20, text 10."""
    matches: Callable[[str, bytes], bool]
    """matches(file name, first bytes): whether the content is of this format. Called only for files that pass
    `wants_name` or `wants_path`, with up to 4096 bytes (b"" for an empty file). Test magic bytes if the format has any,
    otherwise the beginning of the content. The first bytes of a SQLite database are followed by its schema."""
    decoder: Callable[[], StreamDecoder] | Callable[[], DocumentDecoder] | Callable[[], RunsDecoder]
    """Create a decoder for one file."""
    directory_is_source: bool = False
    """Whether all files of a directory are one source, read in the order of their names (event files)."""
    wants_name: Callable[[str], bool] = lambda name: True
    """wants_name(file name): whether the file is worth opening."""
    wants_path: Callable[[str], bool] | None = None
    """wants_path(path): whether the file is worth opening. Used instead of `wants_name` if the directory matters."""
    source_path: Callable[[str], str] | None = None
    """source_path(path): path of the source, if a source consists of several files (one metric per file): a directory
    above the file, or the file itself."""
    metric_names: Callable[[bytes], frozenset[str]] = lambda head: frozenset()
    """metric_names(first bytes): names of the metrics of the file, if its beginning contains them (a header)."""
    joined_source: Callable[[str], str] | None = None
    """joined_source(path): path of the source that several files are together, each of which is also a source of its
    own in exports (the monitor files of SB3's environments)."""
    shown_names: Callable[[str], Mapping[str, str]] = lambda path: {}
    """shown_names(path): names that replace metric names which say nothing by themselves ("r"), except in exports by
    source."""
    metric_name: Callable[[str], str | None] | None = None
    """metric_name(path): name of the only metric (or setting) in the file, if the path contains the name and the
    content does not. The decoder uses the name ""."""
    name_in_database: bool = False
    """Whether the name of the only metric in the file is stored in a database near it (see tuimon.reader.naming). The
    decoder uses the name ""."""
    rewritten_whole: bool = False
    """Whether a new file at the same path (another inode) is a corrected version of the same log, so that all points
    read so far are void. If False, the new file continues the log or starts a new segment."""
    is_rewritten: Callable[[bytes, bytes], bool] | None = None
    """is_rewritten(first bytes before, first bytes now): whether a file that begins otherwise than before holds the
    whole log again (CSV with a new column), so that all points read so far are void."""
    counts_episodes: bool = False
    """Whether steps are the numbers of episodes of one environment: any other log represents the run rather than it."""
    of_machine: bool = False
    """Whether the file has measurements of a machine, whose steps are a clock: any other log represents the run rather
    than it."""
    path_facts: Callable[[str], Mapping[str, Any]] | None = None
    """path_facts(path): what the path of the file says about its runs, added to their Fact("writer", …)."""
    facts_above: Callable[[bytes], Mapping[str, Any]] | None = None
    """facts_above(content): the same from the file of this name in the directory above, such as the name of MLflow's
    experiment."""
    describes_run: bool = False
    """Whether the file only describes the run in its directory (a config). Without another log it is not a run."""
    without_metrics: str = ""
    """If not empty, a run of which only this file exists has lost its metrics, and this text says what the user can do
    instead. Only for a format that describes a run."""
    max_size: int = 1 << 30
    """Size (bytes) above which a document is not read."""
    unsupported: str = ""
    """If not empty, the format is recognised but not read, and this text says what the user can do instead."""
    tail: Callable[[bytes, bytes], Sequence[Item]] | None = None
    """tail(first bytes, last bytes): preview of the end of a large stream. The first argument has up to 4096 bytes; the
    second starts at any byte. Returns points of the last bytes exactly as the decoder will return them later, and omits
    points that depend on bytes in between. Items other than points are ignored."""
    supersedes: Callable[[str], str] | None = None
    """supersedes(path): a key; of all files with the same key only the newest is read (trainer_state.json of several
    checkpoints). Requires `wants_name`."""

    @property
    def advice(self) -> str:
        """What the user can do if a run has only this file; "" if the file has metrics or needs none."""
        return self.unsupported or self.without_metrics


class _Silent(StreamDecoder):
    """The decoder of a format of an installed package that cannot create its own."""

    def feed(self, data: bytes) -> Sequence[Item]:
        return ()

    def flush(self) -> Sequence[Item]:
        return ()


def no_decoder() -> StreamDecoder:
    """Raise FormatError: the `decoder` of an unsupported format."""
    raise FormatError("recognised, but not read")


@cache
def all_formats() -> tuple[Format, ...]:
    """Return all formats, sorted by the names of their modules, then those of installed packages."""
    formats: tuple[Format, ...] = discover(FORMATS, "FORMAT")
    return tuple(_guarded(f) if is_installed(FORMATS, f) else f for f in formats)


def is_candidate(path: str) -> bool:
    """Return whether at least one format wants to open the file at `path`."""
    path = log_name(path).live
    if _wanted_by_name(posixpath.basename(path)):
        return True
    return any(wants_path(path) for wants_path in _path_tests())


def recognise(path: str, head: bytes, formats: Sequence[Format] | None = None) -> Format | None:
    """Return the format of the file at `path` (or with this name) that begins with `head`, or None.

    If several formats match, the one with the highest rank is returned. `formats` replaces `all_formats()`; it must
    have the same ids. A rotated or compressed file has the format that its content has under the name of the live log.
    Raises FormatError, with a hint, if the test of a format raises and no other one matches.
    """
    path = log_name(path).live
    name = posixpath.basename(path)
    ids = _wanted_by_name(name)
    known = all_formats() if formats is None else formats
    candidates = [f for f in known if (f.wants_path(path) if f.wants_path else f.id in ids)]
    candidates.sort(key=lambda f: -f.rank)
    errors: list[FormatError] = []
    match = _first_match(candidates, name, head, errors)
    if match is None and (text := plain_text(head)):
        match = _first_match(candidates, name, text, errors)
    if match is None and errors:
        raise errors[0]
    return match


def _first_match(candidates: Sequence[Format], name: str, head: bytes, errors: list[FormatError]) -> Format | None:
    for log_format in candidates:
        with Caught(FORMATS, log_format, lambda *failure: errors.append(FormatError(*failure))):
            if log_format.matches(name, head):
                return log_format
    return None


def plain_text(head: bytes) -> bytes:
    """Return the beginning of a text with newlines for lone carriage returns and without the lines that have holes (NUL
    bytes); b"" if there are neither, or if these lines have most of the text, as in a binary file."""
    text = _LONE_RETURN.sub(b"\n", head)
    text = b"".join(line for line in text.splitlines(keepends=True) if b"\0" not in line)
    return text if text != head and 4 * len(text) >= len(head.replace(b"\0", b"")) else b""


_LONE_RETURN = re.compile(rb"\r(?![\r\n])")
_CONTRACTS = StreamDecoder, DocumentDecoder, DatabaseDecoder, JournalDecoder
_KINDS = {"feed": "stream", "load": "document", "read": "database", "feed_runs": "journal"}
"""Kind of a format by the method that its decoder has."""


@cache
def kind(format_id: str) -> str:
    """Return the kind of a format: "stream", "document", "database", "journal" or "unsupported"."""
    log_format = next(f for f in all_formats() if f.id == format_id)
    if log_format.unsupported:
        return "unsupported"
    decoder = log_format.decoder
    made = decoder if isinstance(decoder, type) else decoder()  # making that of console text takes 10 ms
    return next(named for method, named in _KINDS.items() if hasattr(made, method))


@lru_cache(maxsize=4096)
def _wanted_by_name(name: str) -> frozenset[str]:
    """Ids of the formats without `wants_path` that want files of this name. Cached: names recur in every run."""
    return frozenset(f.id for f in all_formats() if not f.wants_path and f.wants_name(name))


@cache
def _path_tests() -> tuple[Callable[[str], bool], ...]:
    return tuple(f.wants_path for f in all_formats() if f.wants_path)


def _guarded(log_format: Format) -> Format:
    """Return the format with functions that return an empty result where those of the package raise, and after
    that: a format of an installed package is then left out instead of ending the reader."""

    def guard(function: Callable[..., _T], instead: Callable[..., _T]) -> Callable[..., _T]:
        def call(*arguments: Any) -> _T:
            if not has_failed(FORMATS, log_format):
                try:
                    return function(*arguments)
                except Exception as error:  # noqa: BLE001  raised again unless it is that of a plug-in
                    note_failure(FORMATS, log_format, error)
            return instead(*arguments)

        return call

    def new_decoder() -> Any:
        decoder = log_format.decoder()
        if not isinstance(decoder, _CONTRACTS):
            raise TypeError(f"{type(decoder).__name__} is not a decoder")
        return decoder

    guarded = {
        name: guard(new_decoder if name == "decoder" else function, instead)
        for name, instead in _INSTEAD.items()
        if (function := getattr(log_format, name)) is not None
    }
    return replace(log_format, **guarded)


_INSTEAD: dict[str, Callable[..., Any]] = {
    "decoder": _Silent,
    "wants_name": lambda name: False,
    "wants_path": lambda path: False,
    "source_path": lambda path: path,
    "joined_source": lambda path: path,
    "metric_names": lambda head: frozenset(),
    "metric_name": lambda path: None,
    "shown_names": lambda path: {},
    "supersedes": lambda path: path,
}
"""Functions of a format that may raise, and what is called instead of them after that. Those that decode a log are not
among them: where one raises, only that log is not read."""
