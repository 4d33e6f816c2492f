"""UnassignedFile: a file without metrics in the directory of no run that has any; see assembly."""

from __future__ import annotations

from msgspec import Struct

from tuimon.formats import Format, kind
from tuimon.reader.follow import Followed
from tuimon.sources.grouped_files import Member, RunGroup
from tuimon.sources.scan import FoundFile


class UnassignedFile(Struct):
    """A file without metrics that is not part of a run."""

    group: RunGroup
    """The run that the file would be part of."""
    member: Member
    file: FoundFile
    format: Format
    followed: Followed | None = None

    @property
    def is_text(self) -> bool:
        return kind(self.format.id) == "stream"
