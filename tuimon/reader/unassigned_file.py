"""UnassignedFile: a file without metrics in the directory of no run that has any; see assembly."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from msgspec import Struct

from tuimon.formats import Format, kind
from tuimon.reader.follow import Followed
from tuimon.sources.files import first_bytes
from tuimon.sources.grouped_files import Member, RunGroup
from tuimon.sources.scan import FoundFile

_BEGINNING = 64 << 10
"""Bytes of a text that are searched for the directory of its run."""


class UnassignedFile(Struct):
    """A file without metrics that is not part of a run."""

    group: RunGroup
    """The run that the file would be part of."""
    member: Member
    file: FoundFile
    format: Format
    followed: Followed | None = None
    host: int | None = None
    """Id of the run that the text is shown with."""
    beginning: bytes = b""
    """First bytes of the file, as far as they were read."""

    @property
    def is_text(self) -> bool:
        return kind(self.format.id) == "stream"

    def names(self, directory: str) -> bool:
        """Return whether the beginning of the text has the name of a directory as a component of a path."""
        if len(self.beginning) < _BEGINNING:
            with suppress(OSError):
                self.beginning = first_bytes(self.file.path, _BEGINNING)
        return re.search(rb"/%b(?![\w.-])" % re.escape(os.fsencode(directory)), self.beginning) is not None
