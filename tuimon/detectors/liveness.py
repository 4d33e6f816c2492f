"""The run is silent, was stopped before its end, or has crashed.

Rule: the state that the header shows (analysis/progress_state.py, with its evidence) is "stalled", "stopped" or
"crashed". A crash of a job of many ranks whose cause is known is left to the detector rank_failure. A run that has
"ended", whose total is not known and whose log no process holds open any more, is no alert: it cannot be distinguished
from a finished one.
Source: SageMaker Debugger StalledTrainingRule, 1800 s; here 4 usual intervals, 1.5 times the longest pause, or 2
minutes, whichever is longest, so that slow starts and long evaluations are not stalls (instead of 2 minutes 10 times
the longest time between two growths, at least 60 s, if the log was watched while it grew); and 10 intervals, at least
10 s, if a process has closed the log that it held open. A run that is silent for more than 20 times as long, and for
more than an hour, has not stalled, even if its files are new (they may have been copied). A stop before the last step
is a warning for a day, so that it is seen on the next morning; later it is for information, as directories of old runs
hold many that were stopped on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.progress import report
from tuimon.analysis.progress_inputs import failed_rank, progress_inputs
from tuimon.analysis.tolerated_silence import tolerated_silence
from tuimon.model.alerts import Alert
from tuimon.ranks.advice import of_scheduler, of_used_memory
from tuimon.store import Run

_FRESH = 20.0
_NEWS = 86400.0
"""Time (s) for which a stop is a warning."""
_SEVERITY = {"stalled": "warning", "stopped": "warning", "crashed": "critical"}
_WORDS = {"stalled": "stalled", "stopped": "stopped early", "crashed": "crashed"}
_HINT = {
    "stalled": "look at the processes and the console of the run: a hung collective, a wait for data, a full disk",
    "stopped": "the process is gone: see the end of its console log, the scheduler and the kernel log (out of memory)",
    "crashed": "see the end of its console log",
}


class Liveness(Struct, frozen=True):
    id: str = "liveness"
    title: str = "Stalled or crashed"

    def check(self, run: Run) -> Iterator[Alert]:
        return iter(())

    def check_at(self, run: Run, now: float) -> Iterator[Alert]:
        known = progress_inputs(run)
        progress = report(known, now)
        oldest = max(_FRESH * tolerated_silence(known.cadence), 3600.0)
        silent = progress.state == "stalled" and known.writer != "open"
        if silent and now - run.last_wall_time > oldest:
            return
        if progress.state == "crashed" and failed_rank(run):
            return  # rank_failure is the alert about it
        if progress.state in _SEVERITY:
            message = f"{_WORDS[progress.state]}: {progress.evidence}"
            hint = _HINT[progress.state]
            if progress.state == "crashed" and (
                tip := of_used_memory(progress.evidence) or of_scheduler(progress.evidence)
            ):
                hint = f"{tip}; {hint}"
            is_old = progress.state == "stopped" and now - run.last_wall_time > _NEWS
            severity = "info" if is_old else _SEVERITY[progress.state]
            yield Alert(self.id, severity, run.id, "", progress.step, message, hint)


DETECTOR = Liveness()
