"""A tracker's document about the machine and the program of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.settings import FactsDocument
from tuimon.formats.json._document import parse_document
from tuimon.model.points import Fact, Topic


def metadata_format(
    tracker: str, title: str, writers: str, ending: str, facts: Callable[[dict[str, Any]], dict[str, Any]], advice: str
) -> Format:
    """Return the format of facts about the writer that have a value.

    ending: expression for the end of the file's path. facts: returns those in a document. advice: what the user can do
    if a run has only this file.
    """
    path_ending = re.compile(ending + r"\Z")

    def read(data: bytes) -> list[Fact]:
        known = {key: value for key, value in facts(json_object(data)).items() if value}
        return [Fact(Topic.WRITER, {"name": tracker, **known})]

    return Format(
        id=f"{tracker}-metadata",
        title=title,
        writers=writers,
        rank=1,
        matches=lambda name, head: head.lstrip().startswith(b"{"),
        decoder=lambda: FactsDocument(read),
        wants_path=lambda path: path_ending.search(path) is not None,
        describes_run=True,
        max_size=4 << 20,
        without_metrics=advice,
    )


def json_object(data: bytes) -> dict[str, Any]:
    """Parse a document that is an object. Raises FormatError or Unfinished."""
    document = parse_document(data.rstrip(b" \t\r\n\0"))
    if not isinstance(document, dict):
        raise FormatError("no metadata in this document")
    return document
