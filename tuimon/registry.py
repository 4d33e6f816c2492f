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
def discover(package: str, attribute: str) -> tuple[Any, ...]:
    """All objects named `attribute` (or in the tuple `attribute` + "S") in the modules of `package`, by module name."""
    parent = importlib.import_module(package)
    found: list[Any] = []
    for module in sorted(pkgutil.iter_modules(parent.__path__), key=lambda m: m.name):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{package}.{module.name}")
        if hasattr(loaded, attribute):
            found.append(getattr(loaded, attribute))
        found.extend(getattr(loaded, attribute + "S", ()))
    return tuple(found)
