"""Tables of text beside the modules that read them: keys, footers, themes, panels, names of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def table_rows(module: str, name: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of a table: cells are separated by "|", and "#" begins a comment.

    module: path of the module that the file with this name is beside.
    """
    for line in (Path(module).parent / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield [cell.strip() for cell in line.split("|")]
