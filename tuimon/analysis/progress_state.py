"""State of a run: the word of the first row of STATES whose condition holds, with its evidence.

    State("quiet", "open", "python (pid 4711) has the log open", "step 29 of 300", age=10800.0, gap=12.0)

- Words of a log count for the attempt that wrote them: progress_inputs.py leaves out those of an earlier one.
- The times of files count only where points have none, or where a process holds them open or they were seen to grow: a
  copied or touched file is no sign of life.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from tuimon.analysis.cadence import Cadence
from tuimon.analysis.progress_facts import ProgressInputs, total_steps
from tuimon.analysis.words import duration, silence, time_of_day

TOLERATED_INTERVALS = 4.0
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
_HOUR = 3600.0
"""Shortest silence (s) after which a run has ended whose writer is not known."""
_NEARLY = 0.98
"""Fraction of the total from which on a run may have ended: the last steps need not be logged."""
_MAX_AHEAD = 60.0
"""Seconds by which a time may be ahead of our clock: beyond, the clock of the writer or its time zone is wrong."""


class State(Struct, frozen=True):
    """A state with what it was concluded from; NaN and "" where that is unknown."""

    word: str
    """running | quiet (silent for longer than usual) | finished, crashed (the log says so, or the total is reached) |
    ended (nothing more is known) | unknown (no point, or no times) | reading (its history has not been read yet)."""
    reason: str
    """Which row of STATES it is, such as "logged", "total", "open", "closed", "silent", "no times"."""
    evidence: str
    """A fact: words of the log, or who has it open."""
    position: str = ""
    """Such as "step 29 of 300"; "" without a total."""
    age: float = math.nan
    """Time since the newest point, or else since the log changed last (s)."""
    gap: float = math.nan
    """Usual time between two points (s)."""
    is_of_point: bool = True
    """Whether `age` is that of a point."""

    @property
    def sentence(self) -> str:
        """Evidence, age, usual gap and position: "last point 3 h ago, usually every 12 s; step 29 of 300"."""
        said = self.reason == "logged" or self.word in ("finished", "unknown")
        usual = f", usually every {duration(self.gap)}" if math.isfinite(self.gap) and self.aged and not said else ""
        position = "" if self.word == "running" else self.position
        parts = (self.evidence, self.aged) if said else (f"{self.aged}{usual}", position, self.evidence)
        return "; ".join(filter(None, parts))

    @property
    def aged(self) -> str:
        """The age in words: "last point 3 h ago"; "" if it is unknown."""
        if not math.isfinite(self.age):
            return ""
        ago = f"{silence(self.age)} ago" if self.age >= _JUST else "just now"
        return f"{'last point' if self.is_of_point else 'log changed'} {ago}"


_JUST = 5.0
"""Age (s) below which a point has just been logged: a screen is not drawn anew for each second."""


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
    (
        "unknown",
        "truncated",
        lambda m: math.isfinite(m.known.truncated),
        lambda m: f"its log was truncated at {time_of_day(m.known.truncated)}, the points read before are kept",
    ),
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


def state_of(known: ProgressInputs, now: float) -> State:
    """Return the state at `now`, seconds since the epoch."""
    change = known.last_change if known.last_change <= now + _MAX_AHEAD else math.nan
    is_point_usable = known.last_wall_time <= now + _MAX_AHEAD or math.isnan(change)
    point = known.last_wall_time if is_point_usable else math.nan
    is_seen = known.writer == "open" or math.isfinite(known.growth_seen)
    life = max((time for time in (point, change if is_seen else math.nan) if math.isfinite(time)), default=change)
    silent = math.nan if math.isnan(life) else max(now - life, 0.0)  # the writer's clock may be ahead of ours
    grows = known.last_growth > life and now - known.last_growth <= _BUFFERED
    moment = _Moment(known, silent, tolerated_silence(known.cadence, grows, math.isfinite(known.closed)))
    word, reason, _, evidence = next(row for row in STATES if row[2](moment))
    texts = [evidence(moment), known.last_error and f"its console ends: {known.last_error}"]
    is_told = reason in ("open", "closed", "silent")
    return State(
        word,
        reason,
        "; ".join(filter(None, texts)) if is_told else texts[0],
        _position(known),
        silent if math.isnan(point) else max(now - point, 0.0),
        known.cadence.interval if known.cadence else math.nan,
        is_of_point=math.isfinite(point),
    )


def tolerated_silence(cadence: Cadence | None, grows: bool = False, is_closed: bool = False) -> float:
    """Return the time (s) without a point that is normal: 4 usual gaps, 1.5 times the longest pause, or 2 minutes.

    - 10 minutes if the usual gap is unknown.
    - grows: its log grows without points; then twice that, at least 10 minutes.
    - is_closed: the process that had held the log open has closed it; then 10 usual gaps, at least 10 s.
    """
    gap = cadence.interval if cadence else 0.0
    if is_closed:
        return max(_INTERVALS_AFTER_END * gap, _AFTER_END)
    if cadence is None:
        return _UNKNOWN
    usual = max(TOLERATED_INTERVALS * gap, _PAUSES * cadence.longest_pause, _BUFFERED)
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
