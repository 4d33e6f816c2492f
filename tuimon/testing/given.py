"""The items of a log in a form that can be compared, and hostile input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np

from tuimon.formats import Format, StreamDecoder
from tuimon.model.points import Damage, Fact, Floats, Item, Points, Replaced, SegmentStart

MARGIN = 150, 30
"""Bytes at both ends of short and long logs where every position is tried."""
SHORT = 20_000

P = TypeVar("P")
Point = tuple[int, str, str]
"""(step, value, wall time); floats by repr, so that NaN equals NaN and no bit is lost."""
PointBits = tuple[int, int, int]
"""(step, value, wall time); floats by their bits, with the same bits for every NaN."""


@dataclass
class Given:
    """All items of a log, in a form that does not depend on its split."""

    bits: dict[str, list[PointBits]] = field(default_factory=lambda: defaultdict(list))
    """Points by metric. They are compared in this form because it takes a third of the time that `series` takes."""
    segments: list[tuple[int | None, bool, int]] = field(default_factory=list)
    """(step, purge, points before it)"""
    replaced: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    """By topic: the last fact; for texts and console lines all of them; for topics by metric the union."""
    damage: list[Damage] = field(default_factory=list)
    count: int = 0
    """Number of points."""

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            match item:
                case Points():
                    self._add_points(item)
                case SegmentStart():
                    self.segments.append((item.step, item.purge, self.count))
                case Replaced():
                    self.replaced += 1
                    self.bits.clear()
                    self.segments.clear()
                    self.damage.clear()
                case Fact():
                    self._add_fact(item)
                case Damage():
                    self.damage.append(item)

    def _add_points(self, points: Points) -> None:
        lengths = {len(points), len(points.metric), len(points.values), len(points.wall_times)}
        expect(len(lengths) == 1 and len(points) > 0, f"columns of {sorted(lengths)} rows")
        expect(int(points.metric.max()) < len(points.names), "an index of a metric without a name")
        rows = zip(points.steps.tolist(), _bits(points.values), _bits(points.wall_times), strict=True)
        for metric, row in zip(points.metric.tolist(), rows, strict=True):
            self.bits[points.names[metric]].append(row)
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
    def series(self) -> dict[str, list[Point]]:
        """Points by metric in a readable form."""
        series: dict[str, list[Point]] = {}
        for name, points in self.bits.items():
            steps, values, wall_times = zip(*points, strict=True)
            series[name] = list(zip(steps, _written(values), _written(wall_times), strict=True))
        return series

    @property
    def lost(self) -> int:
        """Number of records lost to damage."""
        return sum(damage.records for damage in self.damage)


def _bits(floats: Floats) -> list[int]:
    whole = np.where(np.isnan(floats), np.nan, floats).astype(np.float64, copy=False)
    bits: list[int] = whole.view(np.int64).tolist()
    return bits


def _written(bits: Sequence[int]) -> Iterator[str]:
    return map(repr, np.array(bits, np.int64).view(np.float64).tolist())


def given(items: Iterable[Item]) -> Given:
    result = Given()
    result.add(items)
    return result


def new_decoder(log_format: Format) -> StreamDecoder:
    """Return a new decoder of a stream, as `check_format` has found that it is one."""
    return cast("StreamDecoder", log_format.decoder())


def fed(log_format: Format, data: bytes, cuts: Sequence[int] = (), *, flush_at_cuts: bool = False) -> Given:
    """Return what a new decoder makes of a stream in pieces that end at `cuts`. It is flushed at the end.

    Skippable bytes are skipped; if the decoder must reread, a new one decodes everything again.
    """
    decoder = new_decoder(log_format)
    result = Given()

    def give(items: Sequence[Item], upto: int) -> None:
        nonlocal decoder
        result.add(items)
        if decoder.must_reread:
            expect(flush_at_cuts, "must_reread without a flush")
            result.add([Replaced()])
            decoder = new_decoder(log_format)
            result.add(decoder.feed(data[:upto]))

    edges = sorted({0, len(data), *(cut for cut in cuts if 0 < cut < len(data))})
    position = 0
    for begin, end in pairwise(edges):
        if position < end:
            give(decoder.feed(data[max(position, begin) : end]), end)
            position = end
            if hop := min(decoder.skippable, len(data) - position):
                decoder.advance(hop)
                position += hop
            if flush_at_cuts:
                give(decoder.flush(), end)
    give(decoder.flush(), len(data))
    return result


def begins(part: dict[str, list[P]], whole: dict[str, list[P]]) -> bool:
    """Return whether the points of each metric are the first of those in `whole`."""
    return all(points == whole.get(metric, [])[: len(points)] for metric, points in part.items())


def lies_in(part: dict[str, list[P]], whole: dict[str, list[P]]) -> bool:
    """Return whether the points of each metric are a subsequence of those in `whole`."""

    def is_subsequence(points: list[P], of: list[P]) -> bool:
        remaining = iter(of)
        return all(any(point == other for other in remaining) for point in points)

    return all(is_subsequence(points, whole.get(metric, [])) for metric, points in part.items())


def places(length: int, count: int, draw: Callable[[int], int]) -> list[int]:
    """Positions to cut or damage: all near both ends, and `count` random ones between. `draw(n)`: a number below n."""
    margin = MARGIN[length > SHORT]
    near = {*range(min(margin, length)), *range(max(0, length - margin), length)}
    return sorted(near | {draw(length) for _ in range(count)})


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
"""Lines that crash naive parsers: nesting, numbers beyond any type, lone surrogates, endless near-matches."""


def expect(condition: object, message: str) -> None:
    """Raise AssertionError with a message unless `condition` is true, under `python -O` as well."""
    if not condition:
        raise AssertionError(message)
