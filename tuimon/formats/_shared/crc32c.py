"""CRC-32C (Castagnoli), and the contributions of single bytes to it.

TFRecord stores it "masked": rotated right by 15 bits plus a constant, so that checksums of data that contains checksums
remain reliable (leveldb/util/crc32c.h).

The register is linear over GF(2): the contribution of a byte depends only on its value and its distance from the end of
the message. `contributions` tabulates it, so that a message that differs from a known one in a few bytes is checked by
looking up these bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int64]

_MASK_DELTA = 0xA282EAD8


def crc32c(data: bytes) -> int:
    """Return the checksum of a message."""
    return int(_checksum()(data))


@cache
def _checksum() -> Callable[[bytes], int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that it is slower without its C extension
        from google_crc32c import value

    return value  # type: ignore[no-any-return]


def register(data: bytes) -> int:
    """Return the combination of the contributions of all bytes of a message: the register after it, from the initial
    value 0. The initial value of a checksum is as if the first four bytes were inverted."""
    return crc32c(data) ^ crc32c(bytes(len(data)))


def masked(crc: int) -> int:
    """Return a checksum in the form that TFRecord stores."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def unmasked(stored: Words) -> Words:
    """Convert stored checksums to plain ones."""
    rotated = stored - np.uint32(_MASK_DELTA)
    return (rotated >> np.uint32(17)) | (rotated << np.uint32(15))


@cache
def contributions(power: int) -> Words:
    """(2**power, 256): contribution of a byte to the checksum, by the number of bytes that follow it and its value."""
    if power == 2:
        return np.array([[register(bytes((byte, *bytes(after)))) for byte in range(256)] for after in range(4)], "<u4")
    near = contributions(power - 1)
    # a register is as if its four bytes came next
    far = near[-1][near & 255] ^ near[-2][near >> 8 & 255] ^ near[-3][near >> 16 & 255] ^ near[-4][near >> 24]
    return np.concatenate([near, far])
