"""Where a run stands, when it ends, and whether it lives: each answer with its evidence.

A run is called stalled only when it is silent for far longer than it ever usually is, and was seen alive or fell silent
a short while ago; a longer silence still while its log grows, as in an evaluation that nobody has seen before. Before
its usual pace is known no silence is a stall: the first step may take as long as it likes. A log that has been silent
for long and does not prove its end is quiet, no more: nobody knows.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.cadence import Cadence
from tuimon.analysis.words import duration, last_sign, silence

_SILENCE = 4.0
"""Usual intervals without a point before anything is said about it …"""
_SHORTEST_SILENCE = 120.0
"""… and seconds, at the least: what a writer may hold back (SummaryWriter flushes every 120 s)."""
_UNKNOWN_SILENCE = 600.0
"""Seconds, where no usual interval is known."""
_GROWING = 2.0
"""So many times as long, and 10 minutes at the least, is nothing said while the log grows."""
_FRESH = 20.0
"""So many times the tolerated silence, at least an hour, a run that nobody saw alive is still called stalled."""
_FEWEST = 5
"""Intervals before an end is foretold."""
_AHEAD = 60.0
"""A point so many seconds ahead of our clock tells nothing, where the times of its files are known: it was logged by a
clock that is wrong, or as local time elsewhere."""
_BEHIND = 86400.0
"""Of files that changed so many seconds after their last point one of the two times tells nothing: that of the point
where they were seen to grow (a replay, a wrong clock), else that of the files, which are a copy."""
_INPUT_ENDED = "the input has ended, and does not say how the run did"


class ProgressInputs(Struct, frozen=True):
    """What is known of a run; NaN, None or "" where nothing is."""

    points: int = 0
    step: int | None = None
    """The last step."""
    first_step: int | None = None
    total: int | None = None
    """Steps that the training is set to."""
    updates: int = 1
    """Logged steps that make one of these; 0 where it is not known, so that no total can be compared."""
    stride: int = 1
    """Steps from one that is logged to the next."""
    rows_a_step: float = 1.0
    """What is logged as a step, for each of these."""
    epoch: float = math.nan
    total_epochs: float = math.nan
    cadence: Cadence | None = None
    last_wall_time: float = math.nan
    """Of the newest point that tells of the training, seconds since the epoch."""
    last_change: float = math.nan
    """Of the newest of its files that grow with its steps."""
    last_growth: float = math.nan
    """Of the newest of all its files: text is printed where no step is made."""
    last_phase: str = ""
    """The part of the step that was the last to be logged, where the step is not whole yet."""
    last_line: str = ""
    """Of its console."""
    told_state: str = ""
    """What a log says itself: finished | crashed | running."""
    told_evidence: str = ""
    told_at: float = math.nan
    """When it said so, at the latest."""
    told_step: int | None = None
    """The step that it said so after."""
    watched_since: float = math.nan
    """Since when somebody has been looking."""
    input_ended: bool = False
    """Whether it comes through a pipe that has ended: nothing more will come, and no time of a file means anything."""


class ProgressReport(Struct, frozen=True):
    """Seconds, and seconds since the epoch; NaN or None where unknown."""

    step: int | None
    total: int | None
    updates: int
    """Points of the log's own axis that are one step; 1 where steps are what is logged."""
    epoch: float
    seconds_per_step: float
    """Usual, without pauses."""
    eta_seconds: float
    """From now; only for a run that is running."""
    eta_range: tuple[float, float]
    """If all steps were as those of the quickest, of the slowest quarter of the newest ones."""
    finish_time: float
    last_wall_time: float
    """Of the newest point that tells of the training, where it can be; so is the next."""
    last_change: float
    last_age: float
    """Since the newer of them."""
    usual_interval: float
    state: str
    """running | stalled | finished | crashed | waiting (no point yet) | quiet (silent for long, or its input has ended,
    and no proof of how) | unknown (no time to judge by)."""
    evidence: str
    """One sentence, which names its numbers."""


def report(known: ProgressInputs, now: float) -> ProgressReport:
    """What can be said at `now`, seconds since the epoch."""
    if known.last_wall_time > now + _AHEAD and known.last_change <= now + _AHEAD:
        known = replace(known, last_wall_time=math.nan)
    if known.last_change - known.last_wall_time > _BEHIND:
        grown = known.last_change > known.watched_since
        known = replace(known, last_wall_time=math.nan) if grown else replace(known, last_change=math.nan)
    age = now - _newest(known)
    age = 0.0 if age < 0 else age  # a clock ahead of ours says: just now
    # The sign of life may be a file touched later (a copy); what is said is how long there was no point.
    since = max(0.0, now - known.last_wall_time) if math.isfinite(known.last_wall_time) else age
    state, evidence = _state(known, age, since)
    total = total_steps(known)
    cadence = known.cadence
    eta, eta_range = math.nan, (math.nan, math.nan)
    if state == "running" and cadence and cadence.intervals >= _FEWEST and total is not None and known.step is not None:
        left = total - known.step
        pauses = cadence.pause * cadence.pauses_ahead(known.step, total)
        expected = left * cadence.seconds_per_step + pauses
        gone = min(age, expected)
        eta = expected - gone
        eta_range = (
            max(0.0, left * cadence.low + pauses - gone),
            max(0.0, left * cadence.high + pauses - gone),
        )
    return ProgressReport(
        known.step,
        total,
        max(known.updates, 1),
        known.epoch,
        cadence.seconds_per_step if cadence else math.nan,
        eta,
        eta_range,
        now + eta,
        known.last_wall_time,
        known.last_change,
        age,
        cadence.interval if cadence else math.nan,
        state,
        evidence,
    )


def tolerated_silence(cadence: Cadence | None, growing: bool = False) -> float:
    """Seconds without a point that mean nothing: 4 usual intervals, 1.5 of its pauses or 2 minutes, the longest; twice
    that, and 10 minutes at the least, while its log grows."""
    if cadence is None:
        return _UNKNOWN_SILENCE
    usual = max(_SILENCE * cadence.interval, 1.5 * cadence.longest_pause, _SHORTEST_SILENCE)
    return max(_GROWING * usual, _UNKNOWN_SILENCE) if growing else usual


def _state(known: ProgressInputs, age: float, since: float) -> tuple[str, str]:
    growing = grows(known, age)
    tolerated = tolerated_silence(known.cadence, growing)
    told = known.told_state
    if told in ("finished", "crashed") and not _went_on(known, tolerated):
        return told, known.told_evidence or f"its log says that it {told}"
    if known.points == 0:
        return ("quiet", _INPUT_ENDED) if known.input_ended else ("waiting", "no point yet")
    total = total_steps(known) if known.total is not None else None
    if known.step is not None and total is not None:
        if known.step >= total:
            return "finished", f"step {known.step} of {total} reached"
        if known.first_step == 0 and known.step == total - 1 and (known.input_ended or age > tolerated):
            return "finished", f"step {known.step} reached, the last of {total} counted from 0"
        end = total - (known.first_step == 0)  # counted from 0
        left = (end - known.step) * known.cadence.seconds_per_step if known.cadence else 0.0
        if known.step + known.stride > end and age > tolerated + left:
            return "quiet", f"step {known.step} of {total} was the last to be logged, as only one in {known.stride} is"
    of_total = f" (step {known.step} of {total})" if total is not None and known.step is not None else ""
    if known.input_ended:
        return "quiet", f"{_INPUT_ENDED}{of_total}"
    if not math.isfinite(age):
        return "unknown", "neither its points nor its files say when they were written"
    usual = f"usually one every {duration(known.cadence.interval)}" if known.cadence else "its usual pace is not known"
    if age <= tolerated:
        # The time, not the age: a screen that shows it need not be drawn again every second.
        last = last_sign(known.last_wall_time, known.last_change)
        return "running", f"{last}, {usual}" if known.cadence else last
    seen_alive = known.watched_since <= _newest(known)
    if known.cadence and (seen_alive or max(age, since) <= max(_FRESH * tolerated, 3600.0)):
        return "stalled", f"no step for {silence(since)}; {_usual(known.cadence)}{of_total}{_last_seen(known, growing)}"
    return "quiet", f"no new point for {silence(since)}{of_total}"


def _went_on(known: ProgressInputs, tolerated: float) -> bool:
    """Whether it was resumed after its end was told: False where times are unknown."""
    if math.isfinite(known.last_wall_time):
        return known.last_wall_time > known.told_at + tolerated
    beyond = known.step is not None and known.told_step is not None and known.step > known.told_step
    return beyond and known.last_change > known.told_at + tolerated


def grows(known: ProgressInputs, age: float) -> bool:
    """Whether its log goes on while it makes no step. age: of the newest step, in seconds."""
    later = known.last_growth - _newest(known)
    return later > 0 and age - later <= _SHORTEST_SILENCE


def _usual(cadence: Cadence) -> str:
    """ "usual 1 min 37 s ± 9 s"."""
    spread = f" ± {duration(cadence.spread)}" if cadence.spread > 0 else ""
    return f"usual {duration(cadence.interval)}{spread}"


def _last_seen(known: ProgressInputs, growing: bool) -> str:
    """What it did last, as far as its log tells."""
    said = f"; last phase {known.last_phase}" if known.last_phase else ""
    said += "; its log still grows" if growing else ""
    return said + (f"; its console ends: {known.last_line}" if known.last_line else "")


def _newest(known: ProgressInputs) -> float:
    return max((time for time in (known.last_wall_time, known.last_change) if math.isfinite(time)), default=math.nan)


def total_steps(known: ProgressInputs) -> int | None:
    """Steps in all, from the epochs where nobody says it; None where what is said counts something else, as the step
    has gone past it."""
    if known.total is not None or known.step is None:
        wrong = known.updates == 0 or (known.step is not None and (known.step - 1) > (known.total or 0))
        return None if wrong else known.total
    if known.epoch > 0 and known.total_epochs >= known.epoch:
        return round(known.step * known.total_epochs / known.epoch)
    return None
