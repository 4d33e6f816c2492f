"""What the JSON documents of the commands have in common, and how they are written.

A document is a struct with the fields of its JSON object; `schemas` makes the JSON Schema of it. The docstring of a
field is its description there, so it is written for readers of the JSON: what is unknown is null, not None. A field
that may be left out has the type UnsetType and the default UNSET.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import orjson
from msgspec import UNSET, Meta, Struct
from msgspec.structs import asdict

from tuimon.analysis.run_states import SIGNS
from tuimon.model.alerts import SEVERITIES, Alert, Change
from tuimon.run_notes import RunNote, note_of
from tuimon.text import UNSAFE

NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_Struct = TypeVar("_Struct", bound=Struct)
_Alert = TypeVar("_Alert", bound="AlertEntry")


def one_of(*words: str) -> Meta:
    """Return the annotation of a text that is one of these words."""
    return Meta(extra_json_schema={"enum": words})


Number = Annotated[float, Meta(extra_json_schema={"pattern": "^(NaN|-?Infinity)$"})]
"""A float that may be NaN or infinite, which is a string in JSON: `schemas` adds that type."""
Count = Annotated[int, Meta(ge=0)]
Version = Literal[1]
"""Number of the schema. Fields are only added within a number."""
State = Annotated[str, one_of(*SIGNS)]
Severity = Annotated[str, one_of(*SEVERITIES)]
Split = Annotated[str, one_of("train", "val")]
Direction = Annotated[str, one_of("rising", "falling", "flat", "unknown")]


class StepValue(Struct, frozen=True):
    """A point without its time."""

    step: int
    value: float


class RunState(Struct, frozen=True, kw_only=True):
    """A run and its state."""

    id: int
    name: str
    path: str
    """Absolute."""
    state: State
    evidence: str
    """The state's reason in words."""
    reason: str
    """Which condition of the state holds, such as total, open, closed, silent."""
    age: float | None
    """Seconds since the last point, or since the log changed last where points have no times."""
    gap: float | None
    """Usual seconds between two points."""
    step: int | None


class AlertEntry(Struct, frozen=True, kw_only=True):
    """An alert of a run. Numbers that do not apply to it, or are not finite, are null."""

    run: int
    """Id of the run."""
    rule: str
    severity: Severity
    metric: str
    """Empty if the alert is about the run as a whole."""
    step: int | None
    until: int | None
    """Last step of a resolved alert."""
    message: str
    hint: str
    what: str
    """What the metric does, such as "risen"; empty if only the message says it."""
    unit: str
    """Unit of the values; empty if they have none, or if it is unknown."""
    value: float | None
    """Level or value that was reached."""
    usual: float | None
    """Level before the alert."""
    limit: float | None
    """Limit that was passed, or will be reached."""
    extreme: int | None
    """Step of the value, if that is the highest or lowest one."""
    count: int | None
    """Number of points beyond the limit, or not finite."""
    points: int | None
    """Number of points of which they are a part."""
    related: tuple[Change, ...]
    """Other metrics that are a part of the alert, and what they did."""


class NoticeEntry(Struct, frozen=True, kw_only=True):
    """A remark on what could not be read."""

    level: Annotated[str, one_of("info", "warning", "error")]
    message: str
    hint: str


def alert_entry(alert: Alert, kind: type[_Alert], **own: Any) -> _Alert:
    """Return the document of an alert. kind: AlertEntry, or a class with further fields. own: these."""
    return filled(kind, alert, related=tuple(filled(Change, change) for change in alert.related), **own)


def note_entry(path: str) -> RunNote | None:
    """Return the user's note about the run with a path, or None."""
    note = note_of(path)
    return note if note.line or note.steps else None


def filled(kind: type[_Struct], source: object, /, **own: Any) -> _Struct:
    """Return a struct with the attributes of `source` that its fields are named after.

    A number that is not finite becomes None. own: the other fields, and those that have another value.
    """
    names = (name for name in kind.__struct_fields__ if name not in own and hasattr(source, name))
    return kind(**{name: _known(getattr(source, name)) for name in names}, **own)


def _known(value: Any) -> Any:
    return known(value) if isinstance(value, float) else value


def known(value: float) -> float | None:
    """Return None (JSON null) if `value` is NaN or infinite."""
    return value if math.isfinite(value) else None


def dumps(document: Struct | Mapping[str, Any], compact: bool = False) -> str:
    """Return `document` as standard JSON, indented or on one line. NaN and infinities become strings (NOT_FINITE).

    Control, bidirectional and invisible characters are escaped, as the text may be printed on a terminal.
    """
    option = orjson.OPT_SERIALIZE_NUMPY | (0 if compact else orjson.OPT_INDENT_2)
    text = orjson.dumps(plain(document), option=option).decode()
    return text if text.isascii() and "\x7f" not in text else UNSAFE.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    """Return the JSON escape of a character that a terminal could interpret; line breaks between members stay."""
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1]


def plain(value: Any) -> Any:
    """Convert `value` to what JSON can hold: NaN by name, valid Unicode, 64-bit integers (larger ones as floats)."""
    if isinstance(value, Struct):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {_text(str(key)): plain(item) for key, item in value.items() if item is not UNSET}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, np.ndarray):  # of numbers, of which none has a name
        return np.ascontiguousarray(value)
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else NOT_FINITE[str(value)]
    return _text(str(value))


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
