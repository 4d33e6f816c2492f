"""Saving the content of an item: images, audio and video as they were logged, numbers as CSV."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tuimon import lazy_re as re
from tuimon.media import Distribution, Item, Kind, Part, PrecisionRecall
from tuimon.media.limits import CHUNK
from tuimon.redact import redacted_text
from tuimon.sources.files import open_regular
from tuimon.text import decoded

_LONGEST_NAME = 60
_MOST_BYTES = 32 << 20
"""Size (bytes) up to which an encoded picture is read."""
_SIGNATURES = (
    (re.compile(rb"\x89PNG"), ".png"),
    (re.compile(rb"\xff\xd8\xff"), ".jpg"),
    (re.compile(rb"GIF8"), ".gif"),
    (re.compile(rb"BM"), ".bmp"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), ".webp"),
    (re.compile(rb"RIFF....WAVE", re.DOTALL), ".wav"),
    (re.compile(rb"OggS"), ".ogg"),
    (re.compile(rb"fLaC"), ".flac"),
    (re.compile(rb"ID3|\xff[\xe2\xe3\xf2\xf3\xfb]"), ".mp3"),
    (re.compile(rb"....ftyp", re.DOTALL), ".mp4"),
    (re.compile(rb"\x1a\x45\xdf\xa3"), ".webm"),
)
"""First bytes and file name extension of each format."""


def picture_problem(item: Item) -> str:
    """Return why an item has no picture, as a sentence; "" if it may have one: an image, or a GIF."""
    moves = any(part.size >= 0 or part.file.lower().endswith(".gif") for part in item.parts[:1])  # in event files: GIF
    if item.kind is not Kind.IMAGE and not (item.kind is Kind.VIDEO and moves):
        return f"{item.kind} is not shown; it can be saved"
    return "" if item.parts else "The file of the picture is not beside the log"


def picture_data(part: Part) -> bytes:
    """Return the encoded picture at a place. Raises OSError, also for one that is too large to be shown."""
    pieces, size = [], 0
    for piece in _pieces(part):
        size += len(piece)
        if size > _MOST_BYTES:
            raise OSError(f"larger than {_MOST_BYTES >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def can_save(item: Item) -> bool:
    """Return whether `save` can write the content of an item."""
    return bool(item.parts) or isinstance(item.content, Distribution | PrecisionRecall)


def save(item: Item, name_file: Callable[[str], Path]) -> list[Path]:
    """Write the content of an item to new files and return their paths. name_file: returns the path of a file from the
    end of its name. Raises OSError, and leaves no file of which a part is missing."""
    name = f"-{_plain(item.tag)}-step-{item.step}"
    if isinstance(item.content, Distribution | PrecisionRecall):
        return [_write(name_file(f"{name}.csv"), (line.encode() for line in _lines(item.content)))]
    paths = []
    for number, part in enumerate(item.parts, 1):
        which = f"-{number}" if len(item.parts) > 1 else ""
        paths.append(_write(name_file(f"{name}{which}{suffix_of(item, part)}"), content_of_part(item, part)))
    return paths


def _lines(content: Distribution | PrecisionRecall) -> Iterator[str]:
    """Yield the lines of a CSV file, with every digit."""
    if isinstance(content, PrecisionRecall):
        yield "precision,recall\n"
        yield from (f"{precision!r},{recall!r}\n" for precision, recall in zip(*content, strict=True))
        return
    yield "low,high,count\n"
    edges = content.edges
    yield from (f"{edges[i]!r},{edges[i + 1]!r},{count!r}\n" for i, count in enumerate(content.counts))


def _pieces(part: Part) -> Iterator[bytes]:
    """Yield the bytes of a part. Raises OSError if the file is shorter now."""
    descriptor, _ = open_regular(part.file)
    with os.fdopen(descriptor, "rb") as file:
        file.seek(part.start)
        left = part.size
        while left:
            piece = file.read(CHUNK if left < 0 else min(CHUNK, left))
            if not piece:
                break
            left -= len(piece) if left > 0 else 0
            yield piece
        if left > 0:
            raise OSError("the log file has changed")


def _write(path: Path, pieces: Iterable[bytes]) -> Path:
    """Write a file that does not exist yet, whole or not at all."""
    with path.open("xb") as file:
        try:
            file.writelines(pieces)
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path


def content_of_part(item: Item, part: Part) -> Iterator[bytes]:
    """Yield the bytes of a part as they were logged, those of a text without its secrets."""
    if item.kind is Kind.TEXT:
        yield redacted_text(decoded(b"".join(_pieces(part)))).encode("utf-8", "replace")
    else:
        yield from _pieces(part)


def suffix_of(item: Item, part: Part) -> str:
    """Return the suffix of the file name of a part by its first bytes, else by its file or the kind of its item."""
    first = next(_pieces(part), b"")
    for signature, suffix in _SIGNATURES:
        if signature.match(first):
            return suffix
    if part.size >= 0:
        return ".txt" if item.kind is Kind.TEXT else ".bin"
    own = Path(part.file).suffix.lower()
    return own if re.fullmatch(r"\.[a-z0-9]{1,8}", own) else ".bin"


def _plain(tag: str) -> str:
    """Return a tag as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", tag)[-_LONGEST_NAME:].strip("-.") or "value"
