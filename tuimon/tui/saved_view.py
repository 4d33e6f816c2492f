"""The view of a path, kept from one start to the next: in the user's state directory, never beside the logs.

A file a path, `$XDG_STATE_HOME/tuimon/views/<hash of the paths>.json`, holds the fields of ViewState that a person has
changed. What passes with the moment is not kept (fields marked so: a pause, a window of the x axis). A field that
cannot be read, by a later version's meaning or a stray hand, is left at its default: a view is not worth an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import Field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

from tuimon.tui.state import ViewState

MOST_VIEWS = 500
"""The views used last are kept."""
_MOST_BYTES = 1 << 20


class Fielded(Protocol):
    """A dataclass's instance."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Value = TypeVar("Value", bound=Fielded)


def directory() -> Path:
    """Where views are."""
    from platformdirs import user_state_path

    return user_state_path("tuimon") / "views"


def restored(state: ViewState, paths: Sequence[str], where: Path | None = None) -> ViewState:
    """The state as it was left for these paths; `state` itself where nothing was kept."""
    file = _file(paths, where)
    try:
        if file.stat().st_size > _MOST_BYTES:
            return state
        data = file.read_bytes()
    except OSError:
        return state
    import msgspec  # for who has something kept

    try:
        kept = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return state
    return _with(state, kept.get("view") if isinstance(kept, dict) else None)


def keep(state: ViewState, begun: ViewState, paths: Sequence[str], where: Path | None = None) -> None:
    """Keeps what differs from the state that a fresh start begins with; nothing that differs removes the file. A disk
    that is full or read-only keeps nothing."""
    import msgspec

    file, changed = _file(paths, where), _changed(state, begun)
    with suppress(OSError):
        if not changed:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}.new")
        new.write_bytes(msgspec.json.encode({"paths": [os.path.abspath(path) for path in paths], "view": changed}))
        new.replace(file)
        _forget_the_oldest(file.parent)


def _file(paths: Sequence[str], where: Path | None) -> Path:
    told = "\0".join(os.path.abspath(path) for path in paths)
    return (where or directory()) / f"{hashlib.sha256(os.fsencode(told)).hexdigest()[:24]}.json"


def _lasting(value: Any) -> list[Field[Any]]:
    return [field for field in fields(value) if not field.metadata.get("passing")]


def _changed(value: Any, begun: Any) -> dict[str, Any]:
    """The lasting fields in which two dataclasses differ, deep."""
    found: dict[str, Any] = {}
    for field in _lasting(value):
        now, before = getattr(value, field.name), getattr(begun, field.name)
        if is_dataclass(now) and not isinstance(now, type):
            if inner := _changed(now, before):
                found[field.name] = inner
        elif now != before:
            found[field.name] = now
    return found


def _with(value: Value, kept: Any) -> Value:
    """The dataclass with the kept fields that are of the right type."""
    import msgspec

    if not isinstance(kept, dict):
        return value
    hints = get_type_hints(type(value))
    found: dict[str, Any] = {}
    for field in _lasting(value):
        if field.name not in kept:
            continue
        now = getattr(value, field.name)
        if is_dataclass(now) and not isinstance(now, type):
            found[field.name] = _with(now, kept[field.name])
        else:
            with suppress(msgspec.ValidationError):
                found[field.name] = msgspec.convert(kept[field.name], hints[field.name])
    return replace(value, **found)


def _forget_the_oldest(where: Path) -> None:
    views = sorted(where.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in views[:-MOST_VIEWS]:
        file.unlink(missing_ok=True)
