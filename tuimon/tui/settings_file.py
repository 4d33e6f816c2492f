"""Read and rewrite the user's TOML files. What a change does not concern is kept as it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.replacing import replace_content

_MOST_BYTES = 1 << 18
_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_-]+|\"[^\"]*\")")


def text_of(file: Path) -> str:
    """Return the content of a file. Raise UsageError if it cannot be read or is larger than 256 KiB."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"it is larger than {_MOST_BYTES >> 10} KiB")
        return file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"it cannot be read: {error}") from error


def parsed(text: str) -> dict[str, Any]:
    """Parse TOML text. Raise UsageError if it is invalid."""
    import tomllib  # not imported if there is no file

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"it is no TOML: {error}") from error


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield (first part of the name, lines) of each table, with its header; first ("", lines before any header)."""
    name, lines = "", list[str]()
    for line in text.splitlines(keepends=True):
        if header := _HEADER.match(line):
            yield name, "".join(lines)
            name, lines = header[1].strip('"'), []
        lines.append(line)
    yield name, "".join(lines)


def rewrite(file: Path, before: str, after: str, key: str, value: object) -> None:
    """Replace the content `before` of a file by `after`, whose table `key` is `value`; None: it has no such table.

    Raises UsageError if anything else would change: then the table is written in a form that cannot be replaced, such
    as an inline one. Raises OSError if the file cannot be written."""
    old = parsed(before)
    try:
        new = parsed(after)
    except UsageError:
        new = {"": ""}
    old.pop(key, None)
    if new.pop(key, None) != value or new != old:
        raise UsageError(f"{file} has [{key}] in a form that cannot be replaced; edit it by hand")
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else None
    replace_content(Path(os.path.realpath(file)), after.encode(), mode)


def quoted(text: str) -> str:
    """Return a basic string of TOML."""
    valid = text.encode("utf-8", "replace").decode()
    return json.dumps(valid, ensure_ascii=False).replace("\x7f", "\\u007f")
