"""What is known at one moment."""

from __future__ import annotations

import math

from msgspec import Struct

from tuimon.model.alerts import Alert
from tuimon.model.events import Notice, Progress, Watching
from tuimon.store.run import Run


class Snapshot(Struct, frozen=True, eq=False):
    """Frozen; any thread may read it while the store goes on growing."""

    version: int
    runs: tuple[Run, ...]
    """In the order found. A run in which nothing has changed is the same object as before."""
    alerts: tuple[Alert, ...]
    progress: Progress
    watching: Watching | None
    """None until the reader has told."""
    notices: tuple[Notice, ...]
    """Oldest first; the last 200."""
    past: tuple[Alert, ...] = ()
    """Incidents that are over, the last first; `alerts` are those that stand."""

    @property
    def newest(self) -> Run | None:
        """The run whose logs were changed last, of those that have been looked at if any has; None without a run."""
        return max(self.runs, key=_last_growth, default=None)

    def run(self, id: int) -> Run:
        """The run with this id; KeyError when there is none."""
        for run in self.runs:
            if run.id == id:
                return run
        raise KeyError(id)


def _last_growth(run: Run) -> tuple[float, int]:
    changed = run.last_change
    return (changed if math.isfinite(changed) else -math.inf), run.point_count
