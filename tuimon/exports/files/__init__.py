"""The formats of `tuimon export`: one module per format, with an EXPORT, found by `tuimon.registry`.

`tuimon export -h` imports all of them, so they import nothing heavy at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from msgspec import Struct

from tuimon.exports.job import Job

__all__ = ["Export", "File", "Job", "all_exports"]

File = tuple[str, Callable[[BinaryIO], None]]
"""A path below the output directory, made of safe names, and the function that writes the file."""


class Export(Struct, frozen=True):
    """A format."""

    name: str
    help: str
    """One line, lower case."""
    suffix: str
    """Suffix of the file; "" if the format writes several files to a directory."""
    files: Callable[[Job], Iterator[File]]
    """Yield the files. Each is written before the next is requested."""
    one_file: Callable[[Job], Iterator[File]] | None = None
    """Yield a single file for an output whose suffix is the name of the format; None if the format has none."""
    in_steps: bool = False
    """Whether --steps applies: all values come from `Job.curve` or `Job.batches`."""
    is_renewed: bool = False
    """True if a timer writes the file again and again, so that nothing is printed about it."""
    smooths: bool = False
    """True if curves are smoothed by `Job.smooth`."""


def all_exports() -> dict[str, Export]:
    """Return all formats by name."""
    from tuimon.registry import discover

    return {export.name: export for export in discover("tuimon.exports.files", "EXPORT")}
