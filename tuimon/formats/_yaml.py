"""YAML as plain values: no code is run, no class is made, and no document costs more than a bounded time and memory.

PyYAML's safe loader, in C where there is one. A tag that it does not know (!!python/tuple of Lightning's hparams) is
passed over and the value read as what it looks like. A document may refer to parts of itself, which multiplies them:
how many values it holds in truth is counted before it is built (the "billion laughs", and merge keys that do the same).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from tuimon.errors import FormatError, Unfinished

LARGEST = 4 << 20
"""Bytes."""
LARGEST_SLOW = 256 << 10
"""Without the loader in C, which takes a tenth of the time."""
DEPTH = 64
"""Levels of nesting."""
REPEATED = 1000
"""Values that a document may hold by referring to its own parts."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_BAD_VALUES = (ValueError, LookupError, AttributeError, TypeError, OverflowError)
"""What the loader raises besides its own errors where a value is not what its tag says: `!!int abc`, `!!bool maybe`."""


def parse_yaml(data: bytes) -> Any:
    """The value of the first document, made of dict (keys are text), list, str, int, float, bool and None.

    Raises Unfinished for an empty document and for one that breaks off, FormatError for one that is no YAML, is too
    large or multiplies itself.
    """
    import yaml

    if not data.strip(b" \t\r\n\0"):
        raise Unfinished("empty document")
    loader = _loader()
    if len(data) > (LARGEST if loader.in_c else LARGEST_SLOW):
        raise FormatError(f"YAML of {len(data) >> 10} KiB: too large")
    try:
        _measure(data, loader)
        return _plain(next(iter(yaml.load_all(data, Loader=loader)), None))
    except (yaml.YAMLError, *_BAD_VALUES):
        if not data.endswith(b"\n"):
            raise Unfinished("half-written document") from None
        raise FormatError("not YAML") from None


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # one of two bases
        """Safe, and lenient with unknown tags."""

        in_c = base is not yaml.SafeLoader

    Loader.add_constructor(None, _untagged)
    return Loader


def _untagged(loader: Any, node: Any) -> Any:
    """A node of an unknown tag as what it looks like."""
    if node.id == "mapping":
        return loader.construct_mapping(node, deep=True)
    return loader.construct_sequence(node, deep=True) if node.id == "sequence" else loader.construct_scalar(node)


def _measure(data: bytes, loader: Any) -> None:
    """Raises FormatError for nesting and for values that are repeated too often; counts without building anything."""
    import yaml

    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = [(None, 0)]
    """(anchor, values so far) of the collections around."""
    repeated = 0
    for event in yaml.parse(data, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, 1))
            if len(opened) > DEPTH:
                raise FormatError("nested too deeply")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = opened.pop()
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise FormatError("a part that contains itself, or is not there")
            anchor, size = None, sizes[event.anchor]
            repeated += size
            if repeated > REPEATED:
                raise FormatError("too many values by reference")
        elif isinstance(event, yaml.DocumentEndEvent):
            return
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        around, count = opened[-1]
        opened[-1] = around, count + size


def _plain(value: Any) -> Any:
    """As JSON has it: keys are text, dates and sets become text and lists."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INTEGERS:
        return float(value) if abs(value) < 1 << 1000 else math.copysign(math.inf, value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
