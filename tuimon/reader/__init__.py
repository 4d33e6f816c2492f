"""Reading: finds logs, follows them, decodes them and tells what they hold, as events.

    collect.py      which files there are, and one Followed for each
    recognition.py  what a file is
    superseding.py  of files that repeat one another the newest
    strays.py       files without metrics among runs that have some
    follow.py       one file: its tail and its decoder
    naming.py       what the one metric of a file is called, where the file does not say it
    database.py     a database that holds several runs
    notices.py      what is said of that which cannot be read
    events.py       decoded items -> events
    log_text.py     the text of a console log for a log view, from its file
    process.py      the same as a process that writes frames to its standard output

The public names are Collector and Followed. Nothing here knows a screen, a store or a chart.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuimon.reader.collect import Collector
    from tuimon.reader.follow import Followed

__all__ = ["Collector", "Followed"]

_HOMES = {"Collector": "tuimon.reader.collect", "Followed": "tuimon.reader.follow"}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: a screen needs log_text alone, at every start."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
