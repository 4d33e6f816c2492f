"""Decoding of many W&B history rows at once with numpy; _history decodes single rows.

    row     item* [12 <length> 08 <step>]
    item    0a <length> <key fields> 82 01 <length> <JSON text>         key field: 12 <length> <part of the key>

The positions of the tag 82 01 are searched for in all rows together, and compared with the lengths around them: an item
whose lengths match, whose key is known, and whose text begins like a number is decoded without Python code per item.
The texts are copied into cells of one width, which form a JSON array. Rows with anything else are left to the caller.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
from msgspec import Struct

from tuimon.formats._shared.protobuf import BYTES
from tuimon.model.points import Floats

Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
"""Eight bytes each, little-endian."""

LONGEST_KEY = 123
"""Bytes of the fields of a key, in an item of at most 127."""
_KEY_START = 2  # position of the key in an item
_KEY_WORDS = 16
_PAD = 512  # bytes appended to the rows, so that wrong lengths stay within the data
_MOST_KEYS = 1 << 12
_AT_ONCE = 1 << 17
"""Items decoded at once, more than most batches have. Smaller arrays are no faster, and make the heap shrink and grow
repeatedly (20 000 page faults in 70 MB of log)."""
_ITEM, _STEP, _NUMBER = 1 << 3 | BYTES, 2 << 3 | BYTES, 1 << 3
_TAG = 0x82, 0x01
_TEXT_START = 3  # position of the text relative to its tag
_MOST_STEP = 9  # bytes of a step; only negative steps have more
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_BYTE, _TWO_BYTES, _HEAD_BITS = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0x80FF)
_BLANK = int.from_bytes(b" " * 8)
_EMPTY_CELL = np.array([_BLANK - ord(" ") + ord(","), *[_BLANK] * 16], np.uint64)
"""A cell for the longest text (127 bytes): a comma and blanks."""
_CLOSE = np.uint64(_BLANK - ord(" ") + ord("]"))


def _kept(begin: int, words: int) -> Words:
    """[word, size]: mask of the bytes begin:begin + size, for sizes up to 255."""
    last = [[min(8, max(0, begin + size - 8 * word)) for size in range(256)] for word in range(words)]
    first = [min(8, max(0, begin - 8 * word)) for word in range(words)]
    table = [[(1 << 8 * b) - (1 << 8 * min(a, b)) for b in row] for a, row in zip(first, last, strict=True)]
    return np.array(table, np.uint64)


_OF_KEY, _OF_TEXT = _kept(_KEY_START, _KEY_WORDS), _kept(_TEXT_START, len(_EMPTY_CELL))
_STARTS_NUMBER = np.zeros(1 << 16, np.bool_)  # indexed by the first byte of a text plus 256 times the second
_STARTS_NUMBER.reshape(256, 256)[:, list(b"-0123456789")] = True
_STARTS_NUMBER[ord("-") + (ord("I") << 8)] = False  # -Infinity


class Batch(Struct, frozen=True, eq=False):
    """Items of several rows, in their order."""

    good: Mask
    """(rows,): whether the row was decoded. The items of other rows are not included."""
    counts: Indices
    """(rows,): number of items; 0 if the row was not decoded."""
    keys: Indices
    """(items,): number of the key, in the order of `Keys.add`."""
    values: Floats
    steps: Indices
    """(rows,): step, if `has_step`."""
    has_step: Mask


class Keys:
    """The known keys, by the bytes of their fields in an item: a perfect hash table."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._words = np.zeros((_KEY_WORDS, 0), np.uint64)
        self._table = np.full(1, -1, np.int32)
        self._shift = np.uint64(63)
        self._seed = _PRIME
        self.widest = 1
        """Number of leading words of an item that contain any of the keys."""

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: bytes) -> bool:
        return key in self._numbers

    def add(self, keys: Iterable[bytes]) -> None:
        """Add keys, numbered from len(self) on. All must satisfy `fits`."""
        for key in keys:
            self._numbers.setdefault(key, len(self._numbers))
        padded = b"".join((bytes([len(key), 0]) + key).ljust(8 * _KEY_WORDS, b"\0") for key in self._numbers)
        self._words = np.ascontiguousarray(np.frombuffer(padded, "<u8").reshape(-1, _KEY_WORDS).T)
        self.widest = max(-(-(_KEY_START + len(key)) // 8) for key in self._numbers)
        for bits in range(12, 23):
            for seed in (_PRIME, _PRIME ^ np.uint64(0x5851F42D4C957F2D << 1)):
                self._seed, self._shift = seed, np.uint64(64 - bits)
                slots = self._slots([self._words[word] for word in range(self.widest)])
                if len(np.unique(slots)) == len(slots):
                    self._table = np.full(1 << bits, -1, np.int32)
                    self._table[slots] = np.arange(len(slots))
                    return

    def fits(self, key: bytes) -> bool:
        """Return whether the key can be added."""
        return 0 < len(key) <= LONGEST_KEY and len(self._numbers) < _MOST_KEYS

    def find(self, items: list[Words], lengths: Indices) -> Indices:
        """Return the number of each key, -1 if it is unknown. `items`: the first `widest` words of each item."""
        masked = [word & kept.take(lengths) for word, kept in zip(items, _OF_KEY, strict=False)]
        masked[0] |= lengths.view(np.uint64)
        numbers = self._table.take(self._slots(masked)).astype(np.int64)
        same = (numbers >= 0) & (lengths <= 8 * self.widest - _KEY_START)
        for known, word in zip(self._words, masked, strict=False):
            same &= known.take(numbers) == word
        return np.where(same, numbers, -1)

    def _slots(self, words: list[Words]) -> Indices:
        mixed = words[0] * self._seed
        for word in words[1:]:
            mixed ^= mixed >> np.uint64(29)
            mixed ^= word
            mixed *= self._seed
        return (mixed >> self._shift).view(np.int64)


def read_rows(rows: Sequence[bytes | memoryview], keys: Keys, odd_value: Callable[[int, bytes], float | None]) -> Batch:
    """Decode the items of the rows. `odd_value` is called with the number of a key and a JSON text that does not begin
    like a number. It returns the value (possibly NaN), or None if the text is not a point, and raises ValueError if the
    row must be decoded by the caller."""
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    data = b"".join([*rows, bytes(_PAD - int(ends[-1]) % 8)])
    stops, steps, has_step = _steps(np.frombuffer(data, np.uint8), starts, ends)
    heads, tags, firsts, good = _items(np.frombuffer(data, np.uint8), starts, stops)
    counts = np.diff(firsts, append=len(heads))
    numbers, values = np.empty(len(heads), np.int64), np.empty(len(heads))
    points = np.ones(len(heads), np.bool_)
    for begin in range(0, len(heads), _AT_ONCE):
        block = slice(begin, begin + _AT_ONCE)
        numbers[block], values[block], points[block], bad = _read_items(
            data, heads[block], tags[block], keys, odd_value
        )
        good[np.searchsorted(firsts, bad + begin, "right") - 1] = False
    if not good.all():
        points &= np.repeat(good, counts)
    if points.all():
        return Batch(good, counts, numbers, values, steps, has_step)
    counts = np.bincount(np.repeat(np.arange(len(rows)), counts)[points], minlength=len(rows))
    return Batch(good, counts, numbers[points], values[points], steps, has_step)


def _read_items(
    data: bytes, heads: Indices, tags: Indices, keys: Keys, odd_value: Callable[[int, bytes], float | None]
) -> tuple[Indices, Floats, Mask, Indices]:
    """Return (numbers of the keys, values, which items are points, indices of items that could not be decoded). `heads`
    and `tags` are the positions of the items and of their tags."""
    words = np.frombuffer(data, "<u8")
    items = list(islice(_words(words, heads), keys.widest))
    stops = heads + 2 + _byte(items[0], 1)
    texts = _words(words, tags)
    text = next(texts)
    lengths = _byte(text, 2)
    keyed = tags - heads - _KEY_START
    exact = (items[0] & _HEAD_BITS == _ITEM) & (tags + _TEXT_START + lengths == stops) & (lengths > 0) & (keyed > 0)
    numbers = keys.find(items, np.where(exact, keyed, 0))
    points = numbers >= 0
    bad = np.flatnonzero(~points).tolist()
    plain = _STARTS_NUMBER.take((text >> np.uint64(8 * _TEXT_START) & _TWO_BYTES).view(np.int64))
    plain &= points
    values = np.full(len(heads), np.nan)
    for item in np.flatnonzero(points & ~plain).tolist():
        try:
            value = odd_value(int(numbers[item]), data[tags[item] + _TEXT_START : stops[item]])
        except ValueError:
            bad.append(item)
            continue
        points[item] = value is not None
        values[item] = value if value is not None else np.nan
    rest = slice(None) if plain.all() else np.flatnonzero(plain)
    parsed = _numbers((word[rest] for word in chain([text], texts)), lengths[rest])
    if parsed is None:
        return numbers, values, points, np.arange(len(heads))
    values[rest] = parsed
    return numbers, values, points, np.array(bad, np.int64)


def _steps(buffer: Bytes, starts: Indices, ends: Indices) -> tuple[Indices, Indices, Mask]:
    """Return (end of the items of each row, step, whether there is one), read from the end of the row."""
    stops, steps, has_step = ends.copy(), np.zeros(len(ends), np.int64), np.zeros(len(ends), np.bool_)
    for size in range(_MOST_STEP + 1):
        begins = ends - size - (3 if size else 2)  # proto3 omits a zero with its key
        here = ~has_step & (begins >= starts) & (buffer[begins] == _STEP)
        if size:
            here &= (buffer[begins + 1] == size + 1) & (buffer[begins + 2] == _NUMBER)
        else:
            here &= buffer[begins + 1] == 0
        rows = np.flatnonzero(here)
        if not len(rows):
            continue
        body = buffer[(ends[rows] - size)[:, None] + np.arange(size)].astype(np.int64)
        whole = ((body >= 128) == (np.arange(size) < size - 1)).all(axis=1)
        rows, body = rows[whole], body[whole]
        stops[rows], has_step[rows] = begins[rows], True
        steps[rows] = ((body & 127) << 7 * np.arange(size)).sum(axis=1)
        if has_step.all():
            break
    return stops, steps, has_step


def _items(buffer: Bytes, starts: Indices, stops: Indices) -> tuple[Indices, Indices, Indices, Mask]:
    """Return (start of each item, position of its tag, first item of each row, whether the last item ends with the
    row).

    The start is correct if the item before it is whole.
    """
    tags = np.flatnonzero(buffer == _TAG[0])
    tags = tags[buffer.take(tags + 1) == _TAG[1]]
    firsts, lasts = np.searchsorted(tags, starts), np.searchsorted(tags, stops)
    if int((lasts - firsts).sum()) < len(tags):  # one step in 128 looks like a tag
        tags = tags[tags < stops[np.searchsorted(starts, tags, "right") - 1]]
        firsts, lasts = np.searchsorted(tags, starts), np.searchsorted(tags, stops)
    heads = np.empty(len(tags) + 1, np.int64)
    np.add(tags, buffer.take(tags + 2), out=heads[1:])
    heads[1:] += _TEXT_START
    good = lasts > firsts
    good[good] = heads[lasts[good]] == stops[good]
    heads[firsts[lasts > firsts]] = starts[lasts > firsts]
    return heads[:-1], tags, firsts, good


def _words(words: Words, positions: Indices) -> Iterator[Words]:
    """Yield the eight bytes from each position on, then the next eight, and so on. They are combined from aligned
    words, which numpy gathers five times as fast."""
    index, shift = positions >> 3, (positions << 3 & 63).view(np.uint64)
    rest, low = np.uint64(64) - shift, words.take(index)
    while True:
        index += 1
        high = words.take(index)
        low >>= shift
        low |= high << rest  # numpy shifts by 64 to 0
        yield low
        low = high


def _byte(words: Words, number: int) -> Indices:
    shifted = words >> np.uint64(8 * number)
    shifted &= _BYTE
    return shifted.view(np.int64)


def _numbers(texts: Iterable[Words], lengths: Indices) -> Floats | None:
    """Parse texts, given by their words from the tags on, which are overwritten. Return None unless each is one number.
    Each text gets a cell of fixed width: a comma, blanks, the text, blanks."""
    if not len(lengths):
        return np.empty(0)
    width = -(-(_TEXT_START + int(lengths.max())) // 8)
    array = np.empty(len(lengths) * width + 1, "<u8")
    cells = array[:-1].reshape(-1, width)
    for index, (word, empty, kept) in enumerate(zip(islice(texts, width), _EMPTY_CELL, _OF_TEXT, strict=False)):
        word ^= empty
        word &= kept.take(lengths)
        np.bitwise_xor(word, empty, out=cells[:, index])
    array[-1] = _CLOSE
    characters = array.view(np.uint8)
    characters[0] = ord("[")
    try:
        values: list[Any] = orjson.loads(characters.data)
        packed = struct.pack(f"{len(lengths)}d", *values)  # takes half as long as np.array(values)
    except (orjson.JSONDecodeError, struct.error):  # invalid, a wrong count, or not all numbers: "1,[2" and "3]"
        return None
    return np.frombuffer(packed)
