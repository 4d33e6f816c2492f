"""Many W&B history rows at once, by numpy: what _wandb_history reads row by row.

Every item of a row is `0a <length> <key fields> 82 01 <length> <JSON text>`. The places of the tag 82 01 are found in
all rows together, and each is held against the lengths around it: an item that comes out exactly, whose key is known to
the byte, and whose text begins as a number does, needs no Python of its own. The texts are parsed as one JSON array:
all else in the buffer is overwritten by blanks. A row in which anything else stands is left to the caller.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
from msgspec import Struct

from tuimon.formats._protobuf import BYTES
from tuimon.model.points import Floats

Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]

LONGEST_KEY = 127
_WORDS = 16
_PAD = 300
"""Bytes behind the rows: what a false length may point to."""
_MOST_KEYS = 1 << 12
_ITEM, _STEP, _NUMBER = 1 << 3 | BYTES, 2 << 3 | BYTES, 1 << 3
_TAG = 0x82, 0x01
_BLANK = ord(" ")
_BLANKS = np.uint64(0x2020202020202020)
_WIDE = 64
"""Bytes between two texts; few have more between them."""
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.array(
    [[(1 << 8 * min(8, max(0, size - 8 * at))) - 1 for size in range(LONGEST_KEY + 1)] for at in range(_WORDS)],
    np.uint64,
)
"""[word, bytes of a key]: which of the bytes of its words belong to a key."""
_STARTS_NUMBER = np.zeros(256, np.bool_)
_STARTS_NUMBER[list(b"-0123456789")] = True


class Batch(Struct, frozen=True, eq=False):
    """Items of several rows, in their order."""

    good: Mask
    """(rows,): was the row read? Only then do the items below include its own."""
    counts: Indices
    """(rows,): its items; 0 for one that was not read."""
    keys: Indices
    """(items,): number of the key, in the order of `Keys.add`."""
    values: Floats
    steps: Indices
    """(rows,), where the row has a step."""
    has_step: Mask


class Keys:
    """The keys that are known, each by the bytes of its fields in an item."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._words = np.zeros((_WORDS, 0), np.uint64)
        self._table = np.full(1, -1, np.int32)
        self._shift = np.uint64(63)
        self._seed = _PRIME
        self._widest = 1

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: bytes) -> bool:
        return key in self._numbers

    def add(self, keys: Iterable[bytes]) -> None:
        """More of them, numbered from len(self) on. Those too long, or too many, stay unknown: see `fits`."""
        for key in keys:
            self._numbers.setdefault(key, len(self._numbers))
        padded = b"".join(key.ljust(8 * _WORDS, b"\0") for key in self._numbers)
        self._words = np.ascontiguousarray(np.frombuffer(padded, "<u8").reshape(-1, _WORDS).T)
        self._widest = max(-(-len(key) // 8) for key in self._numbers)
        lengths = np.array([len(key) for key in self._numbers], np.uint64)
        for bits in range(12, 23):
            for seed in (_PRIME, _PRIME ^ np.uint64(0x5851F42D4C957F2D << 1)):
                self._seed, self._shift = seed, np.uint64(64 - bits)
                slots = self._slots(lengths, [self._words[at] for at in range(self._widest)])
                if len(np.unique(slots)) == len(slots):
                    self._table = np.full(1 << bits, -1, np.int32)
                    self._table[slots] = np.arange(len(slots))
                    return

    def fits(self, key: bytes) -> bool:
        """May it be added?"""
        return 0 < len(key) <= LONGEST_KEY and len(self._numbers) < _MOST_KEYS

    def find(self, words: Words, starts: Indices, lengths: Indices) -> Indices:
        """The number of each key, -1 for one that is unknown. words: one from every byte on."""
        found = [words[starts + 8 * at] & _FIRST[at][lengths] for at in range(self._widest)]
        numbers = self._table[self._slots(lengths.astype(np.uint64), found)].astype(np.int64)
        same = (numbers >= 0) & (lengths <= 8 * self._widest)
        for at, word in enumerate(found):
            same &= self._words[at][numbers] == word
        return np.where(same, numbers, -1)

    def _slots(self, lengths: Words, words: list[Words]) -> npt.NDArray[np.uint64]:
        mixed = lengths * self._seed
        for word in words:
            mixed = (mixed ^ word) * self._seed
            mixed ^= mixed >> np.uint64(29)
        return (mixed * self._seed) >> self._shift


def read_rows(rows: list[bytes], keys: Keys, odd: Callable[[int, bytes], float | None]) -> Batch | None:
    """The items of the rows; None where the texts are not what they seem.

    odd: (number of the key, JSON text that does not begin as a number) -> its one value under that key, NaN too; None
    for a text that is no point. Raises ValueError for one that makes its row another one's work.
    """
    data = b"".join([*rows, bytes(_PAD)])
    size = len(data) - _PAD
    ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))
    starts = np.concatenate(([0], ends[:-1]))
    buffer = np.frombuffer(data, np.uint8)
    tags = np.flatnonzero(buffer[:size] == _TAG[0])
    tags = tags[buffer[tags + 1] == _TAG[1]]
    if not len(tags):
        return None
    firsts, counts, row, heads = _in_rows(buffer, tags, starts)
    of_a_step = buffer[heads] == _STEP  # one in 128 steps looks like a tag behind the last item
    if of_a_step.any():
        tags = tags[~of_a_step]
        if not len(tags):
            return None
        firsts, counts, row, heads = _in_rows(buffer, tags, starts)
    some = counts > 0
    begins = tags + 3
    sizes = buffer[tags + 2].astype(np.int64)
    stops = begins + sizes
    lengths = tags - heads - 2
    item = buffer[heads + 1].astype(np.int64)
    exact = (buffer[heads] == _ITEM) & (heads + 2 + item == stops) & (item < 128) & (sizes > 0) & (sizes < 128)
    exact &= (lengths > 0) & (stops <= ends[row])
    words = np.ndarray((len(data) - 7,), "<u8", buffer, 0, (1,))
    numbers = np.where(exact, keys.find(words, heads + 2, np.where(exact, lengths, 1)), -1)
    good = some
    good[row[numbers < 0]] = False
    steps, has_step = _steps(buffer, np.where(some, stops[np.maximum(firsts + counts - 1, 0)], ends), ends, good)
    kept = good[row]
    numeric = _STARTS_NUMBER[buffer[begins]] & ~((buffer[begins] == ord("-")) & (buffer[begins + 1] == ord("I")))
    values = np.full(len(tags), np.nan)
    points = kept.copy()
    for at in np.flatnonzero(kept & ~numeric).tolist():
        try:
            value = odd(int(numbers[at]), data[begins[at] : stops[at]])
        except ValueError:
            good[row[at]] = False
            continue
        points[at] = value is not None
        values[at] = value if value is not None else np.nan
    points &= good[row]
    plain = np.flatnonzero(points & numeric)
    found = _numbers(buffer, begins[plain], stops[plain])
    if found is None:
        return None
    values[plain] = found
    kept_counts = np.bincount(row[points], minlength=len(rows))
    return Batch(good, kept_counts, numbers[points], values[points], steps, has_step)


def _in_rows(buffer: Bytes, tags: Indices, starts: Indices) -> tuple[Indices, Indices, Indices, Indices]:
    """(first tag of each row, tags in each row; row of each tag, where its item begins if the one before is whole)."""
    firsts = np.searchsorted(tags, starts)
    counts = np.diff(firsts, append=len(tags))
    heads = np.concatenate(([0], (tags + 3 + buffer[tags + 2])[:-1]))
    some = counts > 0
    heads[firsts[some]] = starts[some]
    return firsts, counts, np.repeat(np.arange(len(starts)), counts), heads


def _numbers(buffer: Bytes, begins: Indices, stops: Indices) -> Floats | None:
    """The numbers of texts that lie one behind the other; None where one is not just one number."""
    if not len(begins):
        return np.empty(0)
    first, last = int(begins[0]), int(stops[-1])
    array = np.empty(last - first + 2, np.uint8)
    array[0], array[-1] = b"[]"
    text = array[1:-1]
    text[:] = buffer[first:last]
    gaps, widths = stops[:-1] - first, begins[1:] - stops[:-1]
    for start, width in zip(gaps[widths > _WIDE].tolist(), widths[widths > _WIDE].tolist(), strict=True):
        text[start : start + width] = _BLANK
    narrow = gaps[widths < 8], widths[widths < 8]
    for at in range(1, int(narrow[1].max(initial=0))):
        text[narrow[0][narrow[1] > at] + at] = _BLANK
    words: Words = np.ndarray((max(0, len(text) - 7),), "<u8", text, 0, (1,))  # eight bytes from any byte on
    wide, widths = gaps[widths >= 8], np.minimum(widths[widths >= 8], _WIDE)
    for at in range(0, int(widths.max(initial=0)) - 8, 8):
        words[wide[widths > at + 8] + at] = _BLANKS
    words[wide + (widths - 8)] = _BLANKS
    text[gaps] = ord(",")
    try:
        values: list[Any] = orjson.loads(array.data)
        packed = struct.pack(f"{len(begins)}d", *values)  # half the time that np.array takes for a list
    except (orjson.JSONDecodeError, struct.error):  # no JSON, too few or many, or no numbers: "1,[2" and "3]"
        return None
    return np.frombuffer(packed)


def _steps(buffer: Bytes, begins: Indices, ends: Indices, good: Mask) -> tuple[Indices, Mask]:
    """(step, is there one) of what follows the last item of each row: nothing, or the step as its last field. A row in
    which it is something else is no longer `good`."""
    sizes = ends - begins
    body = sizes - 3  # bytes of the number, behind the keys and the length
    empty = (sizes == 2) & (buffer[begins] == _STEP) & (buffer[begins + 1] == 0)  # a zero is left out
    told = (body > 0) & (body < 10) & (buffer[begins] == _STEP)
    told &= (buffer[begins + 1] == body + 1) & (buffer[begins + 2] == _NUMBER)
    steps = np.zeros(len(ends), np.int64)
    for at in range(int(body[told].max(initial=0))):
        byte = buffer[begins + 3 + np.minimum(at, np.maximum(body, 0))].astype(np.int64)
        inside = told & (at < body)
        told &= ~inside | ((byte >= 128) == (at < body - 1))
        steps |= np.where(inside, (byte & 127) << 7 * at, 0)
    good &= (sizes == 0) | empty | told
    return steps, told | empty
