"""Damage to logs, and the points that a reader must still give.

Every kind of damage says which bytes of the original it touched. A point is untouched if the bytes from the end of the
record before it to the end of its own are; these are found by feeding the log in small pieces.
"""

from __future__ import annotations

import gzip
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.samples import Sample, kind, some
from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, JournalDecoder, StreamDecoder
from tuimon.model.points import Points
from tuimon.reader import Collector
from tuimon.testing.given import Given, given

Key = tuple[str, int, str]
"""(metric, step, value by repr)."""


COUNTED = frozenset({"sb3-monitor", "beast_logger"})
"""Formats whose records name no step, so that it is their number: after damage it is not known. Compared without it."""


class Damaged(NamedTuple):
    """A damaged copy of a log."""

    data: bytes
    begin: int
    end: int
    """The bytes [begin, end) of the original are changed or lost; if equal, bytes were inserted there."""


def cut(data: bytes, draw: random.Random) -> Damaged:
    """Lose the end."""
    place = draw.randrange(1, len(data))
    return Damaged(data[:place], place, len(data))


def hole(data: bytes, draw: random.Random) -> Damaged:
    """Replace bytes by zeros."""
    begin = draw.randrange(len(data))
    end = min(len(data), begin + draw.choice((1, 7, 100, 1000, 4096)))
    return Damaged(data[:begin] + bytes(end - begin) + data[end:], begin, end)


def flip(data: bytes, draw: random.Random) -> Damaged:
    """Change one byte."""
    place = draw.randrange(len(data))
    changed = bytes((data[place] ^ draw.randrange(1, 256),))
    return Damaged(data[:place] + changed + data[place + 1 :], place, place + 1)


def duplicate(data: bytes, draw: random.Random) -> Damaged:
    """Repeat a part, or all."""
    begin, end = sorted((draw.randrange(len(data)), draw.randrange(1, len(data) + 1)))
    if draw.random() < 0.2:
        begin, end = 0, len(data)
    return Damaged(data[:end] + data[begin:], begin, end)


def garbage(data: bytes, draw: random.Random) -> Damaged:
    """Insert what does not belong there."""
    place = draw.randrange(len(data) + 1)
    extra = draw.choice((b"garbage", draw.randbytes(40), draw.randbytes(400)))
    return Damaged(data[:place] + extra + data[place:], place, place)


KINDS: dict[str, Callable[[bytes, random.Random], Damaged]] = {
    "cut": cut,
    "hole": hole,
    "flip": flip,
    "duplicate": duplicate,
    "garbage": garbage,
}


class Reading(NamedTuple):
    """Points that tuimon reads from a log, and whether it reports damage."""

    points: Counter[Key]
    reported: bool
    """Whether tuimon says that something is wrong with the file."""


def read(path: Path) -> Reading:
    """Read a directory with all its logs."""
    collector = Collector([str(path)])
    for _ in collector.find():
        pass
    sources: dict[str, Given] = {}
    for source, item in collector.in_file_order():
        sources.setdefault(source, Given()).add([item])
    counted = any(followed.format.id in COUNTED for followed in collector.followed)
    unread = any(followed.status().state != "current" for followed in collector.followed)
    points: Counter[Key] = Counter()
    for items in sources.values():
        for metric, rows in items.series.items():
            points.update((metric, 0 if counted else step, value) for step, value, _ in rows)
    return Reading(points, unread or collector.partly_unreadable or bool(collector.skipped))


def placed(folder: Path, sample: Sample, data: bytes, *, compressed: bool = False) -> Path:
    """Write the data where the sample was, and return the folder."""
    path = folder / (sample.path + (".gz" if compressed else ""))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if compressed:
        os.utime(path, (1.7e9, 1.7e9))  # old, so that no writer is expected
    return folder


@cache
def records(sample: Sample) -> tuple[tuple[int, int, tuple[Key, ...]], ...]:
    """(begin, end, points) of every record of a log that gives points, in file order; () if that cannot be known."""
    result: list[tuple[int, int, tuple[Key, ...]]] = []
    before = 0
    with tempfile.TemporaryDirectory() as folder:
        names = {name for name, _, _ in read(placed(Path(folder), sample, sample.data)).points}
    only = names.pop() if len(names) == 1 else ""
    for end, items in _pieces(sample):
        keys = tuple(
            (only or metric, 0 if sample.format.id in COUNTED else row[0], row[1])
            for metric, rows in items.series.items()
            for row in rows
        )
        if keys:
            begin = before
            if sample.is_text and not isinstance(sample.format.decoder(), DocumentDecoder):
                begin = max(begin, sample.data.rfind(b"\n", 0, end - 1) + 1)
            result.append((begin, end, keys))
            before = end
    return tuple(result)


def _pieces(sample: Sample) -> Iterator[tuple[int, Given]]:
    """(bytes read so far, what the last piece gave)."""
    decoder, data = sample.format.decoder(), sample.data
    if isinstance(decoder, StreamDecoder):
        position = 0
        while position < len(data):
            items = list(decoder.feed(data[position : position + 1]))
            position += 1
            if hop := min(decoder.skippable, len(data) - position):
                decoder.advance(hop)
                position += hop
            yield position, given(items)
        yield len(data), given(decoder.flush())
    elif isinstance(decoder, JournalDecoder):
        for position in range(len(data)):
            for _, items in decoder.feed_runs(data[position : position + 1]):
                yield position + 1, given(items)
    elif isinstance(decoder, DocumentDecoder):
        for position in range(1, len(data) + 1):
            if data[position - 1] not in b"}":
                continue
            try:
                items = list(decoder.load(data[:position]))
            except Unfinished as error:
                items = error.items
            except FormatError:
                items = []
            if any(isinstance(item, Points) for item in items):
                yield position, given(items)


def untouched(sample: Sample, damage: Damaged) -> Counter[Key]:
    """The points of the records that the damage does not touch."""
    touched = [index for index, (begin, end, _) in enumerate(records(sample)) if _touches(damage, begin, end)]
    first, last = (touched[0], touched[-1]) if touched else (0, -1)
    if sample.format.id == "console" and touched:  # the block, or lines that belong to a row before them
        steps = {step for index in touched for _, step, _ in records(sample)[index][2]}
        same = [index for index, record in enumerate(records(sample)) if not steps.isdisjoint(k[1] for k in record[2])]
        first, last = min(same), max(same)
    points: Counter[Key] = Counter()
    for index, (_, _, keys) in enumerate(records(sample)):
        if not first <= index <= last:
            points.update(keys)
    return points


def _touches(damage: Damaged, begin: int, end: int) -> bool:
    """Return whether the damage touches a record, or the newline in front of it."""
    return begin <= damage.end and damage.begin < end


def samples_of(format_id: str, count: int = 2, limit: int = 6_000) -> list[Sample]:
    """Return samples of a format that are small enough to be read byte by byte and give points."""
    return [sample for sample in some(format_id, count, limit) if kind(sample.format) != "unsupported"]


def gzipped(data: bytes) -> bytes:
    """Compress data, always to the same bytes."""
    return gzip.compress(data, mtime=0)
