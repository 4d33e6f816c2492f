"""checkpoint_before(): the checkpoint of a run to which the user can go back, for advice."""

from __future__ import annotations

from bisect import bisect_left

from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.store import Run


def checkpoint_before(run: Run, step: int | None) -> str:
    """Return words for the last checkpoint on disk before a step: "the checkpoint of step 20".

    "an earlier checkpoint" if none is known: checkpoints may be kept on another machine.
    """
    before = bisect_left(run.checkpoints, step) if step is not None else 0
    return (
        f"the checkpoint of {progress_inputs(run).step_name} {run.checkpoints[before - 1]}"
        if before
        else "an earlier checkpoint"
    )
