"""What the files that were found are: opened, looked at, and those that are no logs remembered with the reason."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tuimon.errors import FormatError, NothingFound
from tuimon.formats import Format, all_formats, console, recognise
from tuimon.sources.files import explain, open_regular
from tuimon.sources.runs import GroupedFile
from tuimon.sources.scan import FoundFile, Problem
from tuimon.sources.sqlite_copy import MAGIC, schema
from tuimon.text import clean

HEAD = 4096
"""Bytes by which a format is recognised."""

COMPANION = 10
"""Formats up to this rank (console text) belong to the run they lie beside, and make none of their own there."""


def as_grouped(path: str, log_format: Format) -> GroupedFile:
    """What grouping into runs asks of a file."""
    source = log_format.source_path(path) if log_format.source_path else ""
    companion = log_format.rank <= COMPANION
    return GroupedFile(
        path, log_format.id, log_format.directory_is_source, companion, log_format.describes_run, source=source
    )


class Recognition:
    """Tells formats; a file that is not recognised is looked at again once it has changed."""

    def __init__(self, console_patterns: Sequence[str] = ()) -> None:
        """console_patterns: of a user's own console lines."""
        self._formats = all_formats()
        if console_patterns:
            own = console.with_patterns(console_patterns)
            self._formats = tuple(own if known is console.FORMAT else known for known in self._formats)
        self._left_out: dict[str, str] = {}
        self._undecided: dict[str, tuple[int, float]] = {}
        """Path -> (size, time of change) when it was last not recognised."""

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of files that looked like a log by their name and are not read."""
        return list(self._left_out.items())

    def format_of(self, file: FoundFile) -> Format | None:
        """What a file is, None for what is no log, or not one yet."""
        look = (file.size, file.modified)
        try:
            if file.path in self._undecided:  # an empty file, say: a scan does not see it grow
                status = os.stat(file.path)
                look = (status.st_size, status.st_mtime)
                if self._undecided[file.path] == look:
                    return None
            descriptor, status = open_regular(file.path)
            try:
                head = os.pread(descriptor, HEAD, 0)
            finally:
                os.close(descriptor)
            if head.startswith(MAGIC):
                head += schema(file.path)
        except OSError as error:
            self.skip(file, explain(error), look)
            return None
        except FormatError as error:
            self.skip(file, error.message, look)
            return None
        found = recognise(file.path, head, self._formats)
        if found is None:
            self.skip(file, "empty" if status.st_size == 0 else "not a metric log", look)
        else:
            self._undecided.pop(file.path, None)
            self.forgive(file.path)
        return found

    def skip(self, file: FoundFile, reason: str, look: tuple[int, float] | None = None) -> None:
        """Remember that a file is not read as long as it stays as it is. look: (size, time of change)."""
        self._left_out[file.path] = reason
        self._undecided[file.path] = look or (file.size, file.modified)

    def leave_out(self, path: str, reason: str) -> None:
        """Say that a file is left out, though it is known what it is."""
        self._left_out[path] = reason

    def forgive(self, path: str) -> None:
        """A file is no longer left out."""
        self._left_out.pop(path, None)


def nothing_found(
    roots: Sequence[str], skipped: Sequence[tuple[str, str]] = (), problems: Sequence[Problem] = ()
) -> NothingFound:
    """The error that says what was looked for, and what was met instead."""
    where = ", ".join(clean(root) for root in roots)
    met = "".join(f"\n        {clean(path)}: {reason}" for path, reason in skipped[:5])
    met += "".join(f"\n        {clean(problem.path)}: {problem.reason}" for problem in problems[:5])
    if len(skipped) > 5:
        met += f"\n        … and {len(skipped) - 5} more (tuimon doctor lists them)"
    logs = (known for known in all_formats() if not known.unsupported and not known.describes_run)
    titles = ", ".join(dict.fromkeys(known.title for known in logs))
    return NothingFound(
        f"there is no metric log in {where}{met}",
        f"looked for: {titles}. `tuimon --wait PATH` waits for a log to appear",
    )
