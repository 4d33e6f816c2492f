"""JSON documents: a table, an array of samples, or one sample. Positions are row numbers."""

from __future__ import annotations

from tuimon.errors import FormatError
from tuimon.samples import MAX_DOCUMENT, Rows, Shape
from tuimon.samples.shapes._json_rows import decode, rows_of
from tuimon.sources.files import open_regular


def _rows(path: str, start: int) -> Rows:
    descriptor, _ = open_regular(path)
    with open(descriptor, "rb") as file:
        data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise FormatError(f"larger than {MAX_DOCUMENT >> 20} MiB")
    for number, row in enumerate(rows_of(decode(data))):
        if number >= start:
            yield number, row


SHAPE = Shape("json_documents", lambda path: path.endswith(".json"), _rows)
