"""Values in SwanLab's run files that are not scalars.

Versions 0 and 1: {"model_type": "Media", "data": {"key", "step", "metric": {"data": [name or text]}}}
Version 2: record 14 {key=1 step=2 value=5 {file=1* {name=1 size=3}}}; the kind follows from the name of the file.

The files are below `media` beside the log, in directories whose names are not in the log. A name has the step and a
hash of the content, such as 001-f7eba739.png: files of the same name are equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.protobuf import Message
from tuimon.formats.swanlab.run_file import MAGIC
from tuimon.media import Item, Kind, Part, Reader
from tuimon.media.limits import MAX_TEXT
from tuimon.media.readers._records import block_records

_MEDIA = 14
_KINDS = {
    **dict.fromkeys(("png", "jpg", "jpeg", "bmp", "webp"), Kind.IMAGE),
    **dict.fromkeys(("wav", "mp3", "flac", "ogg"), Kind.AUDIO),
    **dict.fromkeys(("mp4", "gif", "webm"), Kind.VIDEO),
    **dict.fromkeys(("json",), Kind.TABLE),
    **dict.fromkeys(("txt",), Kind.TEXT),
    **dict.fromkeys(("html", "glb", "pdb"), Kind.OTHER),
}
_POINT_CLOUD = ".swanlab.pts.json"

_HASHED = re.compile(r"\d+-[0-9a-f]{8}\.[\w.]+")
_MAX_FILES = 100_000
_Files = dict[str, list[str]]


def _items(path: str, advance: Callable[[int], None]) -> Iterator[Item]:
    files = _files(Path(path).parent / "media")
    for record in block_records(path, MAGIC, advance):
        try:
            items = list(_json(record) if record[:1] == b"{" else _protobuf(record))
        except FormatError:
            continue
        for item in items:
            parts = _parts(item.parts, files)
            yield replace(item, parts=parts, file=parts[0].file if parts and item.kind is Kind.TABLE else "")


def _files(media: Path) -> _Files:
    """Return the paths of the files in the directories in `media`, by name, without links, which may lead anywhere."""
    files: _Files = {}
    with suppress(OSError):
        folders = sorted(folder.path for folder in os.scandir(media) if folder.is_dir(follow_symlinks=False))
        for file in islice(chain.from_iterable(map(os.scandir, folders)), _MAX_FILES):
            if file.is_file(follow_symlinks=False):
                files.setdefault(file.name, []).append(file.path)
    return files


def _parts(names: tuple[Part, ...], files: _Files) -> tuple[Part, ...]:
    """Return the parts with the path of the file for its name, or () if the file of a name is missing or unknown."""
    candidates = [files.get(part.file, []) for part in names]
    known = all(
        paths and (len(paths) == 1 or _HASHED.fullmatch(part.file))
        for part, paths in zip(names, candidates, strict=True)
    )
    return tuple(Part(paths[0]) for paths in candidates) if known else ()


def _protobuf(record: bytes) -> Iterator[Item]:
    for data in Message(record).all_bytes(_MEDIA):
        media = Message(data)
        files = [Message(file) for file in media.message(5).all_bytes(1)]
        if files:
            sizes = sum(max(file.integer(3), 0) for file in files)
            yield _named(media.text(1), media.integer(2), [file.text(1) for file in files], sizes)


def _json(record: bytes) -> Iterator[Item]:
    if b'"Media"' not in record:
        return
    value = parse(record)
    data = value.get("data") if isinstance(value, dict) and value.get("model_type") == "Media" else None
    metric = data.get("metric") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(metric, dict):
        return
    key, step, names = data.get("key"), data.get("step"), metric.get("data")
    if isinstance(key, str) and isinstance(step, int) and isinstance(names, list) and names:
        yield _named(key, step, [name for name in names if isinstance(name, str)], 0)


def _named(tag: str, step: int, names: list[Any], size: int) -> Item:
    """Return an item of files with these names; a name that has no known extension is a text itself."""
    first = names[0] if names else ""
    kind = _KINDS.get(first.rpartition(".")[2].lower()) if len(first) < 256 else None
    if kind is None:
        text = "\n".join(names)
        return Item(Kind.TEXT, tag, step, len(text.encode("utf-8", "replace")), "", text[:MAX_TEXT])
    more = f", {len(names)} files" if len(names) > 1 else ""
    kind = Kind.OTHER if first.endswith(_POINT_CLOUD) else kind
    return Item(kind, tag, step, size, f"{first}{more}", parts=tuple(map(Part, names)))


READER = Reader("swanlab", lambda name: name.endswith(".swanlab"), _items)
