"""JSON Lines: one sample per line, or one line per step with a list in each column. Positions are byte offsets."""

from __future__ import annotations

from typing import Any

from tuimon.errors import FormatError
from tuimon.rollouts import MAX_DOCUMENT, Rows, Shape
from tuimon.rollouts.shapes._columns import rows_of
from tuimon.rollouts.shapes._decoding import decode
from tuimon.sources.files import open_regular


def _rows(path: str, start: int) -> Rows:
    descriptor, _ = open_regular(path)
    session: dict[str, Any] | None = None
    with open(descriptor, "rb") as file:
        file.seek(start)
        offset = start
        while line := file.readline(MAX_DOCUMENT):
            here, offset = offset, offset + len(line)
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


SHAPE = Shape("json_lines", lambda path: path.endswith((".jsonl", ".ndjson")), _rows, grows=True)
