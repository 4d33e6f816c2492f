"""Numbers in protobuf messages: packed doubles, and tensors of floats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tuimon.formats._shared.protobuf import BYTES, FIXED64, VARINT, fields, varint

_DTYPES = {1: ("<f4", 5), 2: ("<f8", 6)}
"""DataType -> (numpy dtype, number of the field that may hold the elements instead of tensor_content)."""
_MAX_BYTES = 8 << 20

Numbers = npt.NDArray[np.float64]


def doubles(data: bytes, wire: int, start: int, end: int) -> list[float]:
    """Return the value of a repeated double field, packed or single; an empty list for other wire types."""
    if wire not in (BYTES, FIXED64) or (end - start) % 8 or end - start > _MAX_BYTES:
        return []
    values: list[float] = np.frombuffer(data, "<f8", (end - start) // 8, start).tolist()
    return values


def tensor(data: bytes, start: int, end: int) -> Numbers | None:
    """Return the elements of a TensorProto of float or double, in its shape; None if it is another tensor. Raises
    FormatError if the message is malformed."""
    dtype, shape, content = 0, [], b""
    listed: dict[int, bytes] = {}
    for number, wire, first, stop in fields(data, start, end):
        if number == 1 and wire == VARINT:
            dtype = varint(data, first, stop)[0]
        elif number == 2 and wire == BYTES:
            shape = _sizes(data, first, stop)
        elif stop - first > _MAX_BYTES:
            return None
        elif number == 4 and wire == BYTES:
            content = data[first:stop]
        elif number in (5, 6):
            listed[number] = listed.get(number, b"") + data[first:stop]
    if dtype not in _DTYPES:
        return None
    name, place = _DTYPES[dtype]
    raw = content or listed.get(place, b"")
    if len(raw) % np.dtype(name).itemsize:
        return None
    with np.errstate(invalid="ignore"):  # a signalling NaN
        values = np.frombuffer(raw, name).astype(np.float64)
    size = int(np.prod(shape, dtype=np.int64)) if shape else len(values)
    if any(length < 0 for length in shape) or size != len(values):
        return None
    return values.reshape(shape) if shape else values


def strings(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return (start, end) of each string of a string tensor."""
    return [(first, stop) for number, wire, first, stop in fields(data, start, end) if number == 8 and wire == BYTES]


def _sizes(data: bytes, start: int, end: int) -> list[int]:
    sizes = []
    for number, wire, first, stop in fields(data, start, end):
        if number == 2 and wire == BYTES:
            size = 0
            for inner, inner_wire, begin, until in fields(data, first, stop):
                if inner == 1 and inner_wire == VARINT:
                    size = varint(data, begin, until)[0]
            sizes.append(size if size < 1 << 31 else -1)
    return sizes[:8]
