"""State of a run, with its evidence.

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

from tuimon.analysis.cadence import Cadence
from tuimon.analysis.progress_facts import ProgressInputs, last_activity_time, total_steps
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
_INPUT_ENDED = "the input has ended without a final state"
_GONE = "no process has its log open"
_WRITTEN_AT_ONCE = "file times mean nothing (written at once)"
_NEARLY = 0.98
"""Fraction of the total from which a run whose writer is gone has ended: the last steps need not be logged."""


def state_of(known: ProgressInputs, age: float, since: float) -> tuple[str, str]:
    """Return (state, evidence). age: seconds since the last activity; since: seconds since the last point."""
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
    seen_active = known.watched_since <= last_activity_time(known)
    if unheld < age <= tolerated and not seen_active:
        return "quiet", f"no new point for {silence(since)}, {usual}; {_GONE}{of_total}"
    if age <= tolerated:
        # Usually the time instead of the age, so that a screen that shows it is not redrawn every few seconds.
        last = last_activity(known.last_wall_time, known.last_change)
        if is_silent(known, since):
            last = f"last point {silence(since)} ago"
        return "running", f"{last}, {usual}" if known.cadence else last
    recent = seen_active or max(age, since) <= max(_FRESH * tolerated, _STALL)
    if known.writer == "closed":
        loss = f"no new point for {silence(since)}; {_GONE}"
        if math.isfinite(known.closed):
            loss = f"its log was closed at {time_of_day(known.closed)}"
        if known.unclosed:
            return "stopped", f"{loss}, and {known.unclosed}{of_total}"
        epochs = known.total_epochs if math.isfinite(known.total_epochs) else known.configured_epochs
        if total is None and known.epoch >= epochs:
            return "finished", f"epoch {known.epoch:g} of {epochs:g} reached"
        if total is None and _is_before(known.epoch, epochs) and recent:
            reached = f"epoch {known.epoch:g} of {epochs:g}"
            return "stopped", f"{loss} ({reached}){_last_output(known)}"
        if total is not None:
            return "stopped", f"{loss}{of_total}{_last_output(known)}"
        if not (known.reopens and seen_active and known.cadence and age <= max(_FRESH * tolerated, _STALL)):
            return "ended", f"{loss}{of_total}"
    may_have_ended = known.elsewhere and known.writer == "unknown" and not seen_active
    if known.cadence and (recent or known.writer == "open") and not may_have_ended:
        held = f"; {known.process} still holds its log open" if known.writer == "open" else ""
        usual = f"{_usual(known.cadence)}{of_total}{held}"
        return "stalled", f"no new point for {silence(since)}; {usual}{_last_output(known)}"
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
    later = known.last_growth - last_activity_time(known)
    return later > 0 and age - later <= SHORTEST_SILENCE


def _usual(cadence: Cadence) -> str:
    """Return "usual 1 min 37 s ± 9 s"."""
    spread = f" ± {duration(cadence.spread)}" if cadence.spread > 0 else ""
    return f"usual {duration(cadence.interval)}{spread}"


def _last_output(known: ProgressInputs) -> str:
    """Return what the log last contained: its last phase, and the error that its console ends with."""
    text = f"; last phase {known.last_phase}" if known.last_phase else ""
    return text + (f"; its console ends: {known.last_error}" if known.last_error else "")


def is_silent(known: ProgressInputs, since: float) -> bool:
    """Return whether it is longer since the newest point than usual. since: that time (s)."""
    usual = TOLERATED_INTERVALS * known.cadence.interval if known.cadence else math.inf
    return math.isfinite(known.last_wall_time) and since > max(usual, _SILENT)
