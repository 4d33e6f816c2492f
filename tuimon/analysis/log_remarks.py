"""What is remarkable about the logs of a run although all of their points are read."""

from __future__ import annotations

from tuimon.analysis.words import duration
from tuimon.store import Run


def clock_remark(run: Run) -> str:
    """Return "wall time goes back by 30 m at step 100", or "" if it never does."""
    jumps = [f"by {duration(round(jump.seconds))} at step {jump.step}" for jump in run.clock_jumps]
    return f"wall time goes back {', '.join(jumps)}" if jumps else ""
