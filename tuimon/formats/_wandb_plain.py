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
from tuimon.model.points import Damage

Indices: TypeAlias = npt.NDArray[np.int64]

HISTORY, SUMMARY = 2, 3
_SHOWN = 12
"""Bytes looked at: two keys, a number of up to seven bytes, a length of up to three."""
_LENGTH_BYTES = 3
_FEW = 32
"""Records of which it does not pay to look at all at once."""
_ROOM = np.arange(_SHOWN)


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
    shown = np.frombuffer(data, np.uint8)[np.minimum(starts, len(data) - _SHOWN)[:, None] + _ROOM]
    more = shown > 127
    row = np.arange(len(starts))
    key_at = 2 + np.argmin(more[:, 1 : _SHOWN - _LENGTH_BYTES - 1], axis=1)  # 2, which fails, where no byte ends it
    key = shown[row, key_at]
    body, length, going = key_at + 1, np.zeros(len(starts), np.int64), np.ones(len(starts), np.bool_)
    for at in range(_LENGTH_BYTES):
        byte = shown[row, key_at + 1 + at].astype(np.int64)
        length |= np.where(going, (byte & 127) << 7 * at, 0)
        body += going
        going &= byte > 127
    good = (shown[:, 0] == 0x08) & ~more[row, key_at - 1] & ~going & (starts + body + length == ends)
    good &= ends - starts >= _SHOWN
    kind = key >> 3
    good &= ((kind == HISTORY) | (kind == SUMMARY)) & (key & 7 == 2)
    kinds[good] = kind[good]
    return kinds, starts + body
