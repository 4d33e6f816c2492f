"""A limit of the user for the time without a point: `tuimon check --silent-for 30m`.

Unlike liveness, which knows the usual pace of a run and its writer, it has no exceptions but runs that have finished: a
run that has "ended" may have been killed. Files that are not understood have no points to wait for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration, silence
from tuimon.model.alerts import Alert
from tuimon.store import Run


class Silence(Struct, frozen=True):
    """Raises an alert for each run whose newest point, or file if points have no time, is older than the limit."""

    limit: float
    """Seconds."""
    id: str = "silence"
    title: str = "No point for a time"

    def check(self, run: Run) -> Iterator[Alert]:
        return iter(())

    def check_at(self, run: Run, now: float) -> Iterator[Alert]:
        progress = progress_of(run, now)
        if progress.state == "finished" or progress.claim.reason == "not understood":
            return
        since = progress.age
        if since > self.limit:
            message = (
                f"no point for {silence(since)}, longer than {duration(self.limit)}; its state is {progress.state}"
            )
            hint = "look at its processes, the end of its console and the scheduler"
            yield Alert(self.id, "warning", run.id, "", progress.step, message, hint)
        elif math.isnan(since):
            message = (
                "when its newest point was logged is not known: neither its points nor its files have a usable time"
            )
            yield Alert(self.id, "info", run.id, "", progress.step, message)
