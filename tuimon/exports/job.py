"""What a format of `tuimon export` gets: the selection, and the logs when it asks for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.exports.points import Batch
    from tuimon.store import Curve, Run, Snapshot


class Job(ABC):
    """Selection of what to export, and its options. Logs are read when a format asks for them first."""

    owner: str
    """Name of the first column, which says what a batch belongs to: "run" or "source"."""
    patterns: tuple[str, ...]
    """The patterns of --metric that `wanted` stands for; () for all metrics."""
    smooth: float
    """Smoothing weight of pictures, in [0, 1); 0 means no smoothing."""
    now: float
    """Wall time (s since epoch)."""
    on_terminal: bool
    """True if stdout is a terminal, where foreign text must not contain control characters."""
    steps: tuple[int, int] | None
    """First and last step to export, both included; None for all. `curve` and `batches` have no others."""
    seeds: bool
    """True to draw runs that differ only in their seed as one line in a picture of several runs."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return the snapshot."""

    @abstractmethod
    def runs(self) -> Sequence[Run]:
        """Return the runs of the snapshot in the order of the paths that the user gave."""

    @abstractmethod
    def checked(self) -> Snapshot:
        """Return the snapshot with alerts, for which the detectors go through every curve."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Return the points, unmerged or as curves, for one iteration.

        Raises NothingFound at the call, so call it before anything is written.
        """

    @abstractmethod
    def wanted(self, name: str) -> bool:
        """Return True if the metric with this name is to be exported."""

    @abstractmethod
    def print_status(self, message: str) -> None:
        """Print a message to the user on stderr."""

    @abstractmethod
    def on_progress(self, label: str, done: int, total: int, unit: str) -> None:
        """Show what is done, the number of units done, their total or 0, and their name, while a file is written."""

    def curve(self, run: Run, name: str) -> Curve:
        """Return the curve of a metric in the chosen steps; it can be empty."""
        from tuimon.analysis.aligned_steps import with_training_steps

        curve = with_training_steps(run, name)
        return curve.in_steps(*self.steps) if self.steps else curve
