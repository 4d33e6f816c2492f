"""A tally is too high.

Rule: the last value of a metric whose name begins with "tally" is above `limit`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon import Alert
from tuimon.store import Run


class Limit(Struct, frozen=True):
    """A detector; its fields can be set in config.toml: tally_limit = { limit = 50.0 }."""

    id: str = "tally_limit"
    title: str = "Tally"
    limit: float = 100.0

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield an alert for each metric above the limit."""
        for metric in run.metrics:
            last = run.curve(metric).last if metric.startswith("tally") else None
            if last is not None and last.value > self.limit:
                message = f"{metric} is {last.value:g}, above {self.limit:g}"
                yield Alert(self.id, "warning", run.id, metric, last.step, message)


DETECTOR = Limit()
