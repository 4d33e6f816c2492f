"""Pictures in generated texts and their prompts: in the text itself, in a cell of bytes, or in a file of W&B."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tuimon import lazy_re as re
from tuimon.media import saving
from tuimon.media.tables import media_parts

_DATA_URL = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w.=-]{1,60}){0,4};base64,([A-Za-z0-9+/=_-]{64,})")
_MOST = 16
"""Pictures of a sample that are shown."""
_DEPTH = 8


def without_data_urls(text: str) -> str:
    """Return the text with each long base64 data URL replaced by its type and its size (bytes)."""
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda match: f"[{match[1] or 'data'}, {len(match[2]) * 3 // 4} bytes]", text)


def pictures_of(row: dict[str, Any], path: str) -> tuple[Any, ...]:
    """Return references to the pictures in a row of the file at `path`, which `picture_data` reads."""
    return tuple(islice(_pictures(row, path, _DEPTH), _MOST))


def _pictures(value: Any, path: str, depth: int) -> Iterator[Any]:
    if isinstance(value, str):
        if "data:image/" in value:
            yield from (match[2] for match in _DATA_URL.finditer(value) if (match[1] or "").startswith("image/"))
    elif isinstance(value, dict):
        if isinstance(value.get("bytes"), bytes):  # a picture of a data set of Hugging Face, in Parquet
            yield value["bytes"]
        elif value.get("_type") == "image-file":
            yield from media_parts(path, value.get("path"))
        elif depth:
            for part in value.values():
                yield from _pictures(part, path, depth - 1)
    elif isinstance(value, list) and depth and value and not isinstance(value[0], int | float):  # not numbers of tokens
        for part in value:
            yield from _pictures(part, path, depth - 1)


def picture_data(picture: Any) -> bytes:
    """Return the encoded picture of a reference. Raises OSError."""
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str):
        try:
            return base64.b64decode(picture.replace("-", "+").replace("_", "/") + "==")
        except binascii.Error:
            raise OSError("a broken data URL") from None
    return saving.picture_data(picture)
