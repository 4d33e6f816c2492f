"""The walk for files with texts and media, which are searched when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tuimon import lazy_re as re

_MAX_DEPTH = 10
_MAX_FILES = 100_000


def files_below(path: str, is_closed: Callable[[str], bool]) -> Iterator[str]:
    """Yield a file, or the files below a directory by name, numbers by value: step_9/a.jsonl before step_10/a.jsonl.

    is_closed: whether the directory at a path is left out.
    """
    if not os.path.isdir(path):  # noqa: PTH112
        yield path
        return
    count = 0
    for folder, folders, names in os.walk(path):
        deep = folder[len(path) :].count("/") >= _MAX_DEPTH
        opened = [] if deep else [name for name in folders if not is_closed(f"{folder}/{name}")]
        folders[:] = sorted(opened, key=_by_number)
        for name in sorted(names, key=_by_number):
            count += 1
            if count > _MAX_FILES:
                return
            yield f"{folder.rstrip('/')}/{name}"


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d{1,18})", name) if part]
