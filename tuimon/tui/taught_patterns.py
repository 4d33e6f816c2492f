"""Patterns for lines that are not understood: those that are proposed, and config.toml with them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tuimon import lazy_re as re
from tuimon.config import config_path
from tuimon.errors import UsageError
from tuimon.replacing import replace_content
from tuimon.store import Snapshot

_SET = re.compile(r"""(?m)^[ \t]*(["']?)console_patterns\1[ \t]*=[ \t]*\[""")


def proposed_patterns(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the patterns that are proposed for the first text without points. Example: ("zzz {step} qwx {qwx}",)."""
    streams = (stream for run in snapshot.runs if not run.point_count for stream in run.streams)
    proposals = [stream.status.proposed_patterns for stream in streams if stream.status]
    proposals += [notice.proposed_patterns for notice in snapshot.notices if not snapshot.runs]
    return next(filter(None, proposals), ())


def add_patterns(patterns: Sequence[str]) -> None:
    """Write patterns before those of config.toml. Raises UsageError if the file is invalid or in an unusual form;
    OSError if it cannot be written."""
    import tomllib

    file = config_path()
    before = file.read_text("utf-8") if file.exists() else ""
    added = ", ".join(json.dumps(pattern, ensure_ascii=False) for pattern in patterns)
    match = _SET.search(before)
    place = match.end() if match else 0
    text = f"{added}, " if match else f"console_patterns = [{added}]\n"
    after = f"{before[:place]}{text}{before[place:]}"
    try:
        known = tomllib.loads(before)
        wanted = {**known, "console_patterns": [*patterns, *known.get("console_patterns", [])]}
        is_right = tomllib.loads(after) == wanted
    except ValueError:
        is_right = False
    if not is_right:
        raise UsageError(f"{file} cannot be changed; write it by hand: console_patterns = [{added}]")
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else None
    replace_content(Path(os.path.realpath(file)), after.encode("utf-8", "replace"), mode)
