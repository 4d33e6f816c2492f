"""Save the view of a path for the next start, in the user's state directory and never next to the logs.

`$XDG_STATE_HOME/tuimon/views/<hash of the paths>.json` holds the fields of ViewState that the user has changed, except
the fields marked `transient`, such as a pause or a window of the x axis. An invalid field, written by another version
or edited by hand, is ignored and keeps its default.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import Field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

from tuimon.replacing import make_private, replace_content
from tuimon.tui.state import ViewState

MOST_VIEWS = 500
"""Number of views that are kept, the latest ones."""
_MOST_BYTES = 1 << 20


class Fielded(Protocol):
    """Instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Value = TypeVar("Value", bound=Fielded)


def directory() -> Path:
    """Return the directory of the saved views."""
    from platformdirs import user_state_path

    return user_state_path("tuimon") / "views"


def restored(state: ViewState, paths: Sequence[str], where: Path | None = None) -> ViewState:
    """Return `state` with the fields that were saved for these paths; `where`: directory, the default one if None."""
    file = _file(paths, where)
    try:
        if file.stat().st_size > _MOST_BYTES:
            return state
        data = file.read_bytes()
    except OSError:
        return state
    import msgspec  # only if there is a saved view

    try:
        saved = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return state
    return _with(state, saved.get("view") if isinstance(saved, dict) else None)


def save(state: ViewState, default: ViewState, paths: Sequence[str], where: Path | None = None) -> None:
    """Save the fields that differ from the default view; remove the file if none does. Raises OSError if they cannot be
    saved."""
    import msgspec

    file, changed = _file(paths, where), _changed(state, default)
    if not changed:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        return
    if where is None:
        make_private(file.parent.parent)
    make_private(file.parent)
    view = {"paths": [os.path.abspath(path) for path in paths], "view": changed}
    replace_content(file, msgspec.json.encode(view))
    with suppress(OSError):
        _remove_oldest(file.parent)


def _file(paths: Sequence[str], where: Path | None) -> Path:
    key = os.fsencode("\0".join(os.path.abspath(path) for path in paths))
    # two checksums rather than a digest: hashlib would load OpenSSL at start-up (3 ms)
    return (where or directory()) / f"{zlib.crc32(key):08x}{zlib.adler32(key):08x}{len(key):x}.json"


def _lasting(value: Any) -> list[Field[Any]]:
    return [field for field in fields(value) if not field.metadata.get("transient")]


def _changed(value: Any, default: Any) -> dict[str, Any]:
    """Return the lasting fields in which two dataclasses differ, recursively."""
    changed: dict[str, Any] = {}
    for field in _lasting(value):
        now, before = getattr(value, field.name), getattr(default, field.name)
        if is_dataclass(now) and not isinstance(now, type):
            if inner := _changed(now, before):
                changed[field.name] = inner
        elif now != before:
            changed[field.name] = now
    return changed


def _with(value: Value, saved: Any) -> Value:
    """Return the dataclass with the saved fields that have the right type."""
    import msgspec

    if not isinstance(saved, dict):
        return value
    hints = get_type_hints(type(value))
    valid: dict[str, Any] = {}
    for field in _lasting(value):
        if field.name not in saved:
            continue
        now = getattr(value, field.name)
        if is_dataclass(now) and not isinstance(now, type):
            valid[field.name] = _with(now, saved[field.name])
        else:
            with suppress(msgspec.ValidationError):
                valid[field.name] = msgspec.convert(saved[field.name], hints[field.name])
    return replace(value, **valid)


def _remove_oldest(where: Path) -> None:
    views = sorted(where.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in views[:-MOST_VIEWS]:
        file.unlink(missing_ok=True)
