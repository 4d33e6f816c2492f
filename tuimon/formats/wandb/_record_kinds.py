"""Identification of the records of a `.wandb` file that hold only a number and a body, many at once.

    08 <number> <key> <length> <body>       key: 12 a history row, 1a a summary

Nearly all records do. Of three, one is a row and two are summaries that repeat it and are not read.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.formats._shared.protobuf import BYTES

Indices: TypeAlias = npt.NDArray[np.int64]

HISTORY, SUMMARY = 2, 3
_MIN_SIZE = 16
"""Bytes examined, in words of eight: two keys, a number of up to seven bytes, a length of up to three. Shorter records
are not identified."""
_LENGTH_BYTES = 3
_ONE, _BYTE = np.uint64(1), np.uint64(255)
_CONTINUATION_BITS = np.uint64(0x8080808080808000)
"""The continuation bits of the bytes after the first key; the first that is not set marks the end of the number."""


def record_kinds(data: bytes, starts: Indices, ends: Indices) -> tuple[Indices, Indices]:
    """Return (HISTORY or SUMMARY for each record data[start:end], start of its body); 0 for records not identified."""
    kinds = np.zeros(len(starts), np.int64)
    if len(data) < _MIN_SIZE:
        return kinds, kinds
    words = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))  # eight bytes from any position
    begins = np.minimum(starts, len(data) - _MIN_SIZE)
    first = words[begins]
    closing = ~first & _CONTINUATION_BITS
    closing &= ~closing + _ONE  # the lowest
    key_position = begins + (np.frexp(closing.astype(np.float64))[1] >> 3)
    following = words[key_position]
    body, length, going = key_position + 1, np.zeros(len(starts), np.int64), np.ones(len(starts), np.bool_)
    for index in range(1, 1 + _LENGTH_BYTES):
        byte = (following >> np.uint64(8 * index)).astype(np.int64) & 255
        length |= np.where(going, (byte & 127) << 7 * (index - 1), 0)
        body += going
        going &= byte > 127
    good = (first & _BYTE == 0x08) & (closing > 0) & ~going & (body + length == ends) & (ends - starts >= _MIN_SIZE)
    key = (following & _BYTE).astype(np.int64)
    kind = key >> 3
    good &= ((kind == HISTORY) | (kind == SUMMARY)) & (key & 7 == BYTES)
    kinds[good] = kind[good]
    return kinds, body
