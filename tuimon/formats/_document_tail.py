"""A big document parsed from where its last rows were, not from its start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct

from tuimon.errors import FormatError, Unfinished
from tuimon.formats._json import parse
from tuimon.formats._rows import same


class Tail(Struct, frozen=True):
    """A document cut behind the last row of its longest list, so that only what follows must be parsed next time.

    If the bytes before the cut are unchanged, a parser that has read them stands where it stood: inside that list of
    the top-level object (or inside the top-level list), behind a whole element. The parser that has read `opener`
    stands there too; so what follows the cut is parsed behind `opener`, and parses exactly if the document does.
    That the cut lies there is proved when it is made: what follows it then must give an empty rest of the list and
    the very keys and values that the whole document has behind it.
    """

    data: bytes
    cut: int
    key: str | None
    """Of the list; None when the document itself is the list."""
    before: Mapping[str, Any]
    """What the object holds before the list."""

    @staticmethod
    def find(data: bytes, document: Any, key: str | None) -> Tail | None:
        if isinstance(document, list):
            closing, before, after = len(data) - 1, {}, {}
        elif key is None:
            return None
        else:
            keys = list(document)
            at = keys.index(key)
            before = {name: document[name] for name in keys[:at]}
            after = {name: document[name] for name in keys[at + 1 :]}
            end = data.rfind(orjson.dumps(keys[at + 1])) if after else len(data)
            closing = data.rfind(b"]", 0, max(end, 0))
        tail = Tail(data, data.rfind(b"}", 0, max(closing, 0)) + 1, key, before)
        try:
            rest = tail._rest(data)
        except FormatError:
            return None
        proved = rest == [None] if key is None else same(rest, {key: [None], **after}) and list(rest) == [key, *after]
        return tail if tail.cut and proved else None

    def parse(self, data: bytes) -> Any:
        """The document with only the new rows in its list; None when the bytes before the cut have changed."""
        if not data.startswith(memoryview(self.data)[: self.cut]):
            return None
        try:
            rest = self._rest(data)
        except FormatError as error:
            raise Unfinished("half-written document") from error
        if self.key is None:
            return rest[1:] if isinstance(rest, list) else None
        rows = rest[self.key] if isinstance(rest, dict) else None
        if not isinstance(rows, list) or rows[:1] != [None] or not self.before.keys().isdisjoint(rest):
            return None  # a key that is there twice
        return {**self.before, **rest, self.key: rows[1:]}

    def rows(self, document: Any) -> list[Any]:
        """The list of a document that `parse` gave."""
        rows: list[Any] = document if self.key is None else document[self.key]
        return rows

    def _rest(self, data: bytes) -> Any:
        opener = b"[null" if self.key is None else b"{" + orjson.dumps(self.key) + b":[null"
        return parse(opener + memoryview(data)[self.cut :])
