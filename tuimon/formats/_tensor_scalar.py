"""A scalar that is written as a TensorProto (tensorflow/core/framework/tensor.proto, types.proto)."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

import numpy as np

from tuimon.formats._protobuf import BYTES, VARINT, fields, signed, varint

_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_BFLOAT16 = 14
_NUMPY = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "<u1",
    5: "<i2",
    6: "<i1",
    9: "<i8",
    10: "<u1",  # bool
    _BFLOAT16: "<u2",
    17: "<u2",
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
"""DataType -> how tensor_content holds one element."""
_LISTS = {
    1: 5,
    2: 6,
    3: 7,
    4: 7,
    5: 7,
    6: 7,
    9: 10,
    10: 11,
    _BFLOAT16: 13,
    17: 7,
    19: 13,
    22: 16,
    23: 17,
}
"""DataType -> field number of the list that may hold the elements instead: float_val, double_val, int_val …"""
_FIXED_LISTS = {1, 2}
"""The two lists whose elements are not varints."""


class TensorScalar(NamedTuple):
    value: float
    offset: int
    """Where the element's bytes are, -1 when it is a varint."""
    dtype: str
    """What the bytes are, as numpy names it; "bf" is bfloat16."""


def tensor_scalar(data: bytes, start: int, end: int) -> TensorScalar | None:
    """The only element of the tensor message data[start:end]; None if it has not exactly one, or is no real number.

    bool, half, bfloat16, float, double and all integers up to 64 bits count. FormatError for a broken message.
    """
    dtype = 0
    elements = 1
    content: tuple[int, int] | None = None
    lists: list[tuple[int, int, int, int]] = []
    for number, wire, first, stop in fields(data, start, end):
        if number == _DTYPE and wire == VARINT:
            dtype = varint(data, first, stop)[0]
        elif number == _SHAPE and wire == BYTES:
            elements = _element_count(data, first, stop)
        elif number == _CONTENT and wire == BYTES:
            content = (first, stop) if stop > first else None
        else:
            lists.append((number, wire, first, stop))
    if dtype not in _NUMPY or elements != 1:
        return None
    if content is not None:
        return _fixed(data, *content, dtype)
    found = [(wire, first, stop) for number, wire, first, stop in lists if number == _LISTS[dtype] and stop > first]
    if len(found) != 1:
        return None
    wire, first, stop = found[0]
    if dtype in _FIXED_LISTS:
        return _fixed(data, first, stop, dtype)
    value, after = varint(data, first, stop)
    return TensorScalar(_from_varint(value, dtype), -1, "") if after == stop else None


def _element_count(data: bytes, start: int, end: int) -> int:
    """Product of the dimensions of a TensorShapeProto; -1 when it is not known."""
    sizes = []
    for number, wire, first, stop in fields(data, start, end):
        if number == 3 and wire == VARINT and varint(data, first, stop)[0]:
            return -1
        if number == 2 and wire == BYTES:
            size = 0
            for inner, inner_wire, at, after in fields(data, first, stop):
                if inner == 1 and inner_wire == VARINT:
                    size = signed(varint(data, at, after)[0])
            sizes.append(size)
            if len(sizes) > 254:
                return -1
    return -1 if any(size != 1 for size in sizes) else 1


def _fixed(data: bytes, start: int, end: int, dtype: int) -> TensorScalar | None:
    kind = np.dtype(_NUMPY[dtype])
    if end - start != kind.itemsize:
        return None
    if dtype == _BFLOAT16:
        return TensorScalar(_bfloat16(struct.unpack_from("<H", data, start)[0]), start, "bf")
    return TensorScalar(float(np.frombuffer(data, kind, 1, start)[0]), start, _NUMPY[dtype])


def _from_varint(value: int, dtype: int) -> float:
    if dtype == _BFLOAT16:
        return _bfloat16(value & 0xFFFF)
    if dtype == 19:
        return float(struct.unpack("<e", struct.pack("<H", value & 0xFFFF))[0])
    if dtype in (22, 23):
        return float(value)
    if dtype == 10:
        return float(value != 0)
    return float(signed(value))


def _bfloat16(bits: int) -> float:
    """The upper half of a float32."""
    value: float = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return math.nan if value != value else value
