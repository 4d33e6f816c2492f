"""Decoder of a tracker's document about the machine and the program of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats.json._document import parse_document
from tuimon.model.points import Fact, Item, Topic


class MetadataDocument:
    """A DocumentDecoder: the facts about the writer that have a value, with the name of the tracker."""

    def __init__(self, tracker: str, facts: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """facts: returns the facts in a document."""
        self._tracker = tracker
        self._facts = facts
        self._emitted: dict[str, Any] | None = None

    def load(self, data: bytes) -> list[Item]:
        document = parse_document(data.rstrip(b" \t\r\n\0"))
        if not isinstance(document, dict):
            raise FormatError("no metadata in this document")
        known = {key: value for key, value in self._facts(document).items() if value}
        facts = {"name": self._tracker, **known}
        if facts == self._emitted:
            return []
        self._emitted = facts
        return [Fact(Topic.WRITER, facts)]
