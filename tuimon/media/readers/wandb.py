"""Values in W&B's `.wandb` files that are not scalars: objects with "_type" in the history, as one JSON text or
as an item for each of their fields.

histogram           values | packedBins {min, size, count}, bins        counts and edges
image-file          path, size, width, height, format; images/separated: filenames or filename …, count
audio-file, video-file, html-file, plotly-file, table-file {nrows, ncols}, object3D-file …: path, size
audio, videos, html                             count, and under the name of the type a list of such files
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import Message
from tuimon.formats.wandb._history import item_path, item_value, store_item
from tuimon.formats.wandb.run_file import MAGIC
from tuimon.media import Item, Kind, Part, Reader
from tuimon.media.limits import distribution
from tuimon.media.readers._records import block_records
from tuimon.media.tables import media_file, table_file

_MAX_BINS = 1 << 16
_KINDS = {"image": Kind.IMAGE, "images": Kind.IMAGE, "audio": Kind.AUDIO, "video": Kind.VIDEO, "videos": Kind.VIDEO}
_TABLES = ("table", "partitioned-table", "joined-table")


def _items(path: str, advance: Callable[[int], None]) -> Iterator[Item]:
    for record in block_records(path, MAGIC, advance):
        if b"_type" not in record:
            continue
        try:
            yield from list(_row(Message(record).message(2), path))
        except FormatError:
            continue


def _row(row: Message, path: str) -> Iterator[Item]:
    """Yield the items of a row of the history in the log at `path`."""
    step = row.message(2).integer(1)
    values: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for data in row.all_bytes(1):
        item = Message(data)
        *parents, key = item_path(item)
        if key == "_step" and 2 not in row and isinstance(value := item_value(item), int):
            step = value
        store_item(values, item)
        top = ".".join(parents) or key
        sizes[top] = sizes.get(top, 0) + len(item.data(16))
    waiting = [(name, value) for name, value in values.items() if isinstance(value, dict)]
    while waiting:
        name, value = waiting.pop()
        if "_type" in value:
            made = _item(name, value, step, sizes.get(name, 0), path)
            if made is not None:
                yield made
        else:
            waiting.extend((f"{name}.{key}", inner) for key, inner in value.items() if isinstance(inner, dict))


def _item(tag: str, value: dict[str, Any], step: int, encoded: int, log: str) -> Item | None:
    form = value.get("_type")
    if not isinstance(form, str):
        return None
    if form == "histogram":
        shown = distribution(_edges(value), [*map(_number, _list(value.get("values")))])
        return Item(Kind.HISTOGRAM, tag, step, encoded, "", shown) if shown else None
    base = form.removesuffix("-file").partition("/")[0]
    kind = Kind.TABLE if base in _TABLES else _KINDS.get(base, Kind.OTHER)
    file = table_file(log, value.get("path")) if kind is Kind.TABLE else ""
    files = [value, *(file for file in _list(value.get(base)) if isinstance(file, dict))]
    names = [name for name in (*(file.get("path") for file in files), *_list(value.get("filenames"))) if name]
    parts = tuple(Part(path) for name in names if (path := media_file(log, name)))
    size = sum(_whole(file.get("size")) for file in files) or sum(map(_size, parts))
    return Item(kind, tag, step, size, _detail(kind, form, value, names), file=file, parts=parts)


def _size(part: Part) -> int:
    """Return the size of a file, which the log does not have for lists of images."""
    try:
        return os.stat(part.file).st_size  # noqa: PTH116
    except OSError:
        return 0


def _detail(kind: Kind, form: str, value: dict[str, Any], names: list[Any]) -> str:
    """Return dimensions and the name of the first file."""
    parts = [form.removesuffix("-file")] if kind is Kind.OTHER else []
    if value.get("width") and value.get("height"):
        parts.append(f"{_whole(value['width'])}×{_whole(value['height'])}")
    if value.get("nrows") is not None and value.get("ncols") is not None:
        parts.append(f"{_whole(value['nrows'])} rows × {_whole(value['ncols'])} columns")
    if _whole(value.get("count")) > 1:
        parts.append(f"{_whole(value['count'])} files")
    if names and isinstance(names[0], str):
        parts.append(names[0].rpartition("/")[2])
    return ", ".join(parts)


def _edges(value: dict[str, Any]) -> list[float]:
    packed = value.get("packedBins")
    if isinstance(packed, dict):
        low, width, count = _number(packed.get("min")), _number(packed.get("size")), _whole(packed.get("count"))
        return [low + width * index for index in range(min(count, _MAX_BINS) + 1)]
    return [*map(_number, _list(value.get("bins")))]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) and len(value) <= _MAX_BINS else []


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else 0


READER = Reader("wandb", lambda name: name.endswith(".wandb"), _items)
