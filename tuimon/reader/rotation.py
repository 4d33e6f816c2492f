"""Find out whether a log that begins anew was rotated, so that its earlier lines are in an older file."""

from __future__ import annotations

import os

from tuimon.model.log_names import log_name
from tuimon.reader.compression import decompressed_head
from tuimon.sources.files import first_bytes

_LEAST = 16
"""Bytes. Fewer equal ones at the beginning of two files say nothing."""
_READ = 4096


def was_rotated(path: str, head: bytes) -> bool:
    """Return whether another file of the same rotated log (train.log.1, train.log.2.gz) begins with `head`, the first
    bytes that the file at `path` had before it began anew."""
    if len(head) < _LEAST:
        return False
    directory = os.path.dirname(path)
    live = log_name(path).live
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    others = [os.path.join(directory, name) for name in names if name != os.path.basename(path)]
    return any(log_name(other).live == live and _begins_with(other, head) for other in others)


def _begins_with(path: str, head: bytes) -> bool:
    try:
        data = first_bytes(path, _READ)
    except OSError:
        return False
    if log_name(path).compressed:
        data = decompressed_head(data, len(head))
    return data.startswith(head)
