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

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tuimon.errors import FormatError
from tuimon.formats._shared.protobuf import BYTES, FIXED32, FIXED64, VARINT, fields, signed, varint
from tuimon.formats.tensorboard._event_message import read_hparams
from tuimon.media import Distribution, Item, Kind, Moments, Part, PrecisionRecall, Reader
from tuimon.media.limits import MAX_TEXT, distribution, without_infinite_ends
from tuimon.media.readers._numbers import doubles, strings, tensor
from tuimon.media.readers._records import event_records

_MAX_HPARAMS = 1000
_MAX_CURVE = 1000
_MAX_PLUGINS = 1 << 16
_Span = tuple[int, int]


def _items(path: str, advance: Callable[[int], None]) -> Iterator[Item]:
    plugins: dict[bytes, str] = {}
    for offset, data in event_records(path, advance):
        try:
            for item in list(_event(data, plugins)):
                parts = tuple(Part(path, offset + start, size) for _, start, size in item.parts)
                yield replace(item, parts=parts) if parts else item
        except (FormatError, struct.error, ValueError):
            continue


def _event(data: bytes, plugins: dict[bytes, str]) -> Iterator[Item]:
    step, summary = 0, (0, 0)
    for number, wire, start, end in fields(data, 0, len(data)):
        if number == 2 and wire == VARINT:
            step = signed(varint(data, start, end)[0])
        elif number == 5 and wire == BYTES:
            summary = start, end
    for number, wire, start, end in fields(data, *summary):
        if number == 1 and wire == BYTES:
            yield from _value(data, start, end, step, plugins)


def _value(data: bytes, start: int, end: int, step: int, plugins: dict[bytes, str]) -> Iterator[Item]:
    key, parts = b"", dict[int, _Span]()
    for number, wire, first, stop in fields(data, start, end):
        if number == 1 and wire == BYTES:
            key = data[first:stop]
        elif number == 2 and wire == FIXED32:
            return  # a scalar
        elif wire == BYTES:
            parts[number] = first, stop
    tag = key.decode("utf-8", "replace")
    if 4 in parts:
        yield _image(data, parts[4], tag, step)
    elif 5 in parts:
        yield from _histogram(data, parts[5], tag, step)
    elif 6 in parts:
        yield _audio(data, parts[6], tag, step)
    plugin, content = _plugin(data, parts[9]) if 9 in parts else ("", None)
    if plugin and len(plugins) < _MAX_PLUGINS:
        plugins[key] = plugin
    plugin = plugin or plugins.get(key, "scalars")
    if plugin == "hparams" and content is not None and (hparams := read_hparams(data, *content, _MAX_HPARAMS)):
        yield Item(Kind.HPARAMS, tag, step, content[1] - content[0], f"{len(hparams)} settings", hparams)
    elif 8 in parts and plugin in _TENSORS:
        yield from _TENSORS[plugin](data, parts[8], tag, step)


def _plugin(data: bytes, span: _Span) -> tuple[str, _Span | None]:
    name, content = "", None
    for number, wire, start, end in fields(data, *span):
        if number == 1 and wire == BYTES:
            for inner, inner_wire, first, stop in fields(data, start, end):
                if inner == 1 and inner_wire == BYTES:
                    name = data[first : min(stop, first + 64)].decode("utf-8", "replace")
                elif inner == 2 and inner_wire == BYTES:
                    content = first, stop
    return name, content


def _image(data: bytes, span: _Span, tag: str, step: int) -> Item:
    height = width = size = begin = 0
    for number, wire, start, end in fields(data, *span):
        if number == 1 and wire == VARINT:
            height = varint(data, start, end)[0]
        elif number == 2 and wire == VARINT:
            width = varint(data, start, end)[0]
        elif number == 4 and wire == BYTES:
            begin, size = start, end - start
    kind = Kind.VIDEO if data.startswith(b"GIF8", begin) else Kind.IMAGE  # add_video of PyTorch and tensorboardX
    return Item(kind, tag, step, size, f"{width}×{height}", parts=(Part("", begin, size),))


def _audio(data: bytes, span: _Span, tag: str, step: int) -> Item:
    begin, size, rate, frames, name = 0, 0, 0.0, 0, ""
    for number, wire, start, end in fields(data, *span):
        if number == 1 and wire == FIXED32:
            rate = struct.unpack_from("<f", data, start)[0]
        elif number == 3 and wire == VARINT:
            frames = varint(data, start, end)[0]
        elif number == 4 and wire == BYTES:
            begin, size = start, end - start
        elif number == 5 and wire == BYTES:
            name = data[start : min(end, start + 64)].decode("utf-8", "replace")
    seconds = f"{frames / rate:.3g} s " if 0 < rate < 1e9 else ""
    return Item(Kind.AUDIO, tag, step, size, f"{seconds}{name}".strip(), parts=(Part("", begin, size),))


def _histogram(data: bytes, span: _Span, tag: str, step: int) -> Iterator[Item]:
    numbers = dict.fromkeys((1, 2), 0.0)  # proto3 omits zeros
    limits: list[float] = []
    counts: list[float] = []
    for number, wire, start, end in fields(data, *span):
        if number <= 5 and wire == FIXED64:
            [numbers[number]] = struct.unpack_from("<d", data, start)
        elif number == 6:
            limits += doubles(data, wire, start, end)
        elif number == 7:
            counts += doubles(data, wire, start, end)
    low, high = numbers[1], numbers[2]
    edges = without_infinite_ends([min(low, limits[0]), *limits]) if limits else []
    if edges and counts:
        edges[-1] = max(edges[-2], min(edges[-1], high)) if counts[-1] else edges[-1]
        shown = distribution(edges, counts)
        if shown is not None:
            shown = shown._replace(moments=_moments(numbers, shown))
            yield Item(Kind.HISTOGRAM, tag, step, span[1] - span[0], "", shown)


def _moments(numbers: dict[int, float], shown: Distribution) -> Moments | None:
    """Return the fields min, max, num and sum of a record, or None if its writer has left them out."""
    low, high, count = numbers[1], numbers[2], numbers.get(3, 0.0)
    if not (count > 0 and low <= high and low <= shown.edges[-1] and high >= shown.edges[0]):
        return None
    has_sum = 4 in numbers or 5 in numbers or low == high == 0  # a sum of 0 is omitted, too
    return Moments(low, high, numbers.get(4, 0.0) if has_sum else None, count)


def _histogram_tensor(data: bytes, span: _Span, tag: str, step: int) -> Iterator[Item]:
    buckets = tensor(data, *span)
    if buckets is None or buckets.ndim != 2 or buckets.shape[1] != 3 or not len(buckets):
        return
    shown = distribution([*buckets[:, 0].tolist(), float(buckets[-1, 1])], buckets[:, 2].tolist())
    if shown is not None:
        yield Item(Kind.HISTOGRAM, tag, step, span[1] - span[0], "", shown)


def _curve_tensor(data: bytes, span: _Span, tag: str, step: int) -> Iterator[Item]:
    rows = tensor(data, *span)
    if rows is None or rows.ndim != 2 or len(rows) != 6 or not 0 < rows.shape[1] <= _MAX_CURVE:
        return
    curve = PrecisionRecall(tuple(rows[4].tolist()), tuple(rows[5].tolist()))
    yield Item(Kind.PR_CURVE, tag, step, span[1] - span[0], f"{rows.shape[1]} thresholds", curve)


def _image_tensor(data: bytes, span: _Span, tag: str, step: int) -> Iterator[Item]:
    texts = strings(data, *span)
    if len(texts) < 3:
        return
    width, height = (data[start : min(stop, start + 16)].decode("utf-8", "replace") for start, stop in texts[:2])
    images = _parts(texts[2:])
    count = f", {len(images)} images" if len(images) > 1 else ""
    size = sum(image.size for image in images)
    yield Item(Kind.IMAGE, tag, step, size, f"{width}×{height}{count}", parts=images)


def _audio_tensor(data: bytes, span: _Span, tag: str, step: int) -> Iterator[Item]:
    texts = strings(data, *span)
    if texts:
        form = "wav" if data[texts[0][0] : texts[0][1]].startswith(b"RIFF") else ""
        size = sum(stop - start for start, stop in texts)
        yield Item(Kind.AUDIO, tag, step, size, form, parts=_parts(texts[:1]))  # the next string is a label


def _parts(spans: Iterable[_Span]) -> tuple[Part, ...]:
    """Return spans of a record as parts; `_items` adds the file and the offset of the record."""
    return tuple(Part("", start, stop - start) for start, stop in spans)


def _text_tensor(data: bytes, span: _Span, tag: str, step: int) -> Iterator[Item]:
    texts = strings(data, *span)
    shown = (data[start : min(stop, start + MAX_TEXT)].decode("utf-8", "replace") for start, stop in texts)
    text = "\n".join(shown)[:MAX_TEXT]
    if texts:
        yield Item(Kind.TEXT, tag, step, sum(stop - start for start, stop in texts), "", text)


_TENSORS = {
    "histograms": _histogram_tensor,
    "pr_curves": _curve_tensor,
    "images": _image_tensor,
    "audio": _audio_tensor,
    "text": _text_tensor,
}

READER = Reader("tensorboard", lambda name: "tfevents" in name and not name.endswith((".gz", ".zst", ".xz")), _items)
