"""Facts about the log files of a run: who writes them, whether they are copies, and why they give no point."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tuimon.analysis.words import damage_text
from tuimon.store import Run
from tuimon.store.streams import StreamView
from tuimon.text import clean

_HELD_OPEN = ("tensorboard", "wandb", "swanlab")
"""Formats whose writers hold the file open until they end."""
_UNFINISHED = ("waiting", "writing", "superseded", "gone")
"""States of streams that may give points later, or whose points are elsewhere."""
_UNDERSTOOD = {
    "console": 'lines such as "step 10 loss 0.5" are read, and those of console_patterns in config.toml',
    "csv": "a header line and numbers in columns are read",
    "tensorboard": "scalars are read",
    "": "rows with a step or an epoch, or a list of numbers for each metric, are read",
}
"""Content that would give points, by format."""
_LEAST_COPIED = 5
"""Points of the longest metric from which on a log that was written at once is a copy: a training that has just begun
has written its first row at once, too."""


def percent_read(runs: Iterable[Run]) -> int:
    """Return how much of the logs of runs that are being read has been read (%), rounded down. The size of a log that
    has not been examined yet is taken to be the mean of the others."""
    statuses = [view.status for run in runs for view in run.streams]
    known = [status for status in statuses if status is not None and status.state in ("reading", "current")]
    size = sum(status.size for status in known) * (len(known) + statuses.count(None))
    return 100 * sum(status.read for status in known) * len(known) // size if size else 0


def writer_of(run: Run) -> dict[str, Any]:
    """Return ProgressInputs' writer, process and closed.

    - Files of formats that are held open decide, if there are any; else all files of the run, its console included.
    - "closed" is said only of a file that writers of its kind keep open, or that was seen open before.
    """
    known = [view for view in run.streams if view.status and view.status.state not in ("gone", "superseded")]
    held = [view for view in known if view.info.format in _HELD_OPEN and view.point_count]
    statuses = [view.status for view in held or known if view.status]
    if holding := next((status for status in statuses if status.writer == "open"), None):
        return {"writer": "open", "process": holding.process}
    newest = max(statuses, key=lambda status: np.nan_to_num(status.modified), default=None)
    if newest is None or newest.writer != "closed" or any(status.writer == "unknown" for status in statuses):
        return {"writer": "unknown"}
    closed = max((status.closed for status in statuses if math.isfinite(status.closed)), default=math.nan)
    kept = bool(held) or any(view.status is newest and _is_kept_open(view) for view in known)
    return {"writer": "closed" if math.isfinite(closed) or kept else "unknown", "closed": closed}


def _is_kept_open(view: StreamView) -> bool:
    """Return whether a log with points is console text that a shell or a logger keeps open until the program ends.

    Programs that open a text of their own for each line usually name it log.txt.
    """
    is_text = view.info.format == "console" and not view.info.path.endswith(".txt")
    return is_text and view.point_count > 0 and view.status is not None and not view.status.reopened


def growth_seen(run: Run) -> float:
    """Return when a log of a run was last seen to grow; NaN if its logs were only seen as they are."""
    return max(
        (view.status.grown for view in run.streams if view.status and math.isfinite(view.status.grown)),
        default=math.nan,
    )


def damage_of(run: Run) -> str:
    """Return how many parts of the files of a run are damaged, and their size; "" for none."""
    damaged = [view.status for view in run.streams if view.status and view.status.damaged]
    if not damaged:
        return ""
    parts, size = sum(status.damaged for status in damaged), sum(status.damaged_bytes for status in damaged)
    return damage_text(parts, size, cut_short=len(damaged) == 1 and damaged[0].cut_short)


def is_deleted(run: Run) -> bool:
    """Return whether all files with points were deleted; all files if there are no points."""
    states = [view.status.state for view in run.streams if view.status and (view.point_count or not run.point_count)]
    return "gone" in states and set(states) <= {"gone", "superseded"}


def run_is_copied(run: Run) -> bool:
    """Return whether all files with points were written at once, and hold more than the first rows of a training."""
    if run.busiest_metric is not None and len(run.curve(run.busiest_metric)) < _LEAST_COPIED:
        return False
    statuses = [view.status for view in run.streams if view.point_count or not run.point_count]
    return bool(statuses) and all(status is not None and status.copied for status in statuses)


def _understood(log_format: str) -> str:
    """Return what would give points in a log of this format, for the user."""
    return _UNDERSTOOD.get(log_format, _UNDERSTOOD[""])


def unread_reason(run: Run) -> str:
    """Return why the first file that is not empty gives no point, and what would; "" if there is no such file."""
    for view in sorted(run.streams, key=lambda view: not _is_whole(view)):
        status = view.status
        if not run.point_count and status and status.size and status.state not in _UNFINISHED:
            reason = f"{view.info.source}: {status.message or 'no metric in it'}"
            return reason if status.damaged else f"{reason}; {_understood(view.info.format)}"
    return ""


def unread_parts(run: Run) -> str:
    """Return the numbers that gave no point in many lines of the file with the most points, and its name; cleaned.

    "" if there are none.
    """
    main = _main_log(run)
    text = main.status.unread if main is not None and main.status is not None else ""
    return f"{text} of {clean(main.info.source)}" if text and main is not None else ""


def reading_remark(run: Run) -> str:
    """Return what the reader notes about the log with the most points, as "12 rows without a step take the step of the
    row before"; "" for nothing. It is cleaned."""
    status = main.status if (main := _main_log(run)) is not None else None
    return status.message if status is not None and status.state == "current" else ""


def _main_log(run: Run) -> StreamView | None:
    return max((view for view in run.streams if view.point_count), key=lambda view: view.point_count, default=None)


def unread_whole(run: Run) -> bool:
    """Return whether a file of the run is a whole document, so that no point can come from it later."""
    return any(_is_whole(view) for view in run.streams)


def _is_whole(view: StreamView) -> bool:
    """Return whether a file is a document that was read as a whole, not a log that grows."""
    status = view.status
    grows = view.info.format in (*_HELD_OPEN, "console", "csv", "jsonl")
    return bool(status and status.size and status.state == "current" and not grows)
