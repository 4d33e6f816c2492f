"""decode(): what the console decoder gives for a text; differences(): two such results compared, in words."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Fact, Points, Topic

TEXTS = Path(__file__).parent / "texts.jsonl.xz"
WRITTEN = Path(__file__).parent / "written.jsonl.xz"
"""Texts of no test, as people write them: five of each of eighteen forms. Their points were those drawn for them."""
SHOWN = 3
"""Number of points that are quoted of each metric that differs."""

Row = list[Any]
"""[step, value, wall time] of a point."""


class Decoded(msgspec.Struct, kw_only=True):
    """A text and everything that the decoder gives for it."""

    test: str
    """Test that fed the text first: "test_console.py::test_ray_prefix"."""
    text: str
    """The bytes as UTF-8, with lone surrogates for what is not."""
    points: dict[str, list[Row]]
    """Points of each metric, in the order of the log."""
    others: list[list[Any]]
    """[type, fields] of the other items, in the order of the log: ["Damage", {"offset": 7, …}]."""

    @property
    def id(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def decode(test: str, text: str) -> Decoded:
    """Decode a text that is fed at once and then ends."""
    decoder = ConsoleDecoder()
    result = Decoded(test=test, text=text, points={}, others=[])
    for item in (*decoder.feed(text.encode("utf-8", "surrogateescape")), *decoder.flush(), *decoder.end()):
        if isinstance(item, Points):
            columns = (item.steps.tolist(), item.values.tolist(), item.wall_times.tolist())
            for metric, *row in zip(item.metric.tolist(), *columns, strict=True):
                result.points.setdefault(item.names[metric], []).append(row)
        elif not (isinstance(item, Fact) and item.topic == Topic.CONSOLE):
            result.others.append([type(item).__name__, msgspec.to_builtins(item)])
    return result


def differences(known: Decoded, found: Decoded) -> Iterator[str]:
    """Yield a sentence for each metric that differs, with its first differing points, and one for the other items."""
    for metric in sorted(known.points.keys() | found.points.keys()):
        old, new = known.points.get(metric, []), found.points.get(metric, [])
        if changed := list(_changed(old, new)):
            yield f"{metric}: {len(old)} points, now {len(new)}; {len(changed)} differ: {'; '.join(changed[:SHOWN])}"
    if changed := list(_changed(known.others, found.others)):
        yield f"{len(known.others)} other items, now {len(found.others)}: {'; '.join(changed[:SHOWN])}"


def load(*paths: Path) -> list[Decoded]:
    """Return the texts of these files, by default of both."""
    lines = [line for path in paths or (TEXTS, WRITTEN) for line in lzma.decompress(path.read_bytes()).splitlines()]
    return [Decoded(**json.loads(line)) for line in lines]


def save(texts: Iterable[Decoded], path: Path = TEXTS) -> None:
    lines = "".join(json.dumps(msgspec.to_builtins(text)) + "\n" for text in texts)
    path.write_bytes(lzma.compress(lines.encode(), preset=9))


def _changed(old: list[Any], new: list[Any]) -> Iterator[str]:
    """Yield "[1, 0.5, NaN], now nothing" for each place where two lists differ; NaN equals NaN, and 0.0 not -0.0."""
    for before, after in zip_longest(map(_as_text, old), map(_as_text, new), fillvalue="nothing"):
        if before != after:
            yield f"{before}, now {after}"


def _as_text(row: list[Any]) -> str:
    return json.dumps(row, sort_keys=True)
