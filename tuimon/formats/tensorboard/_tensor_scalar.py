"""Decoding of a scalar in a TensorProto (tensorflow/core/framework/tensor.proto, types.proto)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tuimon.formats._shared.protobuf import BYTES, VARINT, fields, signed, varint

_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_DTYPES = {
    1: ("<f4", 5), 2: ("<f8", 6), 3: ("<i4", 7), 4: ("<u1", 7), 5: ("<i2", 7), 6: ("<i1", 7), 9: ("<i8", 10),
    10: ("<u1", 11), 14: ("bf", 13), 17: ("<u2", 7), 19: ("<f2", 13), 22: ("<u4", 16), 23: ("<u8", 17),
}  # fmt: skip
"""DataType -> (numpy dtype of an element in tensor_content, "bf" for bfloat16; number of the field that may hold the
elements instead: float_val, double_val, int_val …)."""
_FIXED = (5, 6)
"""Of these fields those whose elements are no varints."""


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
    name, list_number = _DTYPES[dtype]
    spans = [(first, stop) for number, _, first, stop in lists if number == list_number and stop > first]
    if content is not None:
        first, stop = content
    elif len(spans) == 1:
        first, stop = spans[0]
        if list_number not in _FIXED:
            value, after = varint(data, first, stop)
            return TensorScalar(_number(value.to_bytes(8, "little"), name), -1, "") if after == stop else None
    else:
        return None
    return TensorScalar(_number(data[first:stop], name), first, name) if stop - first == _size(name) else None


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


def _size(name: str) -> int:
    return 2 if name == "bf" else np.dtype(name).itemsize


def _number(element: bytes, name: str) -> float:
    """Return the number in the first bytes of an element. A bfloat16 is the upper half of a float32."""
    if name == "bf":
        return float(np.frombuffer(b"\0\0" + element[:2], "<f4")[0])
    return float(np.frombuffer(element, name, 1)[0])
