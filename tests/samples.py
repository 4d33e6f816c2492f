"""Every log below tests/data that tuimon recognises, as bytes, by the id of its format; and what decoders gave of one.

Compressed samples are unpacked. A database is recognised as the reader does it: its schema follows its first bytes.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from tuimon.formats import DatabaseDecoder, DocumentDecoder, Format, StreamDecoder, all_formats, recognise
from tuimon.model.points import Damage, Fact, Item, Points, Replaced, SegmentStart
from tuimon.reader.recognition import HEAD
from tuimon.sources.sqlite_copy import MAGIC, schema

DATA = Path(__file__).parent / "data"
MARGIN = 150, 30
"""Bytes at both ends of a short and of a long sample at which every single place is tried."""
SHORT = 20_000


@dataclass(frozen=True)
class Sample:
    """A log of some format."""

    format: Format
    path: str
    """Below tests/data, the names of archives without their endings."""
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"{self.format.id}:{self.path}"

    @property
    def is_text(self) -> bool:
        return b"\0" not in self.data


@cache
def samples() -> dict[str, tuple[Sample, ...]]:
    """Format id -> its samples, no two alike, the smallest first."""
    found: dict[str, dict[bytes, Sample]] = defaultdict(dict)
    for path, data in _files():
        log_format = recognise(f"/{path}", _head(data))
        if log_format is not None and data:
            found[log_format.id].setdefault(data, Sample(log_format, path, data))
    return {id: tuple(sorted(those.values(), key=lambda s: (len(s.data), s.path))) for id, those in found.items()}


def some(id: str, count: int, limit: int = 1 << 20) -> list[Sample]:
    """Up to so many samples of a format that are no longer than `limit`, spread over their sizes; at least one."""
    known = samples().get(id, ())
    small = [sample for sample in known if len(sample.data) <= limit] or list(known[:1])
    if len(small) <= count:
        return small
    if count == 1:
        return [small[len(small) // 2]]
    return [small[round(at * (len(small) - 1) / (count - 1))] for at in range(count)]


def kind(log_format: Format) -> str:
    """stream | document | database | unsupported."""
    if log_format.unsupported:
        return "unsupported"
    decoder = log_format.decoder()
    kinds = {"stream": StreamDecoder, "document": DocumentDecoder, "database": DatabaseDecoder}
    return next(name for name, contract in kinds.items() if isinstance(decoder, contract))


def formats_of(wanted: str) -> list[Format]:
    return [log_format for log_format in all_formats() if kind(log_format) == wanted]


def _files() -> Iterator[tuple[str, bytes]]:
    for path in sorted(DATA.rglob("*")):
        if not path.is_file():
            continue
        name, data = path.relative_to(DATA).as_posix(), path.read_bytes()
        if name.endswith(".tar.gz"):
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                for member in archive:
                    if (file := archive.extractfile(member)) is not None:
                        yield f"{name.removesuffix('.tar.gz')}/{member.name}", file.read()
        elif name.endswith(".gz"):
            yield name.removesuffix(".gz"), gzip.decompress(data)
        else:
            yield name, data


def _head(data: bytes) -> bytes:
    if not data.startswith(MAGIC):
        return data[:HEAD]
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return data[:HEAD] + schema(file.name)


# ---------------------------------------------------------------------- what was given


Point = tuple[int, str, str]
"""(step, value, wall time); floats by repr, so that NaN equals NaN and no bit is lost."""


@dataclass
class Given:
    """All that a decoder gave of a log, in a form that does not depend on how it was cut."""

    series: dict[str, list[Point]] = field(default_factory=lambda: defaultdict(list))
    segments: list[tuple[int | None, bool, int]] = field(default_factory=list)
    """(step, purge, points before it)"""
    replaced: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    """By topic: what was said last; of texts and console lines all; of what is told metric by metric, all together."""
    damage: list[Damage] = field(default_factory=list)
    count: int = 0
    """Of the points."""

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            match item:
                case Points():
                    self._add_points(item)
                case SegmentStart():
                    self.segments.append((item.step, item.purge, self.count))
                case Replaced():
                    self.replaced += 1
                    self.series.clear()
                    self.segments.clear()
                    self.damage.clear()
                case Fact():
                    self._add_fact(item)
                case Damage():
                    self.damage.append(item)

    def _add_points(self, points: Points) -> None:
        assert len(points) == len(points.metric) == len(points.values) == len(points.wall_times) > 0
        assert int(points.metric.max()) < len(points.names)
        columns = points.metric.tolist(), points.steps.tolist(), points.values.tolist(), points.wall_times.tolist()
        for metric, step, value, wall_time in zip(*columns, strict=True):
            self.series[points.names[metric]].append((step, repr(value), repr(wall_time)))
        self.count += len(points)

    def _add_fact(self, fact: Fact) -> None:
        match fact.topic:
            case "console":
                self.facts.setdefault("console", []).extend(fact.value["lines"])
            case "metrics":
                self.facts.setdefault("metrics", {}).update(fact.value)
            case "text":
                self.facts.setdefault("text", []).append(dict(fact.value))
            case topic:
                self.facts[topic] = dict(fact.value)

    @property
    def lost(self) -> int:
        """Records lost to damage."""
        return sum(damage.records for damage in self.damage)


def given(items: Iterable[Item]) -> Given:
    found = Given()
    found.add(items)
    return found


def fed(log_format: Format, data: bytes, cuts: Sequence[int] = (), *, flush_at_cuts: bool = False) -> Given:
    """What a new decoder gives of a stream in pieces that end at `cuts`, and of a flush at its end. What may be skipped
    is skipped; once it says that a flush was mistaken, a new one reads all again."""
    decoder = log_format.decoder()
    assert isinstance(decoder, StreamDecoder)
    found = Given()

    def give(items: Sequence[Item], upto: int) -> None:
        nonlocal decoder
        found.add(items)
        if decoder.disproved:
            assert flush_at_cuts, "nothing was flushed"
            found.add([Replaced()])
            decoder = log_format.decoder()
            found.add(decoder.feed(data[:upto]))

    edges = sorted({0, len(data), *(cut for cut in cuts if 0 < cut < len(data))})
    at = 0
    for begin, end in pairwise(edges):
        if at < end:
            give(decoder.feed(data[max(at, begin) : end]), end)
            at = end
            if hop := min(decoder.skippable, len(data) - at):
                decoder.skipped(hop)
                at += hop
            if flush_at_cuts:
                give(decoder.flush(), end)
    give(decoder.flush(), len(data))
    return found


def begins(part: dict[str, list[Point]], whole: dict[str, list[Point]]) -> bool:
    """Are the points of each metric the first of those in `whole`?"""
    return all(points == whole.get(metric, [])[: len(points)] for metric, points in part.items())


def lies_in(part: dict[str, list[Point]], whole: dict[str, list[Point]]) -> bool:
    """Are the points of each metric among those in `whole`, in their order, none twice?"""

    def is_subsequence(points: list[Point], of: list[Point]) -> bool:
        remaining = iter(of)
        return all(any(point == other for other in remaining) for point in points)

    return all(is_subsequence(points, whole.get(metric, [])) for metric, points in part.items())


def places(length: int, count: int, draw: Callable[[int], int]) -> list[int]:
    """Where to cut or damage: every place near both ends, and so many drawn between. draw(n): a number below n."""
    margin = MARGIN[length > SHORT]
    near = {*range(min(margin, length)), *range(max(0, length - margin), length)}
    return sorted(near | {draw(length) for _ in range(count)})


# ---------------------------------------------------------------------- what is fed to them


HOSTILE = (
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"step": 1, "loss": ' + b"9" * 6000 + b"}",
    b'{"step": ' + b"9" * 6000 + b', "loss": 1}',
    b'{"step": 1e300, "loss": 1e999, "x": -1e999}',
    b'{"step": -9223372036854775809, "loss": 1}',
    b'{"step": 9223372036854775808, "loss": 1, "time": 1e308}',
    b'{"step": true, "loss": {"": {"": 1}}, "": 2}',
    b'{"step": 3, "\\ud800": 1, "loss": "\\udfff"}',
    b'{"step": 3, "loss": 1' + b"\0" * 1000 + b"}",
    b"step,loss\n1," + b"9" * 6000,
    b"99999999999999999999 99999999999999999999 99999999999999999999",
    b"1795226147449 " + b"9" * 6000 + b" " + b"9" * 6000,
    b"step: " + b"9" * 6000 + b" - loss: " + b"9" * 6000,
    b"Step 99999999999999999999999: {'loss': " + b"(" * 5000 + b"1}",
    b"| " * 50_000,
    b"\x1b[" * 50_000,
    b"100%|" + b"\xe2\x96\x88" * 30_000 + b"| 9/9 [00:00<00:00, loss=1]",
    b"base64:" + b"A" * 40_000,
    b'"' * 50_001,
    b",;\t" * 20_000,
)
"""Lines that have brought parsers down: nesting, numbers beyond any type, lone surrogates, near-matches without end."""


def cases(wanted: str, count: int, limit: int = 1 << 20) -> list[Sample]:
    """So many samples of each format of that kind."""
    return [sample for log_format in formats_of(wanted) for sample in some(log_format.id, count, limit)]
