"""The framing of W&B's `.wandb` and SwanLab's `.swanlab` files: LevelDB's log format with a plain CRC-32.

    file    7 bytes: 4 of identity, u16 magic, u8 version (little endian), then chunks, in blocks of 32768 bytes
    chunk   u32 crc | u16 length | u8 kind | payload      crc = zlib.crc32(kind byte + payload), not CRC-32C, not masked
    kind    1 FULL record, 2 FIRST part, 3 MIDDLE part, 4 LAST part; no chunk crosses the end of a block
    block   its end is filled with zeros if fewer than 7 bytes are left

Source: wandb `core/pkg/leveldb/record.go` and `wandb/sdk/internal/datastore.py`; swanlab's DataStore is the same.

Blocks are counted from byte 0 of the file, by wandb-core up to 0.17.5 from byte 7, and from anywhere if two threads
wrote at the same time (SwanLab) or bytes were lost. So nothing here depends on where a block begins: chunks are
adjacent, and up to six zero bytes may precede one.
"""

from __future__ import annotations

import struct
import zlib
from abc import abstractmethod
from typing import Any, TypeAlias

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import StreamDecoder
from tuimon.formats._shared.console_lines import ConsoleLines
from tuimon.formats._shared.protobuf import Message
from tuimon.model.points import Damage, Fact, Item, Topic

BLOCK = 32768
HEADER = 7
MAX_PAYLOAD = BLOCK - HEADER
MAX_RECORD = 256 << 20
"""Bytes; a longer record is damage, as no logger writes it."""

_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_CHUNK = struct.Struct("<IHB")
_LIKELY = re.compile(rb"(?<=[\0-\x7f])[\x01\x02]")
"""The kind of a FULL or FIRST chunk, after the upper byte of its length."""
_WORK, _WORK_PER_BYTE, _TRY = 4 << 20, 256, 4096
"""Limits of a search: bytes that are checksummed, at first and for each byte searched, and what any checksum counts at
least. Random data needs less."""
_SEARCH_AGAIN = 4096  # bytes that must arrive before an unsuccessful search is repeated

Record: TypeAlias = tuple[int, bytes, int, int]
"""(file offset of the first chunk, data, start, end): the payload is data[start:end], which is not copied if it is not
used."""
Records: TypeAlias = list[Record | Damage]
"""In file order."""


class LogBlocks:
    """Splits a growing file into records. An incomplete chunk waits for its end; a damaged one is skipped, up to the
    next whole FULL or FIRST chunk. Holds at most one chunk and the parts of one record."""

    def __init__(self, head: bytes) -> None:
        """`head`: first bytes of a valid file (the version byte may be omitted)."""
        self._head = head
        self._header_read = False
        self._buffer = b""
        self._offset = 0  # file offset of the buffer
        self._parts: list[bytes] = []
        self._parts_size = 0
        self._parts_offset = 0
        self._lost = False  # the current record has already been reported as damaged
        self._bad_from = -1  # file offset of the current damage, or -1
        self._damage_added = False
        self._search_at = 0  # size of the buffer that makes another search worthwhile

    def feed(self, data: bytes) -> Records:
        """Return the records that are now complete and the damage between them, in file order."""
        self._buffer += data
        return self._walk(at_rest=False)

    @property
    def incomplete_at(self) -> int | None:
        """Offset of a record whose end has not been fed yet, or None."""
        if self._parts:
            return self._parts_offset
        begun = self._bad_from < 0 and (len(self._buffer) >= HEADER or any(self._buffer))  # else padding
        return self._offset if begun else None

    def flush(self) -> Records:
        """Treat the file as complete: an incomplete chunk is damaged if a whole one follows it."""
        return self._walk(at_rest=True)

    def _walk(self, at_rest: bool) -> Records:
        """Read chunks, and keep an incomplete rest in the buffer."""
        buffer, end, base, position = self._buffer, len(self._buffer), self._offset, 0
        out: Records = []
        if not self._header_read:
            if end < HEADER:
                return out
            self._header_read, position = True, HEADER
            if not buffer.startswith(self._head):
                out.append(Damage(0, HEADER, "file header wrong", records=0))
        while end - position >= HEADER:
            is_torn = False
            if self._bad_from < 0:
                position = self._whole_chunks(buffer, position, out)
                if end - position < HEADER:
                    break
                is_torn = _is_whole(buffer, position) is None
            if not at_rest and (is_torn or end < self._search_at):
                break
            found, keep = _search(buffer, position + (self._bad_from < 0), base)
            until = keep if found is None else found
            is_padding = until - position < HEADER and not any(buffer[position:until])
            if self._bad_from < 0 and not is_padding and not (is_torn and found is None):
                self._bad_from, self._damage_added, self._parts = base + position, False, []
            if found is None:
                if self._bad_from >= 0:
                    position, self._search_at = keep, end - keep + _SEARCH_AGAIN
                break
            position, self._search_at = found, 0
            if self._bad_from >= 0:
                self._add_damage(base + position, out)
                self._bad_from = -1
        if at_rest and self._bad_from >= 0:
            self._add_damage(base + end, out)
        self._buffer = buffer[position:]
        self._offset += position
        return out

    def _whole_chunks(self, buffer: bytes, position: int, out: Records) -> int:
        """Read the adjacent whole chunks from `position` on, and return the position after them."""
        view, crc32, unpack, end, base = memoryview(buffer), zlib.crc32, _CHUNK.unpack_from, len(buffer), self._offset
        while end - position >= HEADER:
            crc, length, kind = unpack(buffer, position)
            stop = position + HEADER + length
            if stop > end or not 1 <= kind <= _LAST or length > MAX_PAYLOAD or crc32(view[position + 6 : stop]) != crc:
                break
            if kind == _FULL and not self._parts:
                out.append((base + position, buffer, position + HEADER, stop))
                self._lost = False
            else:
                self._chunk(kind, base + position, buffer[position + HEADER : stop], out)
            position = stop
        return position

    def _add_damage(self, until: int, out: Records) -> None:
        if not self._damage_added:
            out.append(Damage(self._bad_from, until - self._bad_from, "chunk damaged"))
        self._damage_added = True

    def _chunk(self, kind: int, offset: int, payload: bytes, out: Records) -> None:
        """Handle a valid chunk: a record or a part of one."""
        if kind in (_FULL, _FIRST):
            if self._parts:
                length = offset - self._parts_offset
                out.append(Damage(self._parts_offset, length, "record without its end"))
                self._parts = []
            self._lost = False
            if kind == _FULL:
                out.append((offset, payload, 0, len(payload)))
            else:
                self._parts, self._parts_size, self._parts_offset = [payload], len(payload), offset
        elif self._parts:
            self._parts.append(payload)
            self._parts_size += len(payload)
            if self._parts_size > MAX_RECORD:
                out.append(Damage(self._parts_offset, self._parts_size, "record too long"))
                self._parts, self._lost = [], True
            elif kind == _LAST:
                payload = b"".join(self._parts)
                out.append((self._parts_offset, payload, 0, len(payload)))
                self._parts = []
        elif not self._lost:
            out.append(Damage(offset, HEADER + len(payload), "record without its beginning"))
            self._lost = True


class BlockDecoder(StreamDecoder):
    """Base of the decoders of run files: passes each record to `_decode_record`. A record that cannot be read becomes a
    Damage item, and decoding continues with the next record."""

    def __init__(self, head: bytes, tracker: str) -> None:
        """`head`: see LogBlocks. tracker: name of the writer."""
        self._blocks = LogBlocks(head)
        self._console = ConsoleLines()
        self._writer: dict[str, Any] = {"name": tracker}
        self._other_items: list[Item] = []  # items of the current feed that are not points
        self._offset = 0  # file offset of the current record

    def feed(self, data: bytes) -> list[Item]:
        return self._decode(self._blocks.feed(data))

    def flush(self) -> list[Item]:
        return self._decode(self._blocks.flush())

    @property
    def incomplete_at(self) -> int | None:
        return self._blocks.incomplete_at

    def _decode(self, records: Records) -> list[Item]:
        for record in records:
            if isinstance(record, Damage):
                self._other_items.append(record)
                continue
            self._offset, data, start, end = record
            try:
                self._decode_record(data[start:end])
            except FormatError:
                self._other_items.append(Damage(self._offset, end - start, "record not readable"))
        items = self._take_items()
        self._other_items = []
        return items

    def _read_writer(self, run: Message, texts: dict[int, str], tags: int, started: int) -> None:
        """Read what the writer says about a run. texts, tags, started: numbers of the fields."""
        self._writer |= run.named_texts(texts)
        self._writer |= {"tags": found} if (found := run.texts(tags)) else {}
        self._writer |= {} if (time := run.timestamp(started)) is None else {"started": time}

    def _add_state(self, state: str, evidence: str) -> None:
        self._console.end()
        self._other_items.append(Fact(Topic.STATE, {"state": state, "evidence": evidence}))

    @abstractmethod
    def _decode_record(self, record: bytes) -> None:
        """Decode one record. Raises FormatError if it cannot be read."""

    @abstractmethod
    def _take_items(self) -> list[Item]:
        """Return the items of the records since the last call, including `_other_items`."""


def _is_whole(buffer: bytes, position: int) -> bool | None:
    """Return whether there is a chunk with the right checksum at `position`; None if its end is missing."""
    crc, length, kind = _CHUNK.unpack_from(buffer, position)
    if not 1 <= kind <= _LAST or length > MAX_PAYLOAD:
        return False
    stop = position + HEADER + length
    return None if stop > len(buffer) else zlib.crc32(memoryview(buffer)[position + 6 : stop]) == crc


def _search(buffer: bytes, start: int, base: int) -> tuple[int | None, int]:
    """Return (position of the next whole FULL or FIRST chunk or None, first position that may turn out to be one
    later).

    Hostile bytes can look like a chunk everywhere, so the number of checksums is limited; beyond the limit only
    positions where a block may begin are tried. `base` is the file offset of the buffer.
    """
    place, keep, work = start, max(start, len(buffer) - HEADER + 1), 0
    while match := _LIKELY.search(buffer, place + HEADER - 1):
        place = match.start() - (HEADER - 1)
        past = (place + base) % BLOCK
        to_block = (HEADER if past < HEADER else BLOCK) - past if past not in (0, HEADER) else 0
        if (ahead := min(start + (work - _WORK) // _WORK_PER_BYTE - place, to_block)) > 0:
            place += ahead
            continue
        is_whole = _is_whole(buffer, place)
        if is_whole:
            return place, keep
        if is_whole is None:
            keep = min(keep, place)
        work += int.from_bytes(buffer[place + 4 : place + 6], "little") + _TRY
        place += 1
    return None, keep
