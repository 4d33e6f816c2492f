"""JSON Lines: one sample per line, or one line per step with a list in each column. Positions are byte offsets.

Lines above MAX_DOCUMENT are skipped, and reported by a FormatError after the last row.
"""

from __future__ import annotations

from typing import Any

from tuimon.errors import FormatError
from tuimon.rollouts import MAX_DOCUMENT, Rows, Shape
from tuimon.rollouts.shapes._columns import rows_of
from tuimon.rollouts.shapes._decoding import decode
from tuimon.sources.files import open_regular

_PART = 1 << 20
_BUFFER = 256 << 10
"""Bytes that are read at a time: samples are longer than the default buffer."""


def _rows(path: str, start: int) -> Rows:
    descriptor, _ = open_regular(path)
    session: dict[str, Any] | None = None
    skipped = 0
    with open(descriptor, "rb", buffering=_BUFFER) as file:
        file.seek(start)
        offset = start
        while line := file.readline(MAX_DOCUMENT):
            here, offset = offset, offset + len(line)
            if len(line) == MAX_DOCUMENT and not line.endswith(b"\n"):
                skipped += 1
                while line and not line.endswith(b"\n"):
                    line = file.readline(_PART)
                    offset += len(line)
                continue
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
