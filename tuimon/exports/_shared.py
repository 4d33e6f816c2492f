"""JSON documents, settings without their secrets, and safe file names, for all exports."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import orjson
from msgspec.structs import asdict

from tuimon.model.alerts import Alert
from tuimon.redact import redacted
from tuimon.run_notes import note_of
from tuimon.text import UNSAFE

# ---------------------------------------------------------------------- JSON

NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def note_fields(path: str) -> dict[str, Any] | None:
    """Return the user's note about the run with a path for JSON, or None."""
    note = note_of(path)
    if not note.line and not note.steps:
        return None
    steps = [{"step": entry.step, "text": entry.text} for entry in note.steps]
    return {"name": note.name, "text": note.text, "tags": list(note.tags), "steps": steps}


_ALERT_FIELDS = ("run", "rule", "severity", "metric", "step", "until", "message", "hint", "what", "unit")
_ALERT_NUMBERS = ("value", "usual", "limit", "extreme", "count", "points")


def alert_fields(alert: Alert) -> dict[str, Any]:
    """Return the fields of an alert for JSON; numbers that are unknown or not finite are None."""
    numbers = {name: None if own is None else known(own) for name, own in fields(alert, *_ALERT_NUMBERS).items()}
    related = [asdict(change) for change in alert.related]
    return fields(alert, *_ALERT_FIELDS) | numbers | {"related": related}


def dumps(document: Mapping[str, Any], compact: bool = False) -> str:
    """Return `document` as standard JSON, indented or on one line. NaN and infinities become strings (NOT_FINITE).

    Control, bidirectional and invisible characters are escaped, as the text may be printed on a terminal.
    """
    text = orjson.dumps(plain(document), option=None if compact else orjson.OPT_INDENT_2).decode()
    return text if text.isascii() and "\x7f" not in text else UNSAFE.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    """Return the JSON escape of a character that a terminal could interpret; line breaks between members stay."""
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1]


def known(value: float) -> float | None:
    """Return None (JSON null) if `value` is NaN or infinite."""
    return value if math.isfinite(value) else None


def fields(source: object, *names: str) -> dict[str, Any]:
    """Return the named attributes of `source` as a dict."""
    return {name: getattr(source, name) for name in names}


def plain(value: Any) -> Any:
    """Convert `value` to what JSON can hold: NaN by name, valid Unicode, 64-bit integers (larger ones as floats)."""
    if isinstance(value, Mapping):
        return {_text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else NOT_FINITE[str(value)]
    return _text(str(value))


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


# ---------------------------------------------------------------------- settings of a run


def without_secrets(settings: Mapping[str, Any], show_secrets: bool = False) -> Mapping[str, Any]:
    """Return the settings with secrets replaced by "[hidden]", or unchanged with `show_secrets`."""
    return settings if show_secrets else redacted(settings)


# ---------------------------------------------------------------------- file names

_UNSAFE = re.compile(r"[^\w.@+=-]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Device names of Windows (Microsoft, "Naming Files, Paths, and Namespaces")."""
_MAX_BYTES = 100


class SafeNames:
    """Turn names of runs and metrics into file names that are valid on every file system and unique in this object."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, text: str) -> str:
        """Return a name of about 100 bytes at most, without separators, blanks, control characters, leading . or -."""
        name = _UNSAFE.sub("_", text).strip("._-") or "unnamed"
        if len(name.encode()) > _MAX_BYTES or _RESERVED.fullmatch(name):
            name = f"{name.encode()[:_MAX_BYTES].decode('utf-8', 'ignore')}_{_digest(text)}"
        if name.casefold() in self._taken:  # some file systems ignore case
            name = f"{name}_{_digest(text)}"
        while name.casefold() in self._taken:
            name += "_"
        self._taken.add(name.casefold())
        return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
