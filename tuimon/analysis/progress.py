"""Progress of a run: step, state, ETA, each with its evidence.

A run is "stalled" only if it has been silent for much longer than its longest usual silence, and if it was either
watched while it was active or fell silent recently, or if a process still holds its log open. While its log grows (an
evaluation of unknown length), a longer silence is required. As long as the usual pace is unknown, no silence counts as
a stall: the first step may take any time. Neither does the silence of a run on another machine that was not watched
before, unless a process there is known to hold its log open: the run may have ended.

If it is known that no process holds the log open any more, the run has "ended": whether it was complete cannot be
known without a total. With a total that was not reached it has "stopped", as a killed job has. If a process was seen to
hold the log open and has closed it, 10 usual intervals without a point are enough, at least 10 s. They are, too, if the
log is of a kind that is held open, and was written on this machine; if its pace is unknown, 20 s are. Otherwise the
writer may open its log for each line: a run that was not watched before, as by a command, is "quiet" then. So is a log
that has been silent for long without any of this evidence.

A file that a copy wrote at once, or that was touched, does not show that the run is active. The time at which the
reader saw a file grow does. A run whose files are gone is "deleted".

A writer may buffer points, so that 2 minutes of silence are tolerated at any pace. If the reader saw the log grow at
least 10 times, 10 times the longest time between two growths is enough, at least a minute.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.cadence import Cadence
from tuimon.analysis.tolerated_silence import (
    PAUSES,
    SHORTEST_SILENCE,
    TOLERATED_INTERVALS,
    UNKNOWN_SILENCE,
    buffered_for,
    silence_after_end,
    tolerated_silence,
)
from tuimon.analysis.words import duration, last_activity, silence, time_of_day

_SILENT = 5.0
"""Shortest time (s) without a point, besides the tolerated intervals, that is reported as such."""
_SILENCE_WITHOUT_PACE = 20.0
"""Tolerated silence (s) if the usual interval is unknown and no process holds a log open that its writer keeps open."""
_FRESH = 20.0
"""An unobserved run counts as stalled up to this multiple of the tolerated silence (minimum 1 h); after that it is
"quiet"."""
_STALL = 3600.0
"""Minimum time (s) for which a silent run counts as stalled if there is no other evidence."""
_FEWEST = 5
"""Intervals that an ETA needs."""
_MAX_AHEAD = 60.0
"""A point more than this many seconds ahead of our clock has no usable time, if the times of its files are known: the
clock of the writer is wrong, or it logged local time in another time zone."""
_MAX_BEHIND = 86400.0
"""If the files changed more than this many seconds after their last point, one of the two times is ignored: that of the
point if the files were seen to grow (a replay, a wrong clock), else that of the files, which are a copy."""
_INPUT_ENDED = "the input has ended without a final state"
_GONE = "no process has its log open"
_WRITTEN_AT_ONCE = "file times mean nothing (written at once)"
_NEARLY = 0.98
"""Fraction of the total from which a run whose writer is gone has ended: the last steps need not be logged."""


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
    """Training steps from one logged step to the next."""
    longest_stride: int = 1
    """Cadence of the training metric that is logged least often."""
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
    """Time per step by the rate that the progress bar of the training shows, used without a cadence."""
    last_wall_time: float = math.nan
    """Time of the newest point of a training metric."""
    last_change: float = math.nan
    """Time of the last change of a file that grows with the steps."""
    last_growth: float = math.nan
    """Time of the last change of any file: console text is printed without steps, too."""
    last_phase: str = ""
    """Phase that was logged last, if the current step is incomplete."""
    last_line: str = ""
    """Last line of the console."""
    logged_state: str = ""
    """State that a log states itself: finished | crashed | running."""
    logged_evidence: str = ""
    logged_cause: str = ""
    """Cause of a crash by the fatal line of the log, such as "time limit reached"; "" if it is not known."""
    state_time: float = math.nan
    """Latest possible time at which the state was logged."""
    state_step: int | None = None
    """Step after which the state was logged."""
    point_step: int | None = None
    """Step of the newest point; a progress bar may be farther."""
    watched_since: float = math.nan
    """Time since which tuimon has been watching the run."""
    input_ended: bool = False
    """Whether it is read from a pipe that has ended: nothing more will come, and file times mean nothing."""
    writer: str = "unknown"
    """open (a process of this machine holds a log of the run open) | closed (none does) | unknown."""
    elsewhere: bool = False
    """Whether the run is on another machine, or in an object store."""
    process: str = ""
    """Name and id of the process that holds a log open."""
    reopens: bool = False
    """Whether the logs are of a kind that a writer may open for each line, so that "closed" does not mean its end."""
    closed: float = math.nan
    """Time at which a process that had held the log open was found to have closed it; the writer is "closed"."""
    in_place: bool = False
    """Whether the newest log was last changed by a write, and not by a copy from elsewhere, whose writer is unknown."""
    growth_seen: float = math.nan
    """Time at which a file was last seen to grow; NaN if the files were only seen as they are."""
    growths: int = 0
    """Number of times the log that has grown last was seen to grow."""
    longest_gap: float = math.nan
    """Longest time (s) between two of them."""
    deleted: bool = False
    """Whether all files with its points were deleted."""
    truncated: float = math.nan
    """Time at which the last file with points was truncated, if all of them are empty now."""
    copied: bool = False
    """Whether the logs were written at once, by a copy or a checkout: their times of change mean nothing."""
    unread: str = ""
    """First reason why the files, which are not empty, give no point; "" if they are empty or unfinished."""
    unread_whole: bool = False
    """Whether one of these files is a whole document, so that no more can come."""
    unclosed: str = ""
    """Evidence in the log that its writer has not ended it, though a writer of its kind does; or ""."""

    @property
    def position(self) -> int | None:
        """Last step as the log itself counts it: one more if its console counts from 1 and its points from 0."""
        return self.step + 1 if self.step is not None and self.counted else self.step

    @property
    def position_name(self) -> str:
        """What `position` and the total count."""
        return self.counted or self.step_name


class ProgressReport(Struct, frozen=True):
    """Progress at one moment. Durations in seconds, times in seconds since the epoch; NaN or None if unknown."""

    step: int | None
    total: int | None
    updates: int
    """Logged steps per training step; 1 if training steps are logged."""
    epoch: float
    seconds_per_step: float
    """Usual time per step including its share of the recurring pauses (evaluations, checkpoints), as in the ETA."""
    eta_seconds: float
    """Time left; only for a running run."""
    eta_range: tuple[float, float]
    """Time left at the pace of the fastest and of the slowest quarter of the newest steps."""
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
    age = now - _last_activity_time(known)
    age = 0.0 if age < 0 else age  # the writer's clock is ahead of ours
    # The last activity may be that of a file touched later (a copy); the evidence names the time without a point.
    since = max(0.0, now - known.last_wall_time) if math.isfinite(known.last_wall_time) else age
    state, evidence = _state(known, age, since)
    total = total_steps(known)
    cadence = known.cadence
    eta, eta_range = math.nan, (math.nan, math.nan)
    if state == "running" and cadence and cadence.intervals >= _FEWEST and total is not None and known.step is not None:
        end = total - bool(known.counted)
        left = end - known.step
        pauses = cadence.pause * cadence.pauses_ahead(known.step, end)
        expected = left * cadence.seconds_per_step + pauses
        # A step that takes much longer than usual may never end: until it does, the time left is not known to shrink.
        longest = max(TOLERATED_INTERVALS * cadence.interval, cadence.longest_pause)
        elapsed = min(age, expected, longest)
        eta = expected - elapsed
        eta_range = (
            max(0.0, left * cadence.low + pauses - elapsed),
            max(0.0, left * cadence.high + pauses - elapsed),
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
        since if state == "running" and _is_silent(known, since) else math.nan,
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


def _is_silent(known: ProgressInputs, since: float) -> bool:
    """Return whether it is longer since the newest point than usual. since: that time (s)."""
    usual = TOLERATED_INTERVALS * known.cadence.interval if known.cadence else math.inf
    return math.isfinite(known.last_wall_time) and since > max(usual, _SILENT)


def _state(known: ProgressInputs, age: float, since: float) -> tuple[str, str]:
    """Return (state, evidence). age: seconds since the last activity; since: seconds since the last point."""
    name = known.step_name
    growing = _grows(known, age)
    buffered = buffered_for(known.growths, known.longest_gap)
    tolerated = tolerated_silence(known.cadence, growing, buffered)
    unheld = math.inf
    """Silence after which a log that no process holds open is taken for one whose writer has closed it."""
    if math.isfinite(known.closed):
        tolerated = min(tolerated, silence_after_end(known.cadence))
    elif known.writer == "closed" and known.in_place and known.cadence:
        unheld = max(silence_after_end(known.cadence), PAUSES * known.cadence.longest_pause)
        if not known.reopens:
            tolerated = min(tolerated, unheld)
    elif known.writer == "closed" and known.in_place and not known.reopens:
        tolerated = min(tolerated, _SILENCE_WITHOUT_PACE)
    if known.deleted:
        return "deleted", "its log was deleted"
    if math.isfinite(known.truncated):
        return "waiting", f"its log was truncated at {time_of_day(known.truncated)}, the points read before are kept"
    logged = known.logged_state
    if known.points == 0 and logged != "crashed":
        return _state_without_points(known, age)
    if logged in ("finished", "pruned", "crashed") and not _resumed(known, tolerated + SHORTEST_SILENCE - buffered):
        return logged, known.logged_evidence or f"its log says that it {logged}"
    total = total_steps(known) if known.total is not None else None
    step, unit = known.position, known.position_name
    if step is not None and total is not None:
        if step >= total:
            return "finished", f"{unit} {step} of {total} reached"
        gone = known.writer == "closed" and (age > tolerated or not math.isfinite(age))
        from_zero = known.first_step == 0 and not known.counted
        if from_zero and step == total - 1 and (known.input_ended or gone or age > tolerated):
            return "finished", f"{unit} {step} reached, the last of {total} counted from 0"
        end = total - from_zero
        left = (end - step) * known.cadence.seconds_per_step if known.cadence else 0.0
        if step + known.stride > end and (gone or (age > tolerated + left and known.writer != "open")):
            last = f"{unit} {step} of {total} was the last one logged (every {known.stride} {unit}s)"
            return "ended" if gone else "quiet", last
        if gone and (step >= _NEARLY * total or step + known.longest_stride > end):
            return "ended", f"{unit} {step} of {total} was the last one logged; {_GONE}"
    of_total = f" ({unit} {step} of {total})" if total is not None and step is not None else ""
    if known.input_ended:
        return "quiet", f"{_INPUT_ENDED}{of_total}"
    if not math.isfinite(age):
        if known.copied:
            last = "" if step is None else f"last at {unit} {step}{'' if total is None else f' of {total}'}; "
            return ("ended" if total is None else "unknown"), f"{last}{_WRITTEN_AT_ONCE}"
        return "unknown", "neither its points nor its files have a usable time"
    usual = f"usually one every {duration(known.cadence.interval)}" if known.cadence else "its usual pace is not known"
    seen_active = known.watched_since <= _last_activity_time(known)
    if unheld < age <= tolerated and not seen_active:
        return "quiet", f"no new point for {silence(since)}, {usual}; {_GONE}{of_total}"
    if age <= tolerated:
        # Usually the time instead of the age, so that a screen that shows it is not redrawn every few seconds.
        last = last_activity(known.last_wall_time, known.last_change)
        if _is_silent(known, since):
            last = f"last point {silence(since)} ago"
        return "running", f"{last}, {usual}" if known.cadence else last
    recent = seen_active or max(age, since) <= max(_FRESH * tolerated, _STALL)
    if known.writer == "closed":
        loss = f"no {name} for {silence(since)}; {_GONE}"
        if math.isfinite(known.closed):
            loss = f"its log was closed at {time_of_day(known.closed)}"
        if known.unclosed:
            return "stopped", f"{loss}, and {known.unclosed}{of_total}"
        epochs = known.total_epochs if math.isfinite(known.total_epochs) else known.configured_epochs
        if total is None and known.epoch >= epochs:
            return "finished", f"epoch {known.epoch:g} of {epochs:g} reached"
        if total is None and _is_before(known.epoch, epochs) and recent:
            reached = f"epoch {known.epoch:g} of {epochs:g}"
            return "stopped", f"{loss} ({reached}){_last_output(known, growing)}"
        if total is not None:
            return "stopped", f"{loss}{of_total}{_last_output(known, growing)}"
        if not (known.reopens and seen_active and known.cadence and age <= max(_FRESH * tolerated, _STALL)):
            return "ended", f"{loss.replace(f'no {name}', 'no new point')}{of_total}"
    may_have_ended = known.elsewhere and known.writer == "unknown" and not seen_active
    if known.cadence and (recent or known.writer == "open") and not may_have_ended:
        held = f"; {known.process} still holds its log open" if known.writer == "open" else ""
        usual = f"{_usual(known.cadence)}{of_total}{held}"
        return "stalled", f"no {name} for {silence(since)}; {usual}{_last_output(known, growing)}"
    unknown = "; whether it still runs is not known here" if may_have_ended else ""
    return "quiet", f"no new point for {silence(since)}{unknown}{of_total}"


def _state_without_points(known: ProgressInputs, age: float) -> tuple[str, str]:
    """A log that is complete and gives no point is not understood; one that is empty or still written may give one."""
    gone = known.writer == "closed" and age > SHORTEST_SILENCE
    ended = known.input_ended or known.logged_state in ("finished", "pruned") or gone or age > UNKNOWN_SILENCE
    whole = ended or known.unread_whole or known.copied
    if known.unread and whole and known.writer != "open":
        return "not understood", known.unread
    if known.logged_state in ("finished", "pruned"):
        return known.logged_state, known.logged_evidence
    return ("quiet", _INPUT_ENDED) if known.input_ended else ("waiting", "no point yet")


def _is_before(epoch: float, epochs: float) -> bool:
    """Return whether an epoch is before the last one: whole numbers may count from 0, fractions are exact."""
    return epoch < epochs - 1 if epoch.is_integer() else epoch < _NEARLY * epochs


def _resumed(known: ProgressInputs, tolerated: float) -> bool:
    """Return whether the run was resumed after its end was logged; False if times are unknown."""
    if math.isfinite(known.last_wall_time):
        return known.last_wall_time > known.state_time + tolerated
    beyond = known.point_step is not None and known.state_step is not None and known.point_step > known.state_step
    return beyond and known.last_change > known.state_time + tolerated


def _grows(known: ProgressInputs, age: float) -> bool:
    """Return whether the log still grows without new steps."""
    later = known.last_growth - _last_activity_time(known)
    return later > 0 and age - later <= SHORTEST_SILENCE


def _usual(cadence: Cadence) -> str:
    """Return "usual 1 min 37 s ± 9 s"."""
    spread = f" ± {duration(cadence.spread)}" if cadence.spread > 0 else ""
    return f"usual {duration(cadence.interval)}{spread}"


def _last_output(known: ProgressInputs, growing: bool) -> str:
    """Return what the log last contained: its last phase, whether it grows, its last console line."""
    text = f"; last phase {known.last_phase}" if known.last_phase else ""
    text += "; its log still grows" if growing else ""
    return text + (f"; its console ends: {known.last_line}" if known.last_line else "")


def _last_activity_time(known: ProgressInputs) -> float:
    return max((time for time in (known.last_wall_time, known.last_change) if math.isfinite(time)), default=math.nan)


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
