"""Progress of a run: step, state, ETA, each with its evidence. progress_state.py has the rule of the state."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.progress_facts import ProgressInputs, last_activity_time, total_steps
from tuimon.analysis.progress_state import is_silent, state_of
from tuimon.analysis.tolerated_silence import TOLERATED_INTERVALS

_FEWEST = 5
"""Intervals that an ETA needs."""
_MAX_AHEAD = 60.0
"""A point more than this many seconds ahead of our clock has no usable time, if the times of its files are known: the
clock of the writer is wrong, or it logged local time in another time zone."""
_MAX_BEHIND = 86400.0
"""If the files changed more than this many seconds after their last point, one of the two times is ignored: that of the
point if the files were seen to grow (a replay, a wrong clock), else that of the files, which are a copy."""


class ProgressReport(Struct, frozen=True):
    """Progress at one moment. Durations in seconds, times in seconds since the epoch; NaN or None if unknown."""

    step: int | None
    total: int | None
    updates: int
    """Logged steps per training step; 1 if training steps are logged."""
    epoch: float
    seconds_per_step: float
    """Usual time per step including its share of the pauses so far (evaluations, checkpoints), as in the ETA."""
    eta_seconds: float
    """Time left; only for a running run."""
    eta_range: tuple[float, float]
    """Time left at the pace of the faster and of the slower half of the newest steps."""
    finish_time: float
    last_wall_time: float
    """Time of the newest point of a training metric."""
    last_change: float
    """Time of the last change of a file that grows with the steps."""
    last_age: float
    """Time since the later of the two."""
    silent_for: float
    """Time since the newest point if it is longer than usual in a running run, else NaN."""
    state: str
    """reading (its history has not been read yet) | running | stalled | finished | crashed | stopped (its writer is
    gone before the end) | ended (its writer is gone, the outcome is unknown) | waiting (no point yet, or none
    since the log was truncated) | not understood (no point in files that are complete) | deleted (its files are gone) |
    quiet (silent for long or the input has ended, without evidence of the outcome) | unknown (no usable time, as of a
    copy that ends before its total)."""
    evidence: str
    """One sentence with the numbers that the state is based on."""
    step_name: str = "step"
    """What the steps count: "step", "epoch", or "round" or "iteration" of boosting."""
    position: int | None = None
    """Last step as the log itself counts it: `step`, or one more (see `ProgressInputs.counted`)."""
    position_name: str = "step"
    """What `position` and `total` count."""
    pace_watched: bool = False
    """Whether the pace is that of the arrival of points, as the log has no times."""
    cause: str = ""
    """Cause of the crash in a few words, such as "time limit reached"; "" for other states, and if it is not known."""
    pace_of_bar: bool = False
    """Whether the pace is the rate that the progress bar of the training shows, as the log has no times."""
    lacks_times: bool = False
    """Whether a running run has no ETA as its log has no times, and too few points were seen to arrive."""


def report(known: ProgressInputs, now: float) -> ProgressReport:
    """Return the progress at `now`, seconds since the epoch."""
    if known.copied and known.writer != "open" and not math.isfinite(known.growth_seen):
        known = replace(known, last_change=math.nan, last_growth=math.nan)
    if known.last_wall_time > now + _MAX_AHEAD and known.last_change <= now + _MAX_AHEAD:
        known = replace(known, last_wall_time=math.nan)
    if known.last_change > now + _MAX_BEHIND:
        known = replace(known, last_change=math.nan)  # no clock is wrong by days: the file was touched or unpacked
    if known.last_change - known.last_wall_time > _MAX_BEHIND:
        grown = math.isfinite(known.growth_seen)
        known = replace(known, last_wall_time=math.nan) if grown else replace(known, last_change=math.nan)
    age = now - last_activity_time(known)
    age = 0.0 if age < 0 else age  # the writer's clock is ahead of ours
    # The last activity may be that of a file touched later (a copy); the evidence names the time without a point.
    since = max(0.0, now - known.last_wall_time) if math.isfinite(known.last_wall_time) else age
    state, evidence = state_of(known, age, since)
    total = total_steps(known)
    cadence = known.cadence
    eta, eta_range = math.nan, (math.nan, math.nan)
    if state == "running" and cadence and cadence.intervals >= _FEWEST and total is not None and known.step is not None:
        end = total - bool(known.counted)
        left = end - known.step
        expected = left * cadence.mean_seconds
        # A step that takes much longer than usual may never end: until it does, the time left is not known to shrink.
        longest = max(TOLERATED_INTERVALS * cadence.interval, cadence.longest_pause)
        elapsed = min(age, expected, longest)
        eta = expected - elapsed
        eta_range = (
            max(0.0, left * (cadence.low + cadence.pause_seconds) - elapsed),
            max(0.0, left * (cadence.high + cadence.pause_seconds) - elapsed),
        )
    of_bar = cadence is None and known.bar_seconds > 0
    if state == "running" and of_bar and total is not None and known.step is not None:
        expected = (total - bool(known.counted) - known.step) * known.bar_seconds
        eta = max(0.0, expected - min(age, TOLERATED_INTERVALS * known.bar_seconds))
        eta_range = eta, eta
    return ProgressReport(
        known.step,
        total,
        max(known.updates, 1),
        known.epoch,
        cadence.mean_seconds if cadence else known.bar_seconds,
        eta,
        eta_range,
        now + eta,
        known.last_wall_time,
        known.last_change,
        age,
        since if state == "running" and is_silent(known, since) else math.nan,
        state,
        evidence,
        known.step_name,
        known.position,
        known.position_name,
        known.pace_watched,
        known.logged_cause if state == "crashed" else "",
        pace_of_bar=of_bar,
        lacks_times=state == "running" and bool(total) and math.isnan(eta) and math.isnan(known.last_wall_time),
    )
