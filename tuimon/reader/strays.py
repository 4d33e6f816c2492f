"""Files without metrics, found among runs that have some, and in the directory of none of them.

They are no run: a screen full of empty runs helps nobody. What becomes of them:

- Console text above several runs is shown with that of them that was written last, and goes on with the next one when
  that begins. So each run has the text that came while it was the newest.
- Console text that lies near no run is read in silence.
- Text with a point in it is a run after all, from its beginning.
- A config, and a log that cannot be read, waits for metrics to appear beside it.

Where there are no metrics at all, text is a run: it is all there is to see.
"""

from __future__ import annotations

from msgspec import Struct

from tuimon.formats import Format, kind
from tuimon.reader.follow import Followed
from tuimon.sources.runs import Member, RunGroup
from tuimon.sources.scan import FoundFile

TEXT_OF_NONE = "text without metrics, near no run"
DESCRIBES_NONE = "no metrics beside it"


class Stray(Struct):
    """One of them."""

    group: RunGroup
    """What would be its run."""
    member: Member
    file: FoundFile
    format: Format
    followed: Followed | None = None
    host: int | None = None
    """The run that it is shown with."""

    @property
    def is_text(self) -> bool:
        return kind(self.format.id) == "stream"
