"""Many W&B history rows at once, by numpy: what _wandb_history reads row by row.

    row     item* [12 <length> 08 <step>]
    item    0a <length> <key fields> 82 01 <length> <JSON text>         key field: 12 <length> <part of the key>

The places of the tag 82 01 are found in all rows together, and each is held against the lengths around it: an item that
comes out exactly, whose key is known to the byte, and whose text begins as a number does, needs no Python of its own.
The texts are copied into cells of one width, which is a JSON array. A row in which anything else stands is left to
the caller.
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

from tuimon.formats._protobuf import BYTES
from tuimon.model.points import Floats

Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
"""Eight bytes each, the first of them the lowest."""

LONGEST_KEY = 123
"""Bytes of the fields of a key, in an item of at most 127."""
_KEY_AT = 2
"""Where the key begins in an item."""
_KEY_WORDS = 16
_PAD = 512
"""Bytes behind the rows: what false lengths may point to."""
_MOST_KEYS = 1 << 12
_AT_ONCE = 1 << 17
"""Items, more than a batch mostly has: arrays of a few thousand are no faster, and with them the heap is trimmed and
grown again and again (20 000 page faults in 70 MB of log)."""
_ITEM, _STEP, _NUMBER = 1 << 3 | BYTES, 2 << 3 | BYTES, 1 << 3
_TAG = 0x82, 0x01
_TEXT_AT = 3
"""Where the text begins, behind its tag and its length."""
_MOST_STEP = 9
"""Bytes of a step; only negative ones have more."""
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_BYTE, _TWO_BYTES, _HEAD_BITS = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0x80FF)
_BLANK = int.from_bytes(b" " * 8)
_EMPTY_CELL = np.array([_BLANK - ord(" ") + ord(","), *[_BLANK] * 16], np.uint64)
"""Holds the longest text, of 127 bytes."""
_CLOSE = np.uint64(_BLANK - ord(" ") + ord("]"))


def _kept(begin: int, words: int) -> Words:
    """[word, size]: the bits of the bytes begin:begin + size, for sizes to 255."""
    last = [[min(8, max(0, begin + size - 8 * at)) for size in range(256)] for at in range(words)]
    first = [min(8, max(0, begin - 8 * at)) for at in range(words)]
    table = [[(1 << 8 * b) - (1 << 8 * min(a, b)) for b in row] for a, row in zip(first, last, strict=True)]
    return np.array(table, np.uint64)


_OF_KEY, _OF_TEXT = _kept(_KEY_AT, _KEY_WORDS), _kept(_TEXT_AT, len(_EMPTY_CELL))
_STARTS_NUMBER = np.zeros(1 << 16, np.bool_)
"""By the first byte of a text, and the second times 256."""
_STARTS_NUMBER.reshape(256, 256)[:, list(b"-0123456789")] = True
_STARTS_NUMBER[ord("-") + (ord("I") << 8)] = False  # -Infinity


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
        self._words = np.zeros((_KEY_WORDS, 0), np.uint64)
        self._table = np.full(1, -1, np.int32)
        self._shift = np.uint64(63)
        self._seed = _PRIME
        self.widest = 1
        """Words of an item, from its beginning, that hold its key, whichever it is."""

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: bytes) -> bool:
        return key in self._numbers

    def add(self, keys: Iterable[bytes]) -> None:
        """More of them, numbered from len(self) on. Those too long, or too many, stay unknown: see `fits`."""
        for key in keys:
            self._numbers.setdefault(key, len(self._numbers))
        padded = b"".join((bytes([len(key), 0]) + key).ljust(8 * _KEY_WORDS, b"\0") for key in self._numbers)
        self._words = np.ascontiguousarray(np.frombuffer(padded, "<u8").reshape(-1, _KEY_WORDS).T)
        self.widest = max(-(-(_KEY_AT + len(key)) // 8) for key in self._numbers)
        for bits in range(12, 23):
            for seed in (_PRIME, _PRIME ^ np.uint64(0x5851F42D4C957F2D << 1)):
                self._seed, self._shift = seed, np.uint64(64 - bits)
                slots = self._slots([self._words[at] for at in range(self.widest)])
                if len(np.unique(slots)) == len(slots):
                    self._table = np.full(1 << bits, -1, np.int32)
                    self._table[slots] = np.arange(len(slots))
                    return

    def fits(self, key: bytes) -> bool:
        """May it be added?"""
        return 0 < len(key) <= LONGEST_KEY and len(self._numbers) < _MOST_KEYS

    def find(self, items: list[Words], lengths: Indices) -> Indices:
        """The number of each key, -1 for one that is unknown. items: the first `widest` words of each item."""
        found = [word & kept.take(lengths) for word, kept in zip(items, _OF_KEY, strict=False)]
        found[0] |= lengths.view(np.uint64)
        numbers = self._table.take(self._slots(found)).astype(np.int64)
        same = (numbers >= 0) & (lengths <= 8 * self.widest - _KEY_AT)
        for known, word in zip(self._words, found, strict=False):
            same &= known.take(numbers) == word
        return np.where(same, numbers, -1)

    def _slots(self, words: list[Words]) -> Indices:
        mixed = words[0] * self._seed
        for word in words[1:]:
            mixed ^= mixed >> np.uint64(29)
            mixed ^= word
            mixed *= self._seed
        return (mixed >> self._shift).view(np.int64)


def read_rows(rows: Sequence[bytes | memoryview], keys: Keys, odd: Callable[[int, bytes], float | None]) -> Batch:
    """The items of the rows.

    odd: (number of the key, JSON text that does not begin as a number) -> its one value under that key, NaN too; None
    for a text that is no point. Raises ValueError for one that makes its row another one's work.
    """
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
        found = _read_items(data, heads[block], tags[block], keys, odd)
        numbers[block], values[block], points[block], bad = found
        good[np.searchsorted(firsts, bad + begin, "right") - 1] = False
    if not good.all():
        points &= np.repeat(good, counts)
    if points.all():
        return Batch(good, counts, numbers, values, steps, has_step)
    counts = np.bincount(np.repeat(np.arange(len(rows)), counts)[points], minlength=len(rows))
    return Batch(good, counts, numbers[points], values[points], steps, has_step)


def _read_items(
    data: bytes, heads: Indices, tags: Indices, keys: Keys, odd: Callable[[int, bytes], float | None]
) -> tuple[Indices, Floats, Mask, Indices]:
    """(number of the key, value, is it a point?) of the items, by where they and their tags begin; and which of them
    were not read."""
    words = np.frombuffer(data, "<u8")
    items = list(islice(_words(words, heads), keys.widest))
    stops = heads + 2 + _byte(items[0], 1)
    texts = _words(words, tags)
    text = next(texts)
    lengths = _byte(text, 2)
    keyed = tags - heads - _KEY_AT
    exact = (items[0] & _HEAD_BITS == _ITEM) & (tags + _TEXT_AT + lengths == stops) & (lengths > 0) & (keyed > 0)
    numbers = keys.find(items, np.where(exact, keyed, 0))
    points = numbers >= 0
    bad = np.flatnonzero(~points).tolist()
    plain = _STARTS_NUMBER.take((text >> np.uint64(8 * _TEXT_AT) & _TWO_BYTES).view(np.int64))
    plain &= points
    values = np.full(len(heads), np.nan)
    for at in np.flatnonzero(points & ~plain).tolist():
        try:
            value = odd(int(numbers[at]), data[tags[at] + _TEXT_AT : stops[at]])
        except ValueError:
            bad.append(at)
            continue
        points[at] = value is not None
        values[at] = value if value is not None else np.nan
    told = slice(None) if plain.all() else np.flatnonzero(plain)
    found = _numbers((word[told] for word in chain([text], texts)), lengths[told])
    if found is None:
        return numbers, values, points, np.arange(len(heads))
    values[told] = found
    return numbers, values, points, np.array(bad, np.int64)


def _steps(buffer: Bytes, starts: Indices, ends: Indices) -> tuple[Indices, Indices, Mask]:
    """(where the items of each row end, its step, has it one?), as told from the end of the row: behind the items lies
    the step or nothing."""
    stops, steps, found = ends.copy(), np.zeros(len(ends), np.int64), np.zeros(len(ends), np.bool_)
    for size in range(_MOST_STEP + 1):
        begins = ends - size - (3 if size else 2)  # a zero is left out, its key too
        here = ~found & (begins >= starts) & (buffer[begins] == _STEP)
        if size:
            here &= (buffer[begins + 1] == size + 1) & (buffer[begins + 2] == _NUMBER)
        else:
            here &= buffer[begins + 1] == 0
        at = np.flatnonzero(here)
        if not len(at):
            continue
        body = buffer[(ends[at] - size)[:, None] + np.arange(size)].astype(np.int64)
        whole = ((body >= 128) == (np.arange(size) < size - 1)).all(axis=1)
        at, body = at[whole], body[whole]
        stops[at], found[at] = begins[at], True
        steps[at] = ((body & 127) << 7 * np.arange(size)).sum(axis=1)
        if found.all():
            break
    return stops, steps, found


def _items(buffer: Bytes, starts: Indices, stops: Indices) -> tuple[Indices, Indices, Indices, Mask]:
    """(where each item begins if the one before it is whole, where its tag is; first item of each row, does the last
    one end where the items of the row do?)."""
    tags = np.flatnonzero(buffer == _TAG[0])
    tags = tags[buffer.take(tags + 1) == _TAG[1]]
    firsts, lasts = np.searchsorted(tags, starts), np.searchsorted(tags, stops)
    if int((lasts - firsts).sum()) < len(tags):  # one step in 128 looks like a tag
        tags = tags[tags < stops[np.searchsorted(starts, tags, "right") - 1]]
        firsts, lasts = np.searchsorted(tags, starts), np.searchsorted(tags, stops)
    heads = np.empty(len(tags) + 1, np.int64)
    np.add(tags, buffer.take(tags + 2), out=heads[1:])
    heads[1:] += _TEXT_AT
    good = lasts > firsts
    good[good] = heads[lasts[good]] == stops[good]
    heads[firsts[lasts > firsts]] = starts[lasts > firsts]
    return heads[:-1], tags, firsts, good


def _words(words: Words, at: Indices) -> Iterator[Words]:
    """Eight bytes from each place on, then the eight after them, ... They are put together of aligned words: numpy
    gathers those five times as fast."""
    index, shift = at >> 3, (at << 3 & 63).view(np.uint64)
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
    """The numbers of texts, given by their words from their tags on, which are overwritten; None where one is not just
    one number. Each gets a cell of so many words: a comma, blanks, the text, blanks."""
    if not len(lengths):
        return np.empty(0)
    width = -(-(_TEXT_AT + int(lengths.max())) // 8)
    array = np.empty(len(lengths) * width + 1, "<u8")
    cells = array[:-1].reshape(-1, width)
    for at, (word, empty, kept) in enumerate(zip(islice(texts, width), _EMPTY_CELL, _OF_TEXT, strict=False)):
        word ^= empty
        word &= kept.take(lengths)
        np.bitwise_xor(word, empty, out=cells[:, at])
    array[-1] = _CLOSE
    characters = array.view(np.uint8)
    characters[0] = ord("[")
    try:
        values: list[Any] = orjson.loads(characters.data)
        packed = struct.pack(f"{len(lengths)}d", *values)  # half the time that np.array takes for a list
    except (orjson.JSONDecodeError, struct.error):  # no JSON, too few or many, or no numbers: "1,[2" and "3]"
        return None
    return np.frombuffer(packed)
