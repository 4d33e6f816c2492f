"""JSON Lines: one sample per line, or one line per step with a list in each column.

Positions are byte offsets: of a line, or, in a long line of columns, of the first cell of each row. Other lines above
MAX_DOCUMENT are skipped, and reported by a FormatError after the last row.
"""

from __future__ import annotations

import os
from typing import Any

from tuimon.errors import FormatError
from tuimon.samples import MAX_DOCUMENT, Rows, Shape
from tuimon.samples.shapes._json_rows import decode, rows_of
from tuimon.samples.shapes._large_line import find_line_start, large_line
from tuimon.sources.files import open_regular, signature

_LONG = 4 << 20
"""Size (bytes) from which a line is searched for columns before it is parsed."""
_BUFFER = 256 << 10
"""Bytes that are read at a time: samples are longer than the default buffer."""


def _rows(path: str, start: int) -> Rows:
    descriptor, status = open_regular(path)
    session: dict[str, Any] | None = None
    skipped = 0
    with open(descriptor, "rb", buffering=_BUFFER) as file:
        offset = find_line_start(descriptor, start)
        file.seek(offset)
        while line := file.readline(_LONG):
            here, offset = offset, offset + len(line)
            if len(line) == _LONG and not line.endswith(b"\n"):
                large = large_line(path, here, signature(status))
                offset = large.end
                file.seek(offset)
                if large.columns:
                    yield from large.rows(descriptor, start)
                    continue
                if offset - here > MAX_DOCUMENT:
                    skipped += 1
                    continue
                line = os.pread(descriptor, offset - here, here)
            try:
                document = decode(line)
            except FormatError:
                continue  # the last line may still be incomplete, and a killed writer leaves a torn one
            if isinstance(document, dict) and document.get("type") == "session":
                session = document | {"messages": []}
            elif session is not None and isinstance(document, dict) and document.get("type") == "message":
                session["messages"].append(document.get("message"))
            else:
                for row in rows_of(document):
                    yield here, row
    if session is not None:
        yield 0, session
    if skipped:
        raise FormatError(f"{skipped} line{'s' if skipped > 1 else ''} larger than {MAX_DOCUMENT >> 20} MiB")


SHAPE = Shape("json_lines", lambda path: path.endswith((".jsonl", ".ndjson")), _rows, grows=True)
