"""Read log files: find them, follow them, and turn their content into events. No screen, store or chart is involved.

The steps from a file on disk to events, in the order of the modules to read:

    process.py       the reader process: events as frames on standard output; polls again after events or time
    collect.py       Collector: the two steps below, for commands, tests and the process
      1. find
    discovery.py     scan the paths (tuimon.sources) and recognise the format of each candidate
    recognition.py     format of a file, by its first bytes; reasons why files are not read
    supersession.py    of files that repeat one another only the newest is read
    database.py        a database with several runs, as if each were a file
    grouping.py      group the logs into runs by their paths and beginnings
    assembly.py      number the runs, and begin to follow their logs as streams
    checkpoints.py     checkpoints of the runs, by their names
    notices.py         notices about files and directories that cannot be read
      2. read
    polling.py       choose the logs to poll in this round
    follow.py        Followed: one log, its status, and the preview of its end
    item_sources.py    a file and its decoder: bytes in, items out
    naming.py          name of the metric of a file that does not state it
    events.py        EventEncoder: items in, events out

Two modules are independent of these: machine.py watches the machine, and log_text.py reads the text of a console log
for the log view of the screen. The public names are Collector and Followed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuimon.reader.collect import Collector
    from tuimon.reader.follow import Followed

__all__ = ["Collector", "Followed"]

_MODULES = {"Collector": "tuimon.reader.collect", "Followed": "tuimon.reader.follow"}


def __getattr__(name: str) -> Any:
    """Import on first use: at start-up the UI process needs only log_text."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
