"""Imports without what they would take along for nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Modules that what is imported inside can do without are taken for not installed, unless they are loaded already;
    whoever asks for them later gets them. For a start, before other threads import anything of the kind."""
    hidden = [name for name in names if name not in sys.modules]
    nothing: Any = None  # in place of a module it makes the import fail (Python reference, 5.3.1)
    sys.modules.update(dict.fromkeys(hidden, nothing))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
