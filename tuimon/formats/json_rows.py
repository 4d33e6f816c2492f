"""A JSON document of rows, of any other origin: a list of objects with a step, or an object that holds such lists.

    [{"step": 1, "loss": 0.5}, …]
    {"train": [{"epoch": 1, "loss": 0.5}, …], "eval": [{"epoch": 1, …}, …], "args": {…}}

Metrics of a list inside an object are <key>/<metric>, as in training_log.json. Strict, as many JSON files are lists of
objects: the first row must hold a step (or an epoch) and numbers, and nothing that says sample.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tuimon.formats import Format, training_log
from tuimon.formats._document import Content, RowsDocument
from tuimon.formats._rows import flatten, has_step, looks_like_metrics

_LIST = re.compile(r'(?:\A\s*|"[^"\\]{1,100}"\s*:\s*)\[\s*(?=\{)')
_LISTS_LOOKED_AT = 8


def layout(document: Any) -> Content | None:
    if isinstance(document, list):
        return Content({"": document})
    return training_log.layout(document)


def matches(name: str, head: bytes) -> bool:
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.lstrip().startswith(("{", "[")):
        return False
    for count, found in enumerate(_LIST.finditer(text)):
        if count == _LISTS_LOOKED_AT:
            break
        try:
            row, _ = json.JSONDecoder(strict=False).raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue
        if looks_like_metrics(row) and has_step(flatten(row)):
            return True
    return False


FORMAT = Format(
    id="json_rows",
    title="JSON document of rows",
    writers="any JSON document with a list of rows",
    rank=28,
    matches=matches,
    decoder=lambda: RowsDocument(layout),
    wants_name=lambda name: name.endswith(".json"),
)
