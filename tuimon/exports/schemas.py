"""JSON Schemas (draft 2020-12) of every JSON output, made from the structs of the documents.

The number in "$id" is that of the field "schema". Within a number, fields are only added.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, get_args, get_type_hints

from msgspec import UNSET, Struct
from msgspec.json import schema_components
from msgspec.structs import fields

from tuimon.exports.alerts import CheckDocument
from tuimon.exports.around import AroundDocument
from tuimon.exports.changes import AlertLine, NoticeLine, PointsLine, RunLine, StateLine
from tuimon.exports.compare import CompareDocument
from tuimon.exports.sample_lines import SampleLine
from tuimon.exports.summary import SummaryDocument

_DOCUMENTS: dict[str, tuple[type[Struct], ...]] = {
    "check": (CheckDocument,),
    "compare": (CompareDocument,),
    "samples": (SampleLine,),
    "summary": (SummaryDocument, AroundDocument),
    "watch": (RunLine, PointsLine, StateLine, AlertLine, NoticeLine),
}
"""Command -> the objects that it prints: one, or one of these, or lines of these."""
_RULES = (
    "Fields are only added within a schema number. A value that is not finite is a string; what is unknown is null."
    " Times are seconds."
)


def schema_names() -> tuple[str, ...]:
    """Return the sorted names of the commands whose JSON has a schema."""
    return tuple(sorted(_DOCUMENTS))


def schema_text(name: str) -> str:
    """Return the JSON Schema of what a command prints. Raise KeyError for an unknown name."""
    kinds = _DOCUMENTS[name]
    references, parts = schema_components(kinds, ref_template="#/$defs/{name}")
    definitions = json.loads(json.dumps(parts), object_hook=_with_strings)
    for kind in {struct for document in kinds for struct in _structs(document)}:
        _complete(definitions[kind.__name__], kind)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:tuimon:{name}:1",
        "title": f"tuimon {name} --json",
        "description": _RULES,
    }
    root = references[0] if len(kinds) == 1 else {"oneOf": references}
    return json.dumps(head | root | {"$defs": definitions}, indent=1, ensure_ascii=False) + "\n"


def _structs(kind: Any) -> Iterator[type[Struct]]:
    """Yield the structs that a type consists of."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
        for part in get_type_hints(kind).values():
            yield from _structs(part)
    for part in get_args(kind):
        yield from _structs(part)


def _with_strings(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a schema; a number with a pattern (documents.Number) may be a string."""
    return part | {"type": ["number", "string"]} if part.get("type") == "number" and "pattern" in part else part


def _complete(definition: dict[str, Any], kind: type[Struct]) -> None:
    """Describe the fields of a struct in its schema, and require those that are always there."""
    texts = _descriptions(kind)
    for field in fields(kind):
        own = definition["properties"][field.name]
        own.pop("default", None)
        if field.name in texts:
            own["description"] = texts[field.name]
    definition["required"] = [field.name for field in fields(kind) if field.default is not UNSET]
    if "description" in definition:
        definition["description"] = " ".join(definition["description"].split())


def _descriptions(kind: type[Struct]) -> dict[str, str]:
    """Return the docstrings of the fields of a struct, as its source has them."""
    found: dict[str, str] = {}
    for part in reversed(kind.__mro__[: kind.__mro__.index(Struct)]):
        (parsed,) = ast.parse(inspect.getsource(part)).body
        assert isinstance(parsed, ast.ClassDef)
        for field, text in pairwise(parsed.body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[name] = " ".join(words.split())
    return found
