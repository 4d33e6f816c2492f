"""Plug-ins by being there: each module of a package that has the agreed attribute is one.

    formats/foo.py with FORMAT, panels/foo.py with PANEL, detectors/foo.py with DETECTOR, commands/foo.py with COMMAND,
    exports/files/foo.py with EXPORT

Modules whose name begins with "_" are helpers, not plug-ins. A module may hold several: FORMATS = (…, …).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any


@cache
def names(package: str) -> tuple[str, ...]:
    """Names of the modules of `package` that hold plug-ins, sorted; none of them is imported."""
    parent = importlib.import_module(package)
    return tuple(sorted(found.name for found in pkgutil.iter_modules(parent.__path__) if found.name[0] != "_"))


@cache
def discover(package: str, attribute: str) -> tuple[Any, ...]:
    """All objects named `attribute` (or in the tuple `attribute` + "S") in the modules of `package`, by module name."""
    found: list[Any] = []
    for name in names(package):
        loaded = importlib.import_module(f"{package}.{name}")
        if hasattr(loaded, attribute):
            found.append(getattr(loaded, attribute))
        found.extend(getattr(loaded, attribute + "S", ()))
    return tuple(found)
