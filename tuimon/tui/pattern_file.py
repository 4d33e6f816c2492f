"""Accept the proposal for lines that are not understood: add its patterns to console_patterns of config.toml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tuimon import lazy_re as re
from tuimon.config import config_path
from tuimon.errors import UsageError
from tuimon.store import Snapshot
from tuimon.tui.settings_file import parsed, quoted, rewrite, text_of

_PROPOSED = re.compile(r'console_patterns = \[("(?:[^"\\]|\\.){1,4000}"(?:, )?){1,9}\]')
_LIST = re.compile(r"(?m)^[ \t]*console_patterns[ \t]*=[ \t]*\[")


def proposed_patterns(snapshot: Snapshot) -> list[str]:
    """Return the patterns that are proposed for the first log without points, such as ["zzz {step} qwx {qwx}"]."""
    streams = (stream for run in snapshot.runs if not run.point_count for stream in run.streams)
    for status in (stream.status for stream in streams):
        if status and (match := _PROPOSED.search(status.message)):
            return list(parsed(match[0])["console_patterns"])
    return []


def add_patterns(patterns: Sequence[str]) -> Path:
    """Add patterns before those of config.toml and return the path of the file.

    Raises UsageError if the file is invalid or has its patterns in a form that cannot be changed; OSError if it cannot
    be written."""
    file = config_path()
    before = text_of(file) if file.exists() else ""
    known = parsed(before).get("console_patterns", [])
    if not isinstance(known, list):
        raise UsageError(f"{file}: console_patterns must be a list")
    new = ", ".join(map(quoted, patterns))
    if "console_patterns" in parsed(before):
        after = _LIST.sub(lambda begin: f"{begin[0]}{new}{', ' if known else ''}", before, count=1)
    else:
        after = f"console_patterns = [{new}]\n{before}"
    rewrite(file, before, after, "console_patterns", [*patterns, *known])
    return file
