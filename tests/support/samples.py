"""All logs below tests/data that tuimon recognises, by format id, and what decoders return for them.

Compressed samples are unpacked. A database is recognised as in the reader, by its first bytes and schema.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tuimon.formats import (
    DatabaseDecoder,
    DocumentDecoder,
    Format,
    JournalDecoder,
    StreamDecoder,
    all_formats,
    recognise,
)
from tuimon.reader.recognition import HEAD
from tuimon.sources.sqlite_copy import MAGIC, schema

DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True)
class Sample:
    """A log of one format."""

    format: Format
    path: str
    """Path below tests/data, with the names of archives without their suffixes."""
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"{self.format.id}:{self.path}"

    @property
    def is_text(self) -> bool:
        return b"\0" not in self.data


@cache
def samples() -> dict[str, tuple[Sample, ...]]:
    """Format id -> distinct samples, sorted by size."""
    result: dict[str, dict[bytes, Sample]] = defaultdict(dict)
    for path, data in _files():
        log_format = recognise(f"/{path}", _head(data))
        if log_format is not None and data:
            result[log_format.id].setdefault(data, Sample(log_format, path, data))
    return {id: tuple(sorted(group.values(), key=lambda s: (len(s.data), s.path))) for id, group in result.items()}


def some(id: str, count: int, limit: int = 1 << 20) -> list[Sample]:
    """Return up to `count` samples of a format that are at most `limit` bytes long, spread over their sizes; at least
    one."""
    known = samples().get(id, ())
    small = [sample for sample in known if len(sample.data) <= limit] or list(known[:1])
    if len(small) <= count:
        return small
    if count == 1:
        return [small[len(small) // 2]]
    return [small[round(position * (len(small) - 1) / (count - 1))] for position in range(count)]


def kind(log_format: Format) -> str:
    """stream | document | database | journal | unsupported."""
    if log_format.unsupported:
        return "unsupported"
    decoder = log_format.decoder()
    kinds = {
        "stream": StreamDecoder,
        "document": DocumentDecoder,
        "database": DatabaseDecoder,
        "journal": JournalDecoder,
    }
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


def cases(wanted: str, count: int, limit: int = 1 << 20) -> list[Sample]:
    """Up to `count` samples of each format of that kind."""
    return [sample for log_format in formats_of(wanted) for sample in some(log_format.id, count, limit)]
