"""nearby_facts(): what the path of a file, or a file in the directory above, says about its runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tuimon.formats import Format
from tuimon.sources.files import first_bytes

_LIMIT = 16 << 10
"""Bytes that are read of a file in the directory above."""


def nearby_facts(path: str, log_format: Format) -> Mapping[str, Any]:
    """Return the facts of Format.path_facts and Format.facts_above for the file at `path`."""
    facts = dict(log_format.path_facts(path)) if log_format.path_facts is not None else {}
    if log_format.facts_above is not None:
        directory, name = os.path.split(path)
        facts |= log_format.facts_above(_beginning(os.path.join(os.path.dirname(directory), name)))
    return facts


def _beginning(path: str) -> bytes:
    """Return the first bytes of a file; b"" if it cannot be read."""
    try:
        return first_bytes(path, _LIMIT)
    except OSError:
        return b""
