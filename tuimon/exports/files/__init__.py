"""What `tuimon export` writes: one file a format, found by being a module of this package with an EXPORT.

These modules are light: a command line's help names them all. What is heavy is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

if TYPE_CHECKING:
    from tuimon.exports.points import Batch
    from tuimon.model.views import Size, Symbols
    from tuimon.store import Snapshot

File = tuple[str, Callable[[BinaryIO], None]]
"""Its path below the folder, with safe names, and what writes it."""


class Job(Struct, frozen=True):
    """What is to be exported, and how."""

    snapshot: Callable[[], Snapshot]
    """Reads it, the first time it is asked for."""
    checked: Callable[[], Snapshot]
    """The same with its alerts, for which every curve has to be looked at."""
    batches: Callable[[], Iterator[Batch]]
    """The points, unmerged or as curves; to be gone through once. Raises NothingFound at once: to be asked for before
    anything is written."""
    owner: str
    """What a batch is of: run | source."""
    wanted: Callable[[str], bool]
    """Which metrics."""
    every: bool
    """Whether nobody has chosen metrics."""
    smooth: float
    """Weight of the smoothed line of pictures; 0: none."""
    size: Size
    """Of drawings for a terminal, in cells."""
    symbols: Symbols
    now: float
    on_terminal: bool
    """Whether a terminal will show it, which foreign text must not command."""
    say: Callable[[str], None]
    """Words for a person."""


class Export(Struct, frozen=True):
    """One format."""

    name: str
    help: str
    """One line, lower case."""
    suffix: str
    """Of its one file; "" where it is several, in a folder."""
    files: Callable[[Job], Iterator[File]]
    """Files are made one after the other: each is written before the next is asked for."""
    once: bool = False
    """Whether it asks for nothing but `Job.batches`: then the points need not be in memory."""


def all_exports() -> dict[str, Export]:
    """By name."""
    from tuimon.registry import discover

    return {export.name: export for export in discover("tuimon.exports.files", "EXPORT")}
