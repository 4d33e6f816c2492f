"""YAML as plain values: runs no code, creates no objects, and takes bounded time and memory for any document.

The parser is PyYAML's safe loader, in C if available. Unknown tags (!!python/tuple in Lightning's hparams) are ignored:
the value is read as what it looks like. References multiply the parts of a document (the "billion laughs", and merge
keys that do the same), so the values are counted before anything is built.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from tuimon.errors import FormatError, Unfinished

LARGEST = 4 << 20
"""Bytes of the largest document."""
LARGEST_SLOW = 256 << 10
"""Bytes, without the loader in C, which takes a tenth of the time."""
DEPTH = 64
"""Maximum levels of nesting."""
REPEATED = 1000
"""Maximum number of values that references add."""

_INTEGERS = range(-(1 << 63), 1 << 64)
_BAD_VALUES = (ValueError, LookupError, AttributeError, TypeError, OverflowError)
"""Raised by the loader, besides its own errors, if a value does not fit its tag: `!!int abc`, `!!bool maybe`."""


def parse_yaml(data: bytes) -> Any:
    """Return the first document as dict (with text keys), list, str, int, float, bool and None.

    Raises Unfinished for an empty or incomplete document, FormatError if it is not YAML, too large, nested too deeply
    or has too many references.
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
        """Safe loader that ignores unknown tags."""

        in_c = base is not yaml.SafeLoader

    Loader.add_constructor(None, _untagged)
    return Loader


def _untagged(loader: Any, node: Any) -> Any:
    """Construct a node with an unknown tag as the plain value that it looks like."""
    if node.id == "mapping":
        return loader.construct_mapping(node, deep=True)
    return loader.construct_sequence(node, deep=True) if node.id == "sequence" else loader.construct_scalar(node)


def _measure(data: bytes, loader: Any) -> None:
    """Raise FormatError for too deep nesting or too many values by reference, without building anything."""
    import yaml

    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = [(None, 0)]
    """(anchor, number of values so far) of each open collection."""
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
                raise FormatError("recursive or undefined reference")
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
        outer, count = opened[-1]
        opened[-1] = outer, count + size


def _plain(value: Any) -> Any:
    """Convert a value to what JSON can express: keys and dates become text, sets and tuples become lists."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INTEGERS:
        return float(value) if abs(value) < 1 << 1000 else math.copysign(math.inf, value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
