"""A tracker's document about the machine and the program of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._shared.settings import FactsDocument
from tuimon.formats.json._document import parse_document
from tuimon.model.points import Fact, Topic


def metadata_document(tracker: str, facts: Callable[[dict[str, Any]], dict[str, Any]]) -> FactsDocument:
    """Return the decoder of facts about the writer that have a value. facts: returns those in a document."""

    def read(data: bytes) -> list[Fact]:
        known = {key: value for key, value in facts(json_object(data)).items() if value}
        return [Fact(Topic.WRITER, {"name": tracker, **known})]

    return FactsDocument(read)


def json_object(data: bytes) -> dict[str, Any]:
    """Parse a document that is an object. Raises FormatError or Unfinished."""
    document = parse_document(data.rstrip(b" \t\r\n\0"))
    if not isinstance(document, dict):
        raise FormatError("no metadata in this document")
    return document
