"""Facts about the progress of a run, from which its state and its ETA are computed."""

from __future__ import annotations

import math

from msgspec import Struct

from tuimon.analysis.cadence import Cadence


class ProgressInputs(Struct, frozen=True):
    """Facts about a run; NaN, None or "" if unknown. Times are seconds since the epoch."""

    points: int = 0
    step: int | None = None
    """Last step."""
    first_step: int | None = None
    total: int | None = None
    """Configured number of training steps."""
    step_name: str = "step"
    """What the steps count: "step", "epoch", or "round" or "iteration" of boosting."""
    counted: str = ""
    """What the log itself counts from 1 up to the total where its steps count from 0, as "epoch"; "" if it does not."""
    updates: int = 1
    """Logged steps per training step; 0 if unknown, so that no total can be compared."""
    stride: int = 1
    """Training steps between two points of the training metric that is logged least often."""
    rows_per_step: float = 1.0
    """Steps of the log per training step."""
    epoch: float = math.nan
    total_epochs: float = math.nan
    configured_epochs: float = math.nan
    """Number of epochs in the settings; not used for an ETA, as the epoch may be a whole number from 0."""
    cadence: Cadence | None = None
    pace_watched: bool = False
    """Whether the cadence is that of the arrival of points, as the log has no times."""
    bar_seconds: float = math.nan
    """Time per step by the rate that the progress bar of the training shows, used without a cadence; NaN of a resumed
    run, whose bar counts the steps before."""
    last_wall_time: float = math.nan
    """Time of the newest point of a training metric."""
    last_change: float = math.nan
    """Time of the last change of a file that grows with the steps; NaN for files that were written at once (copied)."""
    last_growth: float = math.nan
    """Time of the last change of any file: console text is printed without steps, too."""
    last_error: str = ""
    """Last line of the console, if it reports an error."""
    logged_state: str = ""
    """State that the log of the present attempt states itself: finished | pruned | crashed | running."""
    logged_evidence: str = ""
    logged_cause: str = ""
    """Cause of a crash by the fatal line of the log, such as "time limit reached"; "" if it is not known."""
    input_ended: bool = False
    """Whether it is read from a pipe that has ended: nothing more will come, and file times mean nothing."""
    writer: str = "unknown"
    """open (a process of this machine has a log of the run open for writing) | closed (none has, though a writer of its
    kind keeps it open) | unknown."""
    process: str = ""
    """Name and id of the process that holds a log open."""
    closed: float = math.nan
    """Time at which a process that had held the log open was found to have closed it; the writer is "closed"."""
    growth_seen: float = math.nan
    """Time at which a file was last seen to grow; NaN if the files were only seen as they are."""
    deleted: bool = False
    """Whether all files with its points were deleted."""
    truncated: float = math.nan
    """Time at which the last file with points was truncated, if all of them are empty now."""
    unread: str = ""
    """First reason why the files, which are not empty, give no point; "" if they are empty or unfinished."""
    unread_whole: bool = False
    """Whether one of these files is a whole document, so that no more can come."""

    @property
    def position(self) -> int | None:
        """Last step as the log itself counts it: one more if its console counts from 1 and its points from 0."""
        return self.step + 1 if self.step is not None and self.counted else self.step

    @property
    def epochs(self) -> float:
        """Number of epochs by the log, or else by the settings."""
        return self.total_epochs if math.isfinite(self.total_epochs) else self.configured_epochs

    @property
    def position_name(self) -> str:
        """What `position` and the total count."""
        return self.counted or self.step_name


def total_steps(known: ProgressInputs) -> int | None:
    """Return the total number of steps, computed from the epochs if no total is logged.

    None if it is unknown, or if the step is past the logged total, which then counts something else.
    """
    if known.total is not None or known.step is None:
        wrong = known.updates == 0 or (known.step is not None and (known.step - 1) > (known.total or 0))
        return None if wrong else known.total
    if known.epoch > 0 and known.total_epochs >= known.epoch:
        return round(known.step * known.total_epochs / known.epoch)
    return None
