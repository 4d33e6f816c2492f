"""Which records of a `.wandb` file are nothing but a number and a body, told for many of them at once.

    08 <number> <key> <length> <body>       key: 12 a history row, 1a a summary

Nearly all are: of three records one is a row, and two are summaries that repeat it, which nobody reads.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.formats._protobuf import BYTES

Indices: TypeAlias = npt.NDArray[np.int64]

HISTORY, SUMMARY = 2, 3
_SHOWN = 16
"""Bytes looked at: two keys, a number of up to seven bytes, a length of up to three, in words of eight. No shorter
record is told."""
_LENGTH_BYTES = 3
_ONE, _BYTE = np.uint64(1), np.uint64(255)
_CLOSE_A_NUMBER = np.uint64(0x8080808080808000)
"""The bits that tell in the bytes behind the first key that a number goes on; the one that is not set ends it."""


def glance(data: bytes, starts: Indices, ends: Indices) -> tuple[Indices, Indices]:
    """(HISTORY or SUMMARY for each record data[start:end] that is plain, where the body of each of those begins). 0 for
    any other, and for one that a glance does not tell."""
    kinds = np.zeros(len(starts), np.int64)
    if len(data) < _SHOWN:
        return kinds, kinds
    words = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))  # eight bytes from any byte on
    begins = np.minimum(starts, len(data) - _SHOWN)
    first = words[begins]
    closing = ~first & _CLOSE_A_NUMBER
    closing &= ~closing + _ONE  # the lowest
    key_at = begins + (np.frexp(closing.astype(np.float64))[1] >> 3)
    told = words[key_at]
    body, length, going = key_at + 1, np.zeros(len(starts), np.int64), np.ones(len(starts), np.bool_)
    for at in range(1, 1 + _LENGTH_BYTES):
        byte = (told >> np.uint64(8 * at)).astype(np.int64) & 255
        length |= np.where(going, (byte & 127) << 7 * (at - 1), 0)
        body += going
        going &= byte > 127
    good = (first & _BYTE == 0x08) & (closing > 0) & ~going & (body + length == ends) & (ends - starts >= _SHOWN)
    key = (told & _BYTE).astype(np.int64)
    kind = key >> 3
    good &= ((kind == HISTORY) | (kind == SUMMARY)) & (key & 7 == BYTES)
    kinds[good] = kind[good]
    return kinds, body
