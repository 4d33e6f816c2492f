"""The framing that W&B's `.wandb` and SwanLab's `.swanlab` files share: LevelDB's log format with a plain CRC-32.

    file    7 bytes: 4 of identity, u16 magic, u8 version (little endian), then chunks, in blocks of 32768 bytes
    chunk   u32 crc | u16 length | u8 kind | payload      crc = zlib.crc32(kind byte + payload): no CRC-32C, not masked
    kind    1 FULL record, 2 FIRST part, 3 MIDDLE part, 4 LAST part; no chunk crosses the end of a block
    block   what is left of it is filled with zeros when fewer than 7 bytes are left

Source: wandb `core/pkg/leveldb/record.go` and `wandb/sdk/internal/datastore.py`; swanlab's DataStore is the same.

Blocks are counted from byte 0 of the file, by wandb-core up to 0.17.5 from byte 7, and from anywhere once two threads
have written over each other (SwanLab) or bytes were lost. So nothing here depends on where a block begins: chunks lie
end to end, and up to six zero bytes may lie before one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from tuimon.model.points import Damage

BLOCK = 32768
HEADER = 7
MAX_PAYLOAD = BLOCK - HEADER
MAX_RECORD = 256 << 20
"""Bytes; no logger writes a record that long, so a longer one is damage."""

_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_CHUNK = struct.Struct("<IHB")
_ENOUGH = BLOCK
"""Bytes in which the chunk that waits for its end has it."""
_WINDOW = 1 << 16
"""Bytes that one step of a search for the next chunk looks at."""
_WINDOW_TRIES, _WINDOW_WORK = 2048, 8 << 20
"""How many checksums, over how many bytes, one step may try: noise has some 500 places that look like a chunk."""
_SEARCH_AGAIN = 4096
"""Bytes that must come before a search without a result is made again."""

Record: TypeAlias = tuple[int, bytes, int, int]
"""(offset of its first chunk in the file, data, start, end): its payload is data[start:end]."""


class Records(Struct, eq=False):
    """What was found, in file order when it is iterated over. Nearly all records are one chunk: these share what was
    fed, so that one which nobody wants is never copied, and lie in lists of their own, for who looks at many at once.
    """

    data: bytes
    offset: int
    """Of `data` in the file."""
    starts: list[int] = []
    ends: list[int] = []
    """The records of one chunk: data[start:end]."""
    others: list[tuple[int, Record | Damage]] = []
    """(how many of those come before it, a record of several chunks or what is damaged)."""

    def add(self, other: Record | Damage) -> None:
        self.others.append((len(self.starts), other))

    def apart(self, places: Iterable[int]) -> list[tuple[int, Record | Damage]]:
        """`others`, and with them the records of one chunk at these places."""
        starts, ends, first = self.starts, self.ends, self.offset - HEADER
        chosen = [(at, (first + starts[at], self.data, starts[at], ends[at])) for at in places]
        return sorted([*self.others, *chosen], key=itemgetter(0))

    def __iter__(self) -> Iterator[Record | Damage]:
        return (found for _, found in self.apart(range(len(self.starts))))


class LogBlocks:
    """Cuts a growing file into its records. A chunk whose end has not come yet waits for it; a damaged one is passed
    over, up to the next whole FULL or FIRST chunk. Holds at most one chunk and the parts of one record.
    """

    def __init__(self, head: bytes) -> None:
        """`head`: what the file must begin with (it may leave out the version byte)."""
        self._head = head
        self._begun = False
        self._buffer = b""
        self._offset = 0  # of the buffer's first byte in the file
        self._parts: list[bytes] = []
        self._parts_size = 0
        self._parts_offset = 0
        self._lost = False  # the record whose parts come now is already counted as damage
        self._bad_from = -1  # where the damage began that is not behind us yet, or -1
        self._bad_told = False
        self._search_at = 0  # size of the buffer at which another search is worth its time

    def feed(self, data: bytes) -> Records:
        """The records that are whole now, and the damage between them, in file order."""
        if not self._buffer or len(data) < 2 * _ENOUGH:
            self._buffer += data
            return self._walk(at_rest=False)
        self._buffer += data[:_ENOUGH]
        first = self._walk(at_rest=False)
        done = _ENOUGH - len(self._buffer)
        if done < 0:
            self._buffer += data[_ENOUGH:]
            found = self._walk(at_rest=False)
        else:  # the rest is read where it lies: to copy it costs as much as its checksums
            self._buffer, self._offset = data, self._offset - done
            found = self._walk(at_rest=False, at=done)
        found.others = [*((0, one) for one in first), *found.others]
        return found

    def flush(self) -> Records:
        """The file is at rest: a chunk that waits for its end is damaged if a whole one follows it."""
        return self._walk(at_rest=True)

    def _walk(self, at_rest: bool, at: int = 0) -> Records:
        """Read chunk after chunk from there on, and leave in the buffer what has to wait."""
        buffer, end, base = self._buffer, len(self._buffer), self._offset
        out = Records(buffer, base)
        if not self._begun:
            if end < HEADER:
                return out
            self._begun, at = True, HEADER
            if not buffer.startswith(self._head):
                out.add(Damage(0, HEADER, "file header wrong", records=0))
        view, crc32, unpack = memoryview(buffer), zlib.crc32, _CHUNK.unpack_from
        while end - at >= HEADER:
            if self._bad_from < 0:
                if not self._parts:
                    before, at = at, _full_chunks(buffer, at, out)
                    self._lost = self._lost and at == before
                    if end - at < HEADER:
                        break
                crc, length, kind = unpack(buffer, at)
                stop = at + HEADER + length
                possible = 1 <= kind <= _LAST and length <= MAX_PAYLOAD
                if possible and stop > end and not at_rest:
                    break
                if possible and stop <= end and crc32(view[at + 6 : stop]) == crc:
                    self._chunk(kind, base + at, buffer[at + HEADER : stop], out)
                    at = stop
                    continue
                padding = _padding(buffer, at)
                if padding:
                    at += padding
                    continue
                if padding is None and not at_rest:
                    break
                if padding is None or (possible and stop > end):  # torn, unless something whole follows
                    found, _ = _search(buffer, at + 1, base)
                    if found is None:
                        break
                self._bad_from, self._bad_told, self._search_at, self._parts = base + at, False, 0, []
            if end - at < self._search_at and not at_rest:
                break
            found, keep = _search(buffer, at, base)
            if found is None:
                at = keep
                self._search_at = end - keep + _SEARCH_AGAIN
                break
            at = found
            self._tell_damage(base + at, out)
            self._bad_from = -1
        if at_rest and self._bad_from >= 0:
            self._tell_damage(base + end, out)
        self._buffer = buffer[at:]
        self._offset += at
        return out

    def _tell_damage(self, until: int, out: Records) -> None:
        if not self._bad_told:
            out.add(Damage(self._bad_from, until - self._bad_from, "chunk damaged"))
        self._bad_told = True

    def _chunk(self, kind: int, offset: int, payload: bytes, out: Records) -> None:
        """A valid chunk: a record, or a part of one."""
        if kind in (_FULL, _FIRST):
            if self._parts:
                length = offset - self._parts_offset
                out.add(Damage(self._parts_offset, length, "record without its end"))
                self._parts = []
            self._lost = False
            if kind == _FULL:
                out.add((offset, payload, 0, len(payload)))
            else:
                self._parts, self._parts_size, self._parts_offset = [payload], len(payload), offset
        elif self._parts:
            self._parts.append(payload)
            self._parts_size += len(payload)
            if self._parts_size > MAX_RECORD:
                out.add(Damage(self._parts_offset, self._parts_size, "record too long"))
                self._parts, self._lost = [], True
            elif kind == _LAST:
                payload = b"".join(self._parts)
                out.add((self._parts_offset, payload, 0, len(payload)))
                self._parts = []
        elif not self._lost:
            out.add(Damage(offset, HEADER + len(payload), "record without its beginning"))
            self._lost = True


def _full_chunks(buffer: bytes, at: int, out: Records) -> int:
    """Where the whole FULL chunks end that lie one behind the other from `at` on, as nearly all chunks do."""
    add_start, add_end = out.starts.append, out.ends.append
    view, crc32, unpack, end = memoryview(buffer), zlib.crc32, _CHUNK.unpack_from, len(buffer)
    while end - at >= HEADER:
        crc, length, kind = unpack(buffer, at)
        stop = at + HEADER + length
        if kind != _FULL or stop > end or length > MAX_PAYLOAD or crc32(view[at + 6 : stop]) != crc:
            break
        add_start(at + HEADER)
        add_end(stop)
        at = stop
    return at


def _padding(buffer: bytes, at: int) -> int | None:
    """How many zero bytes, up to six, lie before the next whole chunk; 0 if there is none, None if it may yet come."""
    unknown = False
    for count in range(1, HEADER):
        if buffer[at + count - 1]:
            break
        whole = _whole(buffer, at + count)
        if whole:
            return count
        unknown = unknown or whole is None
    return None if unknown else 0


def _whole(buffer: bytes, at: int) -> bool | None:
    """Is this a chunk with the right checksum? None: its end has not come yet."""
    if at + HEADER > len(buffer):
        return None
    crc, length, kind = _CHUNK.unpack_from(buffer, at)
    if not 1 <= kind <= _LAST or length > MAX_PAYLOAD:
        return False
    stop = at + HEADER + length
    return None if stop > len(buffer) else zlib.crc32(memoryview(buffer)[at + 6 : stop]) == crc


def _search(buffer: bytes, start: int, base: int) -> tuple[int | None, int]:
    """(where the next whole FULL or FIRST chunk begins, or None; the first place that may turn out to be one later).

    `base` is the buffer's offset in the file.
    """
    keep = max(start, len(buffer) - HEADER + 1)
    for window in range(start, len(buffer) - HEADER + 1, _WINDOW):
        found, waiting = _search_window(buffer, window, base)
        if found is not None:
            return found, keep
        keep = min(keep, waiting)
    return None, keep


def _search_window(buffer: bytes, start: int, base: int) -> tuple[int | None, int]:
    """Like _search, for chunks that begin in one window.

    Hostile bytes can look like a chunk at every place, so the checksums tried are limited; after that only what may
    begin a block is tried.
    """
    data = np.frombuffer(buffer[start : start + _WINDOW + HEADER - 1], np.uint8)
    kind = data[6:]
    length = data[4:-2].astype(np.int64) | (data[5:-1].astype(np.int64) << 8)
    places = np.flatnonzero(((kind == _FULL) | (kind == _FIRST)) & (length <= MAX_PAYLOAD))
    stops = places + (start + HEADER) + length[places]
    places += start
    torn = stops > len(buffer)
    waiting = int(places[torn][0]) if torn.any() else len(buffer)
    places, stops = places[~torn], stops[~torn]
    block = (places + base) % BLOCK
    tried = (np.cumsum(stops - places) <= _WINDOW_WORK) | (block == 0) | (block == HEADER)
    tried &= (np.arange(len(places)) < _WINDOW_TRIES) | (block == 0) | (block == HEADER)
    view = memoryview(buffer)
    for place, stop in zip(places[tried].tolist(), stops[tried].tolist(), strict=True):
        if zlib.crc32(view[place + 6 : stop]) == _CHUNK.unpack_from(buffer, place)[0]:
            return place, waiting
    return None, waiting
