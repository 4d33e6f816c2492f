"""Decoding of a scalar in a TensorProto (tensorflow/core/framework/tensor.proto, types.proto)."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

import numpy as np

from tuimon.formats._shared.protobuf import BYTES, VARINT, fields, signed, varint

_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_DTYPES = {
    1: ("<f4", 5), 2: ("<f8", 6), 3: ("<i4", 7), 4: ("<u1", 7), 5: ("<i2", 7), 6: ("<i1", 7), 9: ("<i8", 10),
    10: ("<u1", 11), 14: ("<u2", 13), 17: ("<u2", 7), 19: ("<f2", 13), 22: ("<u4", 16), 23: ("<u8", 17),
}  # fmt: skip
"""DataType -> (numpy dtype of an element in tensor_content, number of the field that may hold the elements instead:
float_val, double_val, int_val …)."""
_FLOAT, _DOUBLE, _BOOL, _BFLOAT16, _HALF, _UINT32, _UINT64 = 1, 2, 10, 14, 19, 22, 23


class TensorScalar(NamedTuple):
    value: float
    offset: int
    """Position of the element's bytes, -1 if it is a varint."""
    dtype: str
    """Type of the bytes as a numpy dtype; "bf" is bfloat16."""


def tensor_scalar(data: bytes, start: int, end: int) -> TensorScalar | None:
    """Return the only element of the tensor message data[start:end]; None unless it has exactly one real number. bool,
    half, bfloat16, float, double and all integers up to 64 bits are supported. Raises FormatError if the message is
    malformed."""
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
    if dtype not in _DTYPES or elements != 1:
        return None
    if content is not None:
        return _fixed(data, *content, dtype)
    element_fields = [(first, stop) for number, _, first, stop in lists if number == _DTYPES[dtype][1] and stop > first]
    if len(element_fields) != 1:
        return None
    first, stop = element_fields[0]
    if dtype in (_FLOAT, _DOUBLE):
        return _fixed(data, first, stop, dtype)
    value, after = varint(data, first, stop)
    return TensorScalar(_from_varint(value, dtype), -1, "") if after == stop else None


def _element_count(data: bytes, start: int, end: int) -> int:
    """Product of the dimensions of a TensorShapeProto; -1 if it is unknown."""
    sizes = []
    for number, wire, first, stop in fields(data, start, end):
        if number == 3 and wire == VARINT and varint(data, first, stop)[0]:
            return -1
        if number == 2 and wire == BYTES:
            size = 0
            for inner, inner_wire, begin, until in fields(data, first, stop):
                if inner == 1 and inner_wire == VARINT:
                    size = signed(varint(data, begin, until)[0])
            sizes.append(size)
            if len(sizes) > 254:
                return -1
    return -1 if any(size != 1 for size in sizes) else 1


def _fixed(data: bytes, start: int, end: int, dtype: int) -> TensorScalar | None:
    name = _DTYPES[dtype][0]
    if end - start != np.dtype(name).itemsize:
        return None
    if dtype == _BFLOAT16:
        return TensorScalar(_bfloat16(struct.unpack_from("<H", data, start)[0]), start, "bf")
    return TensorScalar(float(np.frombuffer(data, name, 1, start)[0]), start, name)


def _from_varint(value: int, dtype: int) -> float:
    if dtype == _BFLOAT16:
        return _bfloat16(value & 0xFFFF)
    if dtype == _HALF:
        return float(struct.unpack("<e", struct.pack("<H", value & 0xFFFF))[0])
    if dtype in (_UINT32, _UINT64):
        return float(value)
    if dtype == _BOOL:
        return float(value != 0)
    return float(signed(value))


def _bfloat16(bits: int) -> float:
    """Convert the upper half of a float32."""
    value: float = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return math.nan if value != value else value
