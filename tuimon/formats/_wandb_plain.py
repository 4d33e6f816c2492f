"""Which records of a `.wandb` file are nothing but a number and a body, told for many of them at once.

    08 <number> <key> <length> <body>       key: 12 a history row, 1a a summary

Nearly all are: of three records one is a row, and two are summaries that repeat it, which nobody reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tuimon.formats._log_blocks import Record
from tuimon.formats._protobuf import BYTES
from tuimon.model.points import Damage

Indices: TypeAlias = npt.NDArray[np.int64]

HISTORY, SUMMARY = 2, 3
_SHOWN = 16
"""Bytes looked at: two keys, a number of up to seven bytes, a length of up to three, in words of eight. No shorter
record is told."""
_LENGTH_BYTES = 3
_FEW = 32
"""Records of which it does not pay to look at all at once."""
_ONE, _BYTE = np.uint64(1), np.uint64(255)
_CLOSE_A_NUMBER = np.uint64(0x8080808080808000)
"""The bits that tell in the bytes behind the first key that a number goes on; the one that is not set ends it."""


def glance(records: Sequence[Record | Damage]) -> tuple[list[int], list[int]]:
    """(HISTORY or SUMMARY for each record that is plain, where the body of each of those begins in its data). 0 for any
    other, for one that a glance does not tell, and for all where there is damage among them."""
    none = [0] * len(records)
    if len(records) < _FEW or Damage in map(type, records):
        return none, none
    _, sources, starts, ends = zip(*cast("Sequence[Record]", records), strict=True)
    begins = np.array(starts)
    shared = np.flatnonzero(begins > 0)  # the record lies in what was fed; else it has its own data
    kinds, bodies = np.zeros((2, len(records)), np.int64)
    if len(shared):
        kinds[shared], bodies[shared] = _plain(sources[shared[0]], begins[shared], np.array(ends)[shared])
    return kinds.tolist(), bodies.tolist()


def _plain(data: bytes, starts: Indices, ends: Indices) -> tuple[Indices, Indices]:
    """(n,), (n,): see `glance`, of the records data[starts:ends]."""
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
