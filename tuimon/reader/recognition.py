"""Recognise the format of a file by its first bytes, and remember why other files are not read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import FormatError, NothingFound
from tuimon.formats import Format, all_formats, plain_text, recognise
from tuimon.formats.console import text as console
from tuimon.model.log_names import log_name
from tuimon.reader import plausibility
from tuimon.reader.compression import decompressed_head, reason_unreadable
from tuimon.reader.encoding import utf8
from tuimon.registry import FORMATS, Caught
from tuimon.sources.files import CHECK_ACCESS, explain, is_gone, opened
from tuimon.sources.grouped_files import GroupedFile
from tuimon.sources.other_files import reason_by_name
from tuimon.sources.scan import FoundFile, Problem
from tuimon.sources.sqlite_copy import MAGIC, schema
from tuimon.text import clean, decoded

HEAD = 4096
"""Number of bytes by which a format is recognised."""
ENDING = 16384
"""Number of bytes at the end of a text by which it is recognised, if its first bytes are not enough."""
_ZEROS_READ = 1 << 20
"""Bytes after the hole at the beginning of a sparse file in which a log begins."""
_UNKNOWN = "not a metric log"
_FRACTION = re.compile(rb"\d\.\d")
_LONGEST_EXAMPLE = 80
_TEACH = "see console_patterns in docs/formats.md"
_READ = "logs are TensorBoard, W&B, SwanLab, MLflow and Trackio files, JSON, CSV, console text and others (README). "
COMPANION = 10
"""Maximum rank of formats (console text) that belong to the run in their directory and are not a run of their own."""


def as_grouped(path: str, log_format: Format, metric_names: frozenset[str] = frozenset()) -> GroupedFile:
    """The properties of a file that grouping into runs depends on."""
    source = log_format.source_path(path) if log_format.source_path else ""
    companion = log_format.rank <= COMPANION or log_format.describes_run
    live = log_name(path).live
    joined = log_format.joined_source(live) if log_format.joined_source else live if live != path else ""
    return GroupedFile(
        path,
        log_format.id,
        log_format.directory_is_source,
        companion,
        log_format.describes_run,
        source,
        metric_names=metric_names,
        joined="" if log_format.directory_is_source else joined,
    )


class LeftOut(Struct, frozen=True):
    """A file that is not read."""

    path: str
    reason: str
    proposed_patterns: tuple[str, ...] = ()
    """Values of console_patterns that would read it."""


class Recognition:
    """Recognises formats. A file that is not recognised is examined again once it has changed."""

    def __init__(self, console_patterns: Sequence[str] = ()) -> None:
        """console_patterns: the user's patterns of console lines. Raises UsageError if one is invalid."""
        self._formats = all_formats()
        self._own_patterns = bool(console_patterns)
        if console_patterns:
            own = console.with_patterns(console_patterns)
            self._formats = tuple(own if known is console.FORMAT else known for known in self._formats)
        self.metric_names: dict[str, frozenset[str]] = {}
        """Names of the metrics, by path of a file whose beginning contains them."""
        self.refused: dict[str, Problem] = {}
        """Why a file cannot be opened, by its path; it is tried again at each call."""
        self._left_out: dict[str, LeftOut] = {}
        self._undecided: dict[str, tuple[int, float]] = {}
        """(size, time of change) at the last look, by path of a file that is not recognised."""

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of files whose names look like logs and that are not read."""
        return [(file.path, file.reason) for file in self._left_out.values()]

    @property
    def teachable(self) -> list[LeftOut]:
        """Texts that are not read, but would be by a pattern."""
        return [file for file in self._left_out.values() if file.proposed_patterns]

    def format_of(self, file: FoundFile) -> Format | None:
        """The format of a file, or None if it is not a log, or not one yet."""
        look = (file.size, file.modified)
        try:
            if file.path in self._undecided:  # e.g. an empty file; a rescan does not notice its growth
                status = os.stat(file.path)
                look = (status.st_size, status.st_mtime)
                if self._undecided[file.path] == look:
                    return None
            with opened(file.path) as (descriptor, status):
                head = _head(descriptor)
            if head and log_name(file.path).compressed:
                if reason := reason_unreadable(head):
                    self.skip(file, reason, look)
                    return None
                head = decompressed_head(head, HEAD)
            head = utf8(head)
            if head.startswith(MAGIC):
                head += schema(file.path)
        except OSError as error:
            self.forgive(file.path)
            if not is_gone(error):
                self.refused[file.path] = Problem(file.path, explain(error), CHECK_ACCESS)
            return None
        except FormatError as error:
            self.skip(file, error.message, look)
            return None

        def refuse(reason: str, hint: str) -> None:
            self.skip(file, reason, look)
            self.refused[file.path] = Problem(file.path, reason, hint)

        with Caught(FORMATS, console.FORMAT, refuse):
            return self._recognised(file, head, status.st_size, look)
        return None

    def _recognised(self, file: FoundFile, head: bytes, size: int, look: tuple[int, float]) -> Format | None:
        """Return the format of a file that begins with `head`, and note why it has none."""
        log_format = recognise(file.path, head, self._formats) or self._console_by_ending(file.path, head)
        if log_format is None:
            reason, patterns = ("empty", ()) if size == 0 else self._reason(file.path, head)
            self.skip(file, reason, look, patterns)
        elif doubt := plausibility.doubt(file.path, file.root, log_format, head, size):
            log_format = None
            self.skip(file, doubt, look)
        else:
            if names := log_format.metric_names(plain_text(head) or head):
                self.metric_names[file.path] = names
            self._undecided.pop(file.path, None)
            self.forgive(file.path)
        return log_format

    def _reason(self, path: str, head: bytes) -> tuple[str, tuple[str, ...]]:
        """Return why a file that is not empty is not read: what its beginning holds instead of metrics; and the
        patterns that would read it."""
        if reason := reason_by_name(path):
            return reason, ()
        name = os.path.basename(log_name(path).live)
        if not console.wants_name(name) or not console.is_text(head):
            return _UNKNOWN, ()
        lines = [line.strip() for line in head.replace(b"\r", b"\n").split(b"\n")[:-1] if line.strip()]
        numbered = [line for line in lines if _FRACTION.search(line)]
        if not numbered:
            return _UNKNOWN, ()
        example = clean(decoded(numbered[-1])[:_LONGEST_EXAMPLE])
        have_numbers = f"{len(numbered)} of the first {len(lines)} lines have numbers"
        if self._own_patterns:
            return f"{_UNKNOWN}: {have_numbers}, and console_patterns match none of them, such as `{example}`", ()
        decoder = console.new_decoder()
        decoder.feed(head)
        teach = clean(decoder.remark) or f"{have_numbers} in an unknown form, such as `{example}`"
        return f"{_UNKNOWN}: {teach}; {_TEACH}", tuple(decoder.proposed_patterns)

    def _console_by_ending(self, path: str, head: bytes) -> Format | None:
        """Return the format of console text if its last lines are metrics: settings and warnings can fill its head."""
        live = log_name(path)
        name = os.path.basename(live.live)
        if len(head) < HEAD or live.compressed or not console.wants_name(name) or not console.is_text(head):
            return None
        try:
            with opened(path) as (descriptor, status):
                ending = os.pread(descriptor, ENDING, max(HEAD, status.st_size - ENDING))
        except OSError:  # removed since its head was read
            return None
        known = next(known for known in self._formats if known.id == console.FORMAT.id)
        return known if known.matches(name, utf8(ending.partition(b"\n")[2])) else None

    def skip(
        self,
        file: FoundFile,
        reason: str,
        look: tuple[int, float] | None = None,
        proposed_patterns: tuple[str, ...] = (),
    ) -> None:
        """Note that a file is not read while it is unchanged. look: its (size, time of change)."""
        self._left_out[file.path] = LeftOut(file.path, reason, proposed_patterns)
        self.refused.pop(file.path, None)
        self._undecided[file.path] = look or (file.size, file.modified)

    def leave_out(self, path: str, reason: str) -> None:
        """Note that a file is not read although its format is known."""
        self._left_out[path] = LeftOut(path, reason)

    def forgive(self, path: str) -> None:
        """Note that a file is read after all."""
        self._left_out.pop(path, None)
        self.refused.pop(path, None)


def _head(descriptor: int) -> bytes:
    """Return the first bytes of a file; the first after the hole, if it begins with one.

    A log begins with a hole if it was truncated while its writer did not append."""
    head = os.pread(descriptor, HEAD, 0)
    if len(head) < HEAD or head.strip(b"\0"):
        return head
    with suppress(OSError, AttributeError):  # no data after the hole, or holes are not known here
        piece = os.pread(descriptor, _ZEROS_READ, os.lseek(descriptor, 0, os.SEEK_DATA))
        head = b"\0" + piece.lstrip(b"\0")[:HEAD]
    return head


def nothing_found(
    roots: Sequence[str], skipped: Sequence[tuple[str, str]] = (), problems: Sequence[Problem] = ()
) -> NothingFound:
    """The error that names the files found instead of logs, and the formats if any of them is none that is read."""
    where = ", ".join(clean(root) for root in roots)
    rejected = "".join(f"\n        {clean(path)}: {reason}" for path, reason in skipped[:5])
    rejected += "".join(f"\n        {clean(problem.path)}: {problem.reason}" for problem in problems[:5])
    if len(skipped) > 5:
        rejected += f"\n        … and {len(skipped) - 5} more (tuimon doctor lists them)"
    unknown = not problems and all(reason.startswith(_UNKNOWN) for _, reason in skipped)
    advice = "`tuimon doctor PATH` names each file and the reason, `tuimon --wait PATH` waits for a log to appear"
    return NothingFound(f"no metric log in {where}{rejected}", f"{_READ if unknown else ''}{advice}")
