"""Rows of JSON texts: from objects, columns and tables, without long token lists, which no view shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from tuimon import lazy_re as re
from tuimon.formats._shared.json import parse

SKIPPED = frozenset(
    {
        "token_ids", "logprobs", "ref_logprobs", "values", "token_rewards", "prompt_tokens", "response_tokens",
        "tokens", "masks",
        "prompt_ids", "response_ids", "input_ids", "attention_mask", "position_ids",
    }
)  # fmt: skip
"""Names of token lists, except those whose difference is shown (log-probabilities of engine and trainer)."""
_LARGE = 64 << 10
"""Size (bytes) of a line from which the lists are worth skipping."""
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NUMBERED = re.compile(r"(.+)_(\d+)")


def decode(line: bytes) -> Any:
    """Parse a JSON text; of a large object, the token lists at its top level are left out. Raises FormatError."""
    if len(line) > _LARGE:
        try:
            parts = _OBJECT.decode(line)
            return {key: orjson.loads(bytes(part)) for key, part in parts.items() if key not in SKIPPED}
        except (msgspec.DecodeError, orjson.JSONDecodeError):
            pass  # NaN, or text that is not UTF-8
    return parse(line)


def rows_of(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parsed JSON document: a row, columns of equal length, a table, or an array of rows."""
    if isinstance(document, list):
        for row in document:
            if isinstance(row, dict):
                yield row
    elif isinstance(document, dict):
        yield from _rows_of_object(document)


def _rows_of_object(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    names, data = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(data, list):
        for cells in data:
            if isinstance(cells, list):
                yield from _unpivoted(dict(zip(map(str, names), cells, strict=False)))
        return
    for key in ("rowData", "samples"):
        if isinstance(rows := document.get(key), list) and rows and all(isinstance(row, dict) for row in rows):
            yield from rows
            return
    if isinstance(data, dict):
        yield from _rows_of_object(data)
        return
    lengths = {len(value) for value in document.values() if isinstance(value, list)}
    lists = [value for value in document.values() if isinstance(value, list)]
    size = max(lengths, default=0)
    columns = {key: value for key, value in document.items() if isinstance(value, list) and len(value) == size}
    if size > 1 and len(columns) > 1 and len(columns) * 2 > len(lists) and _has_texts(columns):
        shared = {key: value for key, value in document.items() if key not in columns}
        for index in range(size):
            yield shared | {key: value[index] for key, value in columns.items()}
        return
    yield {key: value[0] if _is_slice(value) else value for key, value in document.items()}


def _is_slice(value: Any) -> bool:
    """Return whether the value is a batch of one element, as NeMo-RL writes it, and not a list of one message."""
    return isinstance(value, list) and len(value) == 1 and not isinstance(value[0], dict)


def _has_texts(columns: dict[str, list[Any]]) -> bool:
    return any(all(isinstance(value, str) for value in values) for values in columns.values())


def _unpivoted(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Split a row that holds several samples (`input_1, output_1, input_2, …`)."""
    shared: dict[str, Any] = {}
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in row.items():
        if match := _NUMBERED.fullmatch(key):
            numbered.setdefault(int(match[2]), {})[match[1]] = value
        else:
            shared[key] = value
    if not any("output" in cells for cells in numbered.values()):
        yield row
        return
    for _, cells in sorted(numbered.items()):
        if cells.get("output") is not None:
            yield shared | cells
