"""A run that is silent, or has died.

Rule: the state that the header shows (analysis/progress.py, with its evidence) is "stalled" or "crashed".
Source: SageMaker Debugger StalledTrainingRule, 1800 s; here 4 usual intervals, the longest of its pauses and half of it
again, or 2 minutes, whichever is longest, so that slow starters and long evaluations are no stalls. A log whose last
point is 20 times as old, and an hour, is an old one, whatever the times of its files say: it may have been copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.progress import report, tolerated_silence
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.model.alerts import Alert
from tuimon.store import Run

_FRESH = 20.0
_SEVERITY = {"stalled": "warning", "crashed": "critical"}
_HINT = {
    "stalled": "look at the processes and the console of the run: a collective that waits, a queue, a full disk",
    "crashed": "the end of its console says more",
}


class Liveness(Struct, frozen=True):
    id: str = "liveness"
    title: str = "Stalled or crashed"

    def check(self, run: Run) -> Iterator[Alert]:
        """Nothing: silence is told by the clock."""
        return iter(())

    def check_at(self, run: Run, now: float) -> Iterator[Alert]:
        """One alert while the run is in such a state."""
        known = progress_inputs(run)
        said = report(known, now)
        longest = max(_FRESH * tolerated_silence(known.cadence), 3600.0)
        if said.state == "stalled" and now - run.last_wall_time > longest:
            return
        if said.state in _SEVERITY:
            message = f"{run.name} {'has ' if said.state == 'stalled' else ''}{said.state}: {said.evidence}"
            yield Alert(self.id, _SEVERITY[said.state], run.id, "", said.step, message, _HINT[said.state])


DETECTOR = Liveness()
