"""Progress of a run at a moment: its state, pace and time left, from facts that progress_inputs.py gathers.

    report(known, now)
    ProgressReport(state="quiet", reason="open", fact="python (pid 4711) has the log open", age=10800.0, gap=12.0, …)

- The state is the word of the first row of STATES whose condition holds, with its evidence.
- Words of a log count for the attempt that wrote them: progress_inputs.py leaves out those of an earlier one.
- The times of files count only where points have none, or where a process holds them open or they were seen to grow: a
  copied or touched file is no sign of life.
- The time left is that of the steps at the usual pace (pace.py), pauses included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from tuimon.analysis.pace import Pace
from tuimon.analysis.words import duration, silence, with_article

_TOLERATED = 4.0
"""Usual gaps without a point that are tolerated."""
_PAUSES = 1.5
"""Factor of the longest pause so far for a pause that is tolerated."""
_BUFFERED = 120.0
"""Shortest tolerated silence (s): what a writer may buffer (SummaryWriter flushes every 120 s)."""
_UNKNOWN = 600.0
"""Tolerated silence (s) if the usual gap is unknown, and the shortest one while the log grows without points."""
_GROWING = 2.0
"""Factor for the tolerated silence while the log grows without points."""
_INTERVALS_AFTER_END, _AFTER_END = 10.0, 10.0
"""Usual gaps, and seconds, that are tolerated after the process that had held the log open has closed it."""
_LONG_PAUSES = 0.1
"""Share of the pauses in the pace from which on they are named."""
_HOUR = 3600.0
"""Shortest silence (s) after which a run has ended whose writer is not known."""
_NEARLY = 0.98
"""Fraction of the total from which on a run may have ended: the last steps need not be logged."""
_MAX_AHEAD = 60.0
"""Seconds by which a time may be ahead of our clock: beyond, the clock of the writer or its time zone is wrong."""
_JUST = 5.0
"""Age (s) below which a point has just been logged: a screen is not drawn anew for each second."""
_FEWEST = 5
"""Intervals that an ETA needs."""


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
    stride: int = 1
    """Training steps between two points of the training metric that is logged least often."""
    rows_per_step: float = 1.0
    """Steps of the log per training step."""
    own_unit: str = ""
    """What the last step, the total and the pace count where the charts count other steps: "global step", "epoch"."""
    epoch: float = math.nan
    total_epochs: float = math.nan
    configured_epochs: float = math.nan
    """Number of epochs in the settings; not used for an ETA, as the epoch may be a whole number from 0."""
    pace: Pace | None = None
    pace_watched: bool = False
    """Whether the pace is that of the arrival of points, as the log has no times."""
    bar_seconds: float = math.nan
    """Time per step by the rate that the progress bar of the training shows, used without a pace; NaN of a resumed
    run, whose bar counts the steps before."""
    last_wall_time: float = math.nan
    """Time of the newest point of a training metric."""
    last_change: float = math.nan
    """Time of the last change of a file that grows with the steps; NaN for files that were written at once (copied)."""
    last_growth: float = math.nan
    """Time of the last change of any file. A program can go on printing lines that have no step."""
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
        return self.counted or self.own_unit or self.step_name

    @property
    def per_step(self) -> str:
        """What the pace is per: "a step"."""
        return with_article(self.position_name)

    @property
    def has_long_pauses(self) -> bool:
        """Whether pauses are a tenth of the pace or more."""
        return self.pace is not None and self.pace.pause_seconds >= _LONG_PAUSES * self.pace.mean_seconds


class ProgressReport(ProgressInputs, frozen=True, kw_only=True):
    """The facts with what follows from them at one moment. Durations in seconds; NaN or None if unknown."""

    total: int | None
    """Number of training steps: the logged one unless the step is past it, or that of the epochs."""
    state: str
    """running | quiet (silent for longer than usual) | finished, crashed (the log says so, or the total is reached) |
    ended (nothing more is known) | unknown (no point, or no times) | reading (its history has not been read yet)."""
    reason: str
    """Which row of STATES it is, such as "logged", "total", "open", "closed", "silent", "no times"."""
    fact: str
    """What shows the state: words of the log, or who has it open; may be ""."""
    place: str
    """Such as "step 29 of 300"; "" without a total."""
    age: float
    """Time since the newest point, or else since the log changed last (s)."""
    gap: float
    """Usual time between two points (s)."""
    is_of_point: bool
    """Whether `age` is that of a point."""
    seconds_per_step: float
    """Usual time per step including its share of the pauses so far (evaluations, checkpoints), as in the ETA."""
    eta_seconds: float
    """Time left; only for a running run."""
    eta_range: tuple[float, float]
    """Time left at the pace of the faster and of the slower half of the newest steps."""
    finish_time: float
    is_early: bool
    """Whether the step is clearly before the end, and no word of the log explains it."""

    @property
    def evidence(self) -> str:
        """Fact, age, usual gap and position. Example: "last point 3 h ago, usually every 12 s; step 29 of 300"."""
        said = self.reason == "logged" or self.state in ("finished", "unknown")
        usual = f", usually every {duration(self.gap)}" if math.isfinite(self.gap) and self.aged and not said else ""
        place = "" if self.state == "running" else self.place
        parts = (self.fact, self.aged) if said else (f"{self.aged}{usual}", place, self.fact)
        return "; ".join(filter(None, parts))

    @property
    def aged(self) -> str:
        """The age in words: "last point 3 h ago"; "" if it is unknown."""
        if not math.isfinite(self.age):
            return ""
        ago = f"{silence(self.age)} ago" if self.age >= _JUST else "just now"
        return f"{'last point' if self.is_of_point else 'log changed'} {ago}"

    @property
    def cause(self) -> str:
        """Cause of the crash in a few words, such as "time limit reached"; "" for other states, and if unknown."""
        return self.logged_cause if self.state == "crashed" else ""

    @property
    def pace_of_bar(self) -> bool:
        """Whether the pace is the rate that the progress bar of the training shows, as the log has no times."""
        return self.pace is None and self.bar_seconds > 0

    @property
    def lacks_times(self) -> bool:
        """Whether a running run has no ETA as its log has no times, and too few points were seen to arrive."""
        is_timeless = math.isnan(self.eta_seconds) and math.isnan(self.last_wall_time)
        return self.state == "running" and bool(self.total) and is_timeless

    @property
    def has_died(self) -> bool:
        """Whether the training ended before its end."""
        return self.state == "crashed" or (self.state == "ended" and self.is_early)


def report(known: ProgressInputs, now: float) -> ProgressReport:
    """Return the progress at `now`, seconds since the epoch."""
    state, total, pace = _state(known, now), total_steps(known), known.pace
    seconds = pace.mean_seconds if pace else known.bar_seconds
    eta, eta_range = math.nan, (math.nan, math.nan)
    is_paced = pace.count >= _FEWEST if pace else seconds > 0
    if state["state"] == "running" and is_paced and total is not None and known.step is not None:
        left = total - bool(known.counted) - known.step
        low, high = (pace.low + pace.pause_seconds, pace.high + pace.pause_seconds) if pace else (seconds, seconds)
        # A step that takes much longer than usual may never end: until it does, the time left is not known to shrink.
        longest = max(_TOLERATED * pace.interval, pace.longest_pause) if pace else _TOLERATED * seconds
        elapsed = min(state["age"], left * seconds, longest)
        eta = left * seconds - elapsed
        eta_range = max(0.0, left * low - elapsed), max(0.0, left * high - elapsed)
    facts = {name: getattr(known, name) for name in known.__struct_fields__} | state | {"total": total}
    return ProgressReport(
        **facts,
        seconds_per_step=seconds,
        eta_seconds=eta,
        eta_range=eta_range,
        finish_time=now + eta,
        is_early=state["reason"] != "logged" and ends_early(known),
    )


class _Moment(NamedTuple):
    """What the conditions of STATES are about: the facts, the time since the last sign of life, the tolerated one."""

    known: ProgressInputs
    silent: float
    tolerated: float

    @property
    def is_silent(self) -> bool:
        return not self.silent <= self.tolerated

    def says(self, word: str) -> bool:
        return self.known.logged_state == word

    @property
    def is_unread(self) -> bool:
        """Whether files without a point are complete, so that none can come."""
        known = self.known
        limit = _BUFFERED if known.writer == "closed" else _UNKNOWN
        over = known.unread_whole or known.input_ended or self.says("finished") or not self.silent <= limit
        return bool(not known.points and known.unread and over and known.writer != "open")

    @property
    def is_complete(self) -> bool:
        """Whether the total is reached; the last step of one that counts from 0 is one less, after a silence."""
        step, total = self.known.position, _total(self.known)
        over = self.is_silent or self.known.input_ended
        if step is None or total is None:
            return over and total is None and self.known.epoch >= self.known.epochs
        return step >= total or (over and step >= _end(self.known, total))


STATES: tuple[tuple[str, str, Callable[[_Moment], bool], Callable[[_Moment], str]], ...] = (
    ("crashed", "logged", lambda m: m.says("crashed"), lambda m: m.known.logged_evidence or "its log says so"),
    ("unknown", "not understood", lambda m: m.is_unread, lambda m: m.known.unread),
    ("finished", "logged", lambda m: m.says("finished"), lambda m: m.known.logged_evidence or "its log says so"),
    ("ended", "logged", lambda m: m.says("pruned"), lambda m: m.known.logged_evidence or "its log says so"),
    ("ended", "deleted", lambda m: m.known.deleted, lambda m: "its log was deleted"),
    ("ended", "input", lambda m: m.known.input_ended and not m.is_complete, lambda m: "the input has ended"),
    ("unknown", "no point", lambda m: not m.known.points, lambda m: "no point yet"),
    ("finished", "total", lambda m: m.is_complete, lambda m: f"{_position(m.known)} reached"),
    (
        "unknown",
        "no times",
        lambda m: math.isnan(m.silent) and m.known.writer != "open",
        lambda m: "; ".join(filter(None, (_position(m.known), "neither its points nor its files have a usable time"))),
    ),
    ("running", "active", lambda m: not m.is_silent, lambda m: ""),
    ("quiet", "open", lambda m: m.known.writer == "open", lambda m: f"{m.known.process} has the log open"),
    ("ended", "closed", lambda m: m.known.writer == "closed", lambda m: "no process has its log open"),
    ("quiet", "silent", lambda m: m.silent <= max(_HOUR, _GROWING * m.tolerated), lambda m: ""),
    ("ended", "silent", lambda m: True, lambda m: ""),
)
"""(word, reason, condition, evidence) of the states; the first whose condition holds is that of the run."""


def _state(known: ProgressInputs, now: float) -> dict[str, Any]:
    """Return the fields of the report from `state` to `is_of_point`."""
    change = known.last_change if known.last_change <= now + _MAX_AHEAD else math.nan
    is_point_usable = known.last_wall_time <= now + _MAX_AHEAD or math.isnan(change)
    point = known.last_wall_time if is_point_usable else math.nan
    is_seen = known.writer == "open" or math.isfinite(known.growth_seen)
    life = max((time for time in (point, change if is_seen else math.nan) if math.isfinite(time)), default=change)
    silent = math.nan if math.isnan(life) else max(now - life, 0.0)  # the writer's clock may be ahead of ours
    grows = known.last_growth > life and now - known.last_growth <= _BUFFERED
    moment = _Moment(known, silent, tolerated_silence(known.pace, grows, math.isfinite(known.closed)))
    word, reason, _, evidence = next(row for row in STATES if row[2](moment))
    is_of_silence = reason in ("open", "closed", "silent")
    error = f"its console ends: {known.last_error}" if is_of_silence and known.last_error else ""
    return {
        "state": word,
        "reason": reason,
        "fact": "; ".join(filter(None, (evidence(moment), error))),
        "place": _position(known),
        "age": silent if math.isnan(point) else max(now - point, 0.0),
        "gap": known.pace.interval if known.pace else math.nan,
        "is_of_point": math.isfinite(point),
    }


def tolerated_silence(pace: Pace | None, grows: bool = False, is_closed: bool = False) -> float:
    """Return the time (s) without a point that is normal: 4 usual gaps, 1.5 times the longest pause, or 2 minutes.

    - 10 minutes if the usual gap is unknown.
    - grows: its log grows without points; then twice that, at least 10 minutes.
    - is_closed: the process that had held the log open has closed it; then 10 usual gaps, at least 10 s.
    """
    gap = pace.interval if pace else 0.0
    if is_closed:
        return max(_INTERVALS_AFTER_END * gap, _AFTER_END)
    if pace is None:
        return _UNKNOWN
    usual = max(_TOLERATED * gap, _PAUSES * pace.longest_pause, _BUFFERED)
    return max(_GROWING * usual, _UNKNOWN) if grows else usual


def ends_early(known: ProgressInputs) -> bool:
    """Return whether a run that writes no more is clearly before its end; False if its end is not known."""
    step, total = known.position, _total(known)
    if step is None or total is None:
        whole = math.isfinite(known.epoch) and known.epoch.is_integer()  # may count from 0
        return total is None and (known.epoch < known.epochs - 1 if whole else known.epoch < _NEARLY * known.epochs)
    return step < _NEARLY * total and step + known.stride <= _end(known, total)


def _total(known: ProgressInputs) -> int | None:
    return total_steps(known) if known.total is not None else None


def _end(known: ProgressInputs, total: int) -> int:
    """Return the last step: one less than the total if the steps count from 0."""
    return total - (known.first_step == 0 and not known.counted)


def _position(known: ProgressInputs) -> str:
    """Return "step 29 of 300" or "epoch 2 of 3"; "" without a total."""
    if known.position is not None and (total := _total(known)) is not None:
        return f"{known.position_name} {known.position} of {total}"
    is_known = math.isfinite(known.epochs) and math.isfinite(known.epoch)
    return f"epoch {known.epoch:g} of {known.epochs:g}" if is_known else ""


def total_steps(known: ProgressInputs) -> int | None:
    """Return the total number of steps, computed from the epochs if no total is logged.

    None if it is unknown, or if the step is past the logged total, which then counts something else.
    """
    if known.total is not None or known.step is None:
        return None if known.step is not None and known.step - 1 > (known.total or 0) else known.total
    if known.epoch > 0 and known.total_epochs >= known.epoch:
        return round(known.step * known.total_epochs / known.epoch)
    return None
