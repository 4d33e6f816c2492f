"""Find log files below the given paths and recognise their formats."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tuimon.formats import Format, is_candidate, kind
from tuimon.reader.database import Databases
from tuimon.reader.recognition import Recognition
from tuimon.reader.supersession import Supersession
from tuimon.sources.scan import FoundFile, Scan, rescan, scan


class Discovery:
    """The files below the given paths, and what is known about those that are not followed."""

    def __init__(self, roots: Sequence[str], console_patterns: Sequence[str]) -> None:
        """roots: absolute paths. console_patterns: the user's patterns of console lines. Raises UsageError."""
        self.recognition = Recognition(console_patterns)
        self.supersession = Supersession()
        self.databases = Databases()
        self._roots = roots
        self.scan: Scan | None = None
        """The last search; None before the first."""
        self._pending: list[FoundFile] = []
        """Files that are not recognised as logs while they are unchanged."""

    def new_logs(self, known: Container[str]) -> list[tuple[FoundFile, Format]]:
        """The logs that were not returned before, with their formats; runs of databases are returned like files.

        The first call searches everywhere, later calls where something has changed. known: paths that need not be
        examined again."""
        before = self.scan
        self.scan = scan(self._roots, is_candidate) if before is None else rescan(before)
        if self.scan is not before:
            self._pending = [
                file for file in self.scan.files if file.path not in known and file.path not in self.databases
            ]
        new: list[tuple[FoundFile, Format]] = []
        candidates, self._pending = self._pending, []
        for file in candidates:
            log_format = self.recognition.format_of(file)
            if log_format is None:
                self._pending.append(file)
                continue
            if kind(log_format.id) in ("database", "journal"):
                self.databases.add(file, log_format)
            else:
                new.append((file, log_format))
        return [*new, *self.databases.new_runs()]

    def reconsider(self, path: str) -> None:
        """Look at a file again with the next call of `new_logs`."""
        if self.scan is not None:
            self._pending += [file for file in self.scan.files if file.path == path]
