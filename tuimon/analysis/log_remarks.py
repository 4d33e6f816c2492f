"""What is remarkable about the logs of a run although all of their points are read."""

from __future__ import annotations

from tuimon.analysis.words import duration
from tuimon.store import Run


def clock_remark(run: Run) -> str:
    """Return "wall time goes back by 30 m at step 100", or "" if it never does."""
    jumps = [f"by {duration(round(jump.seconds))} at step {jump.step}" for jump in run.clock_jumps]
    return f"wall time goes back {', '.join(jumps)}" if jumps else ""


def reading_remark(run: Run) -> str:
    """Return what the reader notes about the log with the most points, as "12 rows without a step take the step of the
    row before"; "" for nothing. It is cleaned."""
    main = max(run.streams, key=lambda view: view.point_count, default=None)
    if main is None or not main.point_count or main.status is None or main.status.state != "current":
        return ""
    return main.status.message
