"""CRC-32C (Castagnoli), of one message or of many at once with numpy.

Definition: RFC 3720 appendix B.4; polynomial 0x1EDC6F41, reflected 0x82F63B78, initial value and final xor all ones.
TFRecord and LevelDB store it "masked": rotated right by 15 bits plus a constant, so that checksums of data that
contains checksums remain reliable (leveldb/util/crc32c.h).

The register is linear over GF(2): the contribution of a byte depends only on its value and its distance from the end of
the message. `contributions` tabulates it, so that a message that differs from a known one in a few bytes is checked by
looking up these bytes.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int64]

_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8
_ONES = 0xFFFFFFFF
_SEGMENT = 64  # bytes that pass through the register in sequence; longer messages are split into segments and folded
_LONG = 512  # length (bytes) from which numpy is faster than the loop
_BATCH = 1 << 20  # bytes processed at once by `crc32c_many`: bounds its memory


def _byte_table() -> Words:
    table: Words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


_TABLE = _byte_table()
_TABLE_LIST: list[int] = _TABLE.tolist()


def crc32c(data: bytes) -> int:
    """Return the checksum of one message."""
    if len(data) >= _LONG:
        padded = np.frombuffer(b"\0\0\0" + data, np.uint8)
        return int(crc32c_many(padded, np.array([3]), np.array([len(data)]))[0])
    register = _ONES
    for byte in data:
        register = _TABLE_LIST[(register ^ byte) & 255] ^ (register >> 8)
    return register ^ _ONES


def masked(crc: int) -> int:
    """Return a checksum in the form that TFRecord and LevelDB store."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ONES


def unmasked(stored: Words) -> Words:
    """Convert stored checksums to plain ones."""
    rotated = stored - np.uint32(_MASK_DELTA)
    return (rotated >> np.uint32(17)) | (rotated << np.uint32(15))


@cache
def _zeros_operator(power: int) -> Words:
    """(4, 256): effect of 2**power zero bytes on each byte of the register."""
    if power == 0:
        byte = np.arange(256, dtype=np.uint32)
        return np.stack([_TABLE, byte, byte << 8, byte << 16])
    half = _zeros_operator(power - 1)
    return _advance(half, half)


def _advance(operator: Words, register: Words) -> Words:
    advanced: Words = operator[0][register & 255]
    for byte in range(1, 4):
        advanced = advanced ^ operator[byte][(register >> (8 * byte)) & 255]
    return advanced


@lru_cache(maxsize=4096)
def _initial(length: int) -> int:
    """Contribution of the register's initial value to the checksum of a message of this length."""
    register = np.array([_ONES], np.uint32)
    for power in range(length.bit_length()):
        if length >> power & 1:
            register = _advance(_zeros_operator(power), register)
    return int(register[0])


@cache
def contributions(power: int) -> Words:
    """(2**power, 256): contribution of a byte to the checksum, by the number of bytes that follow it and its value."""
    if power == 0:
        return _TABLE[None, :]
    near = contributions(power - 1)
    return np.concatenate([near, _advance(_zeros_operator(power - 1), near)])


@cache
def _halves() -> tuple[Words, Words]:
    """Contributions of the low and the high half of a 32-bit word after all four bytes of the word."""
    value = np.arange(1 << 16)
    near = contributions(2)
    return near[3][value & 255] ^ near[2][value >> 8], near[1][value & 255] ^ near[0][value >> 8]


def crc32c_many(data: Bytes, starts: Offsets, lengths: Offsets) -> Words:
    """Return the checksums of data[starts[i] : starts[i] + lengths[i]] as uint32 (n,). Requires starts[i] >= 3."""
    unique, inverse = np.unique(lengths, return_inverse=True)
    begun = np.array([_initial(length) for length in unique.tolist()], np.uint32)
    return ~(registers(data, starts, lengths) ^ begun[inverse])


def registers(data: Bytes, starts: Offsets, lengths: Offsets) -> Words:
    """Return the register after each message as for `crc32c_many`, but from the initial value 0: the combination of the
    contributions of all bytes. The initial value of a checksum is as if the first four bytes were inverted."""
    result = np.empty(len(starts), np.uint32)
    levels = np.ceil(np.log2(np.maximum(1, -(-lengths // _SEGMENT)))).astype(np.int64)
    for level in sorted(set(levels.tolist())):
        chosen = np.flatnonzero(levels == level)
        at_once = max(1, _BATCH // (_SEGMENT << level))
        for first in range(0, len(chosen), at_once):
            part = chosen[first : first + at_once]
            result[part] = _registers(data, starts[part], starts[part] + lengths[part], level)
    return result


def _registers(data: Bytes, starts: Offsets, ends: Offsets, level: int) -> Words:
    """Return the register after messages of up to 64 << level bytes, with initial value 0. With that value leading
    zeros change nothing, so all messages are padded in front to one length, split into segments, and the segments are
    folded pairwise."""
    width = _SEGMENT << level
    positions = ends[:, None] + np.arange(-width, 0, 4)
    words: Words = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))[np.maximum(positions, 0)]
    before = np.clip(starts[:, None] - positions, 0, 4).astype(np.uint64) * np.uint64(8)
    words &= ((np.uint64(_ONES) << before) & np.uint64(_ONES)).astype(np.uint32)
    columns = np.ascontiguousarray(words.reshape(-1, _SEGMENT // 4).T)
    low, high = _halves()
    register = np.zeros(columns.shape[1], np.uint32)
    for column in columns:
        halves = (register ^ column).view(np.uint16).reshape(-1, 2)
        register = low[halves[:, 0]] ^ high[halves[:, 1]]
    for fold in range(level):
        pairs = register.reshape(-1, 2)
        register = _advance(_zeros_operator(6 + fold), pairs[:, 0]) ^ pairs[:, 1]
    return register
