"""A TensorBoard event file, written by hand.

A file is a row of TFRecords: uint64 length, masked CRC-32C of the length, the data, masked CRC-32C of the data, all
little-endian (tensorflow/core/lib/io/record_writer.h). The data is a protobuf `Event`
(tensorflow/core/util/event.proto): wall_time = 1 (double), step = 2 (int64), file_version = 3, summary = 5; a `Summary`
holds values = 1 of tag = 1 and simple_value = 2 (float) (tensorflow/core/framework/summary.proto). As torch's
SummaryWriter does, each scalar is an event of its own.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

_BYTES = 2  # wire type of a length-delimited field


def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # Castagnoli's polynomial, bits reversed
        table.append(value)
    return tuple(table)


_TABLE = _crc_table()


def masked_crc32c(data: bytes) -> int:
    """CRC-32C, rotated right by 15 bits plus a constant, as TFRecords hold it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[crc & 0xFF ^ byte]
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


@cache
def _length_header(length: int) -> bytes:
    header = struct.pack("<Q", length)
    return header + struct.pack("<I", masked_crc32c(header))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


@cache
def _tag(tag: str) -> bytes:
    return _field(1, tag.encode())


class EventFile:
    """Writes one event file. `flush` makes what was written visible to a reader."""

    def __init__(self, directory: Path) -> None:
        """Begins `events.out.tfevents.<time>.<host>.<pid>.0` in `directory`."""
        now = time.time()
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.0"
        self._file = self.path.open("xb")
        self._event(now, 0, _field(3, b"brain.Event:2"))
        self.flush()

    def scalars(self, values: Mapping[str, float], step: int, wall_time: float) -> None:
        """One point for each tag; a float32 in the file."""
        with np.errstate(over="ignore"):
            for tag, value in values.items():
                simple_value = b"\x15" + np.float32(value).tobytes()
                self._event(wall_time, step, _field(5, _field(1, _tag(tag) + simple_value)))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _event(self, wall_time: float, step: int, what: bytes) -> None:
        data = b"\x09" + struct.pack("<d", wall_time) + b"\x10" + _varint(step) + what
        self._file.write(_length_header(len(data)) + data + struct.pack("<I", masked_crc32c(data)))
