"""A stream decoder of a file in _log_blocks' framing: what W&B's and SwanLab's run files have in common."""

from __future__ import annotations

from abc import abstractmethod

from tuimon.errors import FormatError
from tuimon.formats import StreamDecoder
from tuimon.formats._log_blocks import LogBlocks, Record, Records
from tuimon.model.points import Damage, Item


class BlockDecoder(StreamDecoder):
    """Hands the records on one by one; a record that cannot be read is damage, and the next one is read."""

    def __init__(self, head: bytes) -> None:
        """head: see LogBlocks."""
        self._blocks = LogBlocks(head)
        self._news: list[Item] = []
        """What the records of this feed gave besides points; emptied after each `take`."""
        self._offset = 0
        """In the file, of the record that is being read."""

    def feed(self, data: bytes) -> list[Item]:
        return self._decode(self._blocks.feed(data))

    def flush(self) -> list[Item]:
        return self._decode(self._blocks.flush())

    def _decode(self, records: Records) -> list[Item]:
        self._read(records)
        items = self._take()
        self._news = []
        return items

    def _read(self, records: Records) -> None:
        """All of them, in their order."""
        for record in records:
            self._read_one(record)

    def _read_one(self, record: Record | Damage) -> None:
        if isinstance(record, Damage):
            self._news.append(record)
            return
        offset, data, start, end = record
        self._offset = offset
        try:
            self._record(data[start:end])
        except FormatError:
            self._news.append(Damage(offset, end - start, "record not readable"))

    @abstractmethod
    def _record(self, record: bytes) -> None:
        """One record. Raises FormatError for one that cannot be read."""

    @abstractmethod
    def _take(self) -> list[Item]:
        """What the records gave since the last call, `_news` among it."""
