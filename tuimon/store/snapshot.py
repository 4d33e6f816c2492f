"""State of all runs at one moment."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from tuimon.model.alerts import Alert
from tuimon.model.events import Notice, Progress, Watching
from tuimon.store.run import Run


class Snapshot(Struct, frozen=True, eq=False, weakref=True):
    """State of all runs at one moment. Immutable; any thread may read it while the store goes on growing."""

    version: int
    runs: tuple[Run, ...]
    """Runs in the order found. A run without a change is the same object as in the previous snapshot."""
    alerts: tuple[Alert, ...]
    """Active alerts."""
    progress: Progress
    watching: Watching | None
    """None until the reader has sent it."""
    notices: tuple[Notice, ...]
    """The last 200 notices, oldest first."""
    resolved: tuple[Alert, ...] = ()
    """Resolved alerts, last first."""
    unchecked: int = 0
    """Number of runs that the detectors have not checked yet, so that their alerts are unknown."""

    @property
    def is_reading(self) -> bool:
        """Whether the history of the runs is still being read, see `Run.is_reading`; False without runs."""
        return bool(self.runs) and self.runs[0].is_reading

    @property
    def newest_run(self) -> Run | None:
        """The run whose logs changed last, or None without runs. Runs whose files were not examined yet come last."""
        return newest_of(self.runs)

    def run(self, id: int) -> Run:
        """Return the run with an id, or that into which it was joined. Raises KeyError for an unknown id."""
        for run in self.runs:
            if run.id == id or id in run.joined_ids:
                return run
        raise KeyError(id)


def newest_of(runs: Iterable[Run]) -> Run | None:
    """Return the run whose logs changed last, or None without runs."""
    return max(runs, key=_last_growth, default=None)


def _last_growth(run: Run) -> tuple[float, int]:
    changed = run.last_change
    return (changed if math.isfinite(changed) else -math.inf), run.point_count
