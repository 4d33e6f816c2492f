"""Progress of a run: step, state, ETA, each with its evidence. progress_state.py has the rule of the state."""

from __future__ import annotations

import math

from msgspec import Struct

from tuimon.analysis.progress_facts import ProgressInputs, total_steps
from tuimon.analysis.progress_state import TOLERATED_INTERVALS, State, ends_early, state_of

_FEWEST = 5
"""Intervals that an ETA needs."""


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
    claim: State
    """The state with what it was concluded from."""
    is_early: bool
    """Whether the step is clearly before the end, and no word of the log explains it."""
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

    @property
    def state(self) -> str:
        """Word of the state."""
        return self.claim.word

    @property
    def evidence(self) -> str:
        """One sentence with the numbers that the state is based on."""
        return self.claim.sentence

    @property
    def reason(self) -> str:
        """Which condition of the state holds: "total", "open", "closed", "silent" …"""
        return self.claim.reason

    @property
    def gap(self) -> float:
        """Usual time between two points (s)."""
        return self.claim.gap

    @property
    def has_died(self) -> bool:
        """Whether the training ended before its end."""
        return self.state == "crashed" or (self.state == "ended" and self.is_early)

    @property
    def age(self) -> float:
        """Time since the newest point, or else since the log changed last (s); NaN if unknown."""
        return self.claim.age


def report(known: ProgressInputs, now: float) -> ProgressReport:
    """Return the progress at `now`, seconds since the epoch."""
    claim = state_of(known, now)
    state, age = claim.word, claim.age
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
        claim,
        claim.reason != "logged" and ends_early(known),
        known.step_name,
        known.position,
        known.position_name,
        known.pace_watched,
        known.logged_cause if state == "crashed" else "",
        pace_of_bar=of_bar,
        lacks_times=state == "running" and bool(total) and math.isnan(eta) and math.isnan(known.last_wall_time),
    )
