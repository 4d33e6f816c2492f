"""Values in TensorBoard's event files that are not scalars: TensorBoard 1 and 2, torch, tensorboardX.

    Value       1 tag | 2 simple_value | 4 Image | 5 HistogramProto | 6 Audio | 8 TensorProto | 9 metadata
    Image       1 height | 2 width | 4 encoded_image_string
    Histogram   1 min | 2 max | 3 num | 4 sum | 5 sum_squares | 6 bucket_limit*, right edges | 7 bucket*
    Audio       1 sample_rate | 2 num_channels | 3 length_frames | 4 encoded_audio_string | 5 content_type

Tensors by plug-in: "histograms" [buckets, (left, right, count)], "pr_curves" [(true positives, false positives, true
negatives, false negatives, precision, recall), thresholds], "images" (width, height, image …), "audio" and "text" of
strings. A writer may name the plug-in in the first event of a tag only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import BYTES, VARINT, Message, fields, signed, varint
from tuimon.formats.tensorboard._event_content import DTYPES
from tuimon.formats.tensorboard._event_message import read_hparams
from tuimon.media import Distribution, Item, Kind, Moments, Part, PrecisionRecall, Reader
from tuimon.media.limits import distribution, without_infinite_ends
from tuimon.media.readers._records import event_records

_MAX_HPARAMS = 1000
_MAX_CURVE = 1000
_MAX_PLUGINS = 1 << 16
_MAX_BYTES = 8 << 20
"""Bytes of the numbers of a tensor or of buckets."""
_Found: TypeAlias = tuple[Item, list[bytes]]
"""An item, and the encoded content that it has in the record."""


def _items(path: str, advance: Callable[[int], None]) -> Iterator[Item]:
    plugins: dict[bytes, str] = {}
    with open(path, "rb") as file:
        for offset, record in event_records(file, advance):
            try:
                for item, contents in list(_event(record, plugins)):
                    parts = tuple(Part(path, offset + record.find(content), len(content)) for content in contents)
                    yield replace(item, parts=parts) if parts else item
            except (FormatError, ValueError):
                continue


def _event(record: bytes, plugins: dict[bytes, str]) -> Iterator[_Found]:
    step, summary = 0, (0, 0)
    for number, wire, start, end in fields(record, 0, len(record)):
        if number == 2 and wire == VARINT:
            step = signed(varint(record, start, end)[0])
        elif number == 5 and wire == BYTES:
            summary = start, end
    for number, wire, start, end in fields(record, *summary):
        if number == 1 and wire == BYTES:
            yield from _value(Message(record[start:end]), step, plugins)


def _value(value: Message, step: int, plugins: dict[bytes, str]) -> Iterator[_Found]:
    if 2 in value:
        return  # a scalar
    tag = value.text(1)
    if 4 in value:
        yield _image(value.message(4), tag, step)
    elif 5 in value:
        yield from _histogram(value.data(5), tag, step)
    elif 6 in value:
        yield _audio(value.message(6), tag, step)
    named = value.message(9).message(1)
    if plugin := named.text(1)[:64]:
        if len(plugins) < _MAX_PLUGINS:
            plugins[value.data(1)] = plugin
    else:
        plugin = plugins.get(value.data(1), "scalars")
    content = named.data(2)
    if plugin == "hparams" and (hparams := read_hparams(content, _MAX_HPARAMS)):
        yield Item(Kind.HPARAMS, tag, step, len(content), f"{len(hparams)} settings", hparams), []
    elif 8 in value and plugin in _TENSORS:
        yield from _TENSORS[plugin](value.data(8), tag, step)


def _image(image: Message, tag: str, step: int) -> _Found:
    content = image.data(4)
    kind = Kind.VIDEO if content.startswith(b"GIF8") else Kind.IMAGE  # add_video of PyTorch and tensorboardX
    return Item(kind, tag, step, len(content), f"{image.integer(2)}×{image.integer(1)}"), [content]


def _audio(audio: Message, tag: str, step: int) -> _Found:
    content, frames = audio.data(4), audio.integer(3)
    rate = float(np.frombuffer(audio.data(1) or bytes(4), "<f4")[0])
    seconds = f"{frames / rate:.3g} s " if 0 < rate < 1e9 else ""
    return Item(Kind.AUDIO, tag, step, len(content), f"{seconds}{audio.text(5)[:64]}".strip()), [content]


def _histogram(data: bytes, tag: str, step: int) -> Iterator[_Found]:
    histogram = Message(data)
    limits, counts = (_numbers(b"".join(histogram.all_bytes(number)), "<f8").tolist() for number in (6, 7))
    low, high = histogram.double(1), histogram.double(2)
    if limits and counts:
        edges = without_infinite_ends([min(low, limits[0]), *limits])
        edges[-1] = max(edges[-2], min(edges[-1], high)) if counts[-1] else edges[-1]
        if (shown := distribution(edges, counts)) is not None:
            shown = shown._replace(moments=_moments(histogram, shown))
            yield Item(Kind.HISTOGRAM, tag, step, len(data), "", shown), []


def _moments(histogram: Message, shown: Distribution) -> Moments | None:
    """Return the fields min, max, num and sum of a record, or None if its writer has left them out."""
    low, high, count = map(histogram.double, (1, 2, 3))  # proto3 omits zeros
    if not (count > 0 and low <= high and low <= shown.edges[-1] and high >= shown.edges[0]):
        return None
    has_sum = 4 in histogram or 5 in histogram or low == high == 0  # a sum of 0 is omitted, too
    return Moments(low, high, histogram.double(4) if has_sum else None, count)


def _histogram_tensor(data: bytes, tag: str, step: int) -> Iterator[_Found]:
    buckets = tensor(data)
    if buckets is None or buckets.ndim != 2 or buckets.shape[1] != 3 or not len(buckets):
        return
    shown = distribution([*buckets[:, 0].tolist(), float(buckets[-1, 1])], buckets[:, 2].tolist())
    if shown is not None:
        yield Item(Kind.HISTOGRAM, tag, step, len(data), "", shown), []


def _curve_tensor(data: bytes, tag: str, step: int) -> Iterator[_Found]:
    rows = tensor(data)
    if rows is None or rows.ndim != 2 or len(rows) != 6 or not 0 < rows.shape[1] <= _MAX_CURVE:
        return
    curve = PrecisionRecall(tuple(rows[4].tolist()), tuple(rows[5].tolist()))
    yield Item(Kind.PR_CURVE, tag, step, len(data), f"{rows.shape[1]} thresholds", curve), []


def _image_tensor(data: bytes, tag: str, step: int) -> Iterator[_Found]:
    width, height, *images = Message(data).all_bytes(8)  # fewer: not an image, a ValueError
    if images:
        count = f", {len(images)} images" if len(images) > 1 else ""
        detail = f"{width[:16].decode('utf-8', 'replace')}×{height[:16].decode('utf-8', 'replace')}{count}"
        yield Item(Kind.IMAGE, tag, step, _size(images), detail), images


def _audio_tensor(data: bytes, tag: str, step: int) -> Iterator[_Found]:
    strings = Message(data).all_bytes(8)
    if strings:
        form = "wav" if strings[0].startswith(b"RIFF") else ""
        yield Item(Kind.AUDIO, tag, step, _size(strings), form), strings[:1]  # the next string is a label


def _text_tensor(data: bytes, tag: str, step: int) -> Iterator[_Found]:
    if texts := Message(data).all_bytes(8):
        yield Item(Kind.TEXT, tag, step, _size(texts)), texts


def _size(contents: Iterable[bytes]) -> int:
    return sum(map(len, contents))


def tensor(data: bytes) -> npt.NDArray[np.float64] | None:
    """Return the elements of a TensorProto of float or double, in its shape; None if it is another tensor.

    Raises FormatError or ValueError if the message is malformed.
    """
    proto = Message(data)
    if proto.integer(1) not in DTYPES:
        return None
    dtype, place = DTYPES[proto.integer(1)]
    values = _numbers(proto.data(4) or b"".join(proto.all_bytes(place)), dtype)
    shape = [Message(size).integer(1) for size in proto.message(2).all_bytes(2)[:8]]
    if any(length < 0 for length in shape):
        return None
    return values.reshape(shape) if shape else values


def _numbers(data: bytes, dtype: str) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.frombuffer(data if len(data) <= _MAX_BYTES else b"", dtype).astype(np.float64)


_TENSORS = {
    "histograms": _histogram_tensor,
    "pr_curves": _curve_tensor,
    "images": _image_tensor,
    "audio": _audio_tensor,
    "text": _text_tensor,
}

READER = Reader("tensorboard", lambda name: "tfevents" in name and not name.endswith((".gz", ".zst", ".xz")), _items)
