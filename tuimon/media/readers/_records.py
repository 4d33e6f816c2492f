"""Records of log files, read in bounded pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from tuimon.formats._shared.log_blocks import LogBlocks
from tuimon.formats.tensorboard._records import FOOTER, HEADER, find_header, is_intact, record_length
from tuimon.media.limits import CHUNK
from tuimon.model.points import Damage

_MAX_RECORD = 32 << 20
"""Bytes; longer records of an event file are skipped."""
_CHECKED = 1 << 20
"""The checksum of longer records is not verified: they are images, of which only sizes are shown."""


def event_records(file: BinaryIO, advance: Callable[[int], None] = lambda count: None) -> Iterator[tuple[int, bytes]]:
    """Yield (offset in the file, data) of the intact records of an event file from its position on.

    Damaged ones, and the incomplete one at the end, are skipped. advance: see `Reader.items`.
    """
    buffer, start, base = b"", 0, file.tell()  # base: offset of the buffer in the file
    reported = base
    while True:
        while len(buffer) - start >= HEADER:
            length = record_length(buffer[start : start + HEADER])
            if length < 0:
                found = find_header(buffer, start + 1)
                start = found if found >= 0 else len(buffer) - HEADER + 1
                continue
            end = start + HEADER + length
            if length > _MAX_RECORD:
                base = file.seek(end + FOOTER - len(buffer), 1)
                buffer, start = b"", 0
                break
            if end + FOOTER > len(buffer):
                break
            if length > _CHECKED or is_intact(buffer, start + HEADER, end):
                yield base + start + HEADER, buffer[start + HEADER : end]
            start = end + FOOTER
        advance(file.tell() - reported)
        reported = file.tell()
        more = file.read(CHUNK)
        if not more:
            return
        buffer, start, base = buffer[start:] + more, 0, base + start


def block_records(path: str, magic: bytes, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the intact records of a `.wandb` or `.swanlab` file. advance: see `Reader.items`."""
    blocks = LogBlocks(magic)
    with open(path, "rb") as file:
        if file.read(len(magic)) != magic:
            return
        file.seek(0)
        while data := file.read(CHUNK):
            for record in blocks.feed(data):
                if not isinstance(record, Damage):
                    _, bytes_, start, end = record
                    yield bytes(bytes_[start:end])
            advance(len(data))
