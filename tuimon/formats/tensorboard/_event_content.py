"""The content of an Event: scalars, and other items (segment starts, texts, hyper-parameters, the writer).

A scalar is a float of the Event or a TensorProto of one element (tensorflow/core/framework/tensor.proto, types.proto).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tuimon.formats._shared.protobuf import BYTES, VARINT, fields, signed, varint
from tuimon.formats._shared.settings_text import MAX_TEXT, read_settings
from tuimon.formats.tensorboard._event_message import SESSION_START, Event, read_hparams, read_texts
from tuimon.model.points import Fact, Item, SegmentStart, Topic

MAX_FACTS = 300
"""Facts of one topic per file; later ones are dropped."""
MAX_TEXT_BYTES = 8 << 10
"""Bytes of a text that are kept."""
_MAX_HPARAMS = 1000
_MAX_TAGS = 1 << 16  # tags whose plugin is remembered
_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_DTYPES = {
    1: ("<f4", 5), 2: ("<f8", 6), 3: ("<i4", 7), 4: ("<u1", 7), 5: ("<i2", 7), 6: ("<i1", 7), 9: ("<i8", 10),
    10: ("<u1", 11), 14: ("bf", 13), 17: ("<u2", 7), 19: ("<f2", 13), 22: ("<u4", 16), 23: ("<u8", 17),
}  # fmt: skip
"""DataType -> (numpy dtype of an element in tensor_content, "bf" for bfloat16; number of the field that may hold the
elements instead: float_val, double_val, int_val …)."""
_FIXED = (5, 6)
"""Of these fields those whose elements are no varints."""


class Scalar(NamedTuple):
    tag: bytes
    value: float
    offset: int
    """Position of the value's bytes, -1 if it is a varint."""
    dtype: str
    """Type of the bytes as a numpy dtype; "bf" is bfloat16."""


class EventContent:
    """Reads the content of events, and remembers the plugin of each tag: a writer may name it in the first event
    only."""

    def __init__(self) -> None:
        self._plugins: dict[bytes, str] = {}
        self._fact_counts: Counter[str] = Counter()  # facts so far, by topic

    def scalars(self, data: bytes, event: Event) -> list[Scalar]:
        """Return the scalars among the event's values, in their order. Raises FormatError for a broken tensor."""
        scalars = []
        for value in event.values:
            if value.simple is not None:
                scalars.append(Scalar(value.tag, value.simple, value.simple_offset, "<f4"))
            elif value.tensor and (value.plugin or self._plugins.get(value.tag, "scalars")) == "scalars":
                scalar = _tensor_scalar(value.tag, data, *value.tensor)
                if scalar:
                    scalars.append(scalar)
        return scalars

    def has_other_items(self, event: Event) -> bool:
        """Return whether `other_items` would return anything for the event, or remember a plugin."""
        if event.session_status == SESSION_START or (event.writer and self._may_add(Topic.WRITER)):
            return True
        for value in event.values:
            if value.plugin:
                known = self._plugins.get(value.tag)
                if value.plugin != known and (known is not None or len(self._plugins) < _MAX_TAGS):
                    return True
                if value.plugin == "hparams" and value.content and self._may_add(Topic.HPARAMS):
                    return True
            if value.tensor and self._plugins.get(value.tag) == "text" and self._may_add(Topic.TEXT):
                return True
        return False

    def _may_add(self, topic: Topic) -> bool:
        return self._fact_counts[topic] < MAX_FACTS

    def other_items(self, data: bytes, event: Event) -> list[Item]:
        """Return segment starts and facts of an event whose checksum has been verified. Raises FormatError if it is
        malformed."""
        items: list[Item] = []
        when = None if event.wall_time != event.wall_time else event.wall_time
        if event.session_status == SESSION_START:
            items.append(SegmentStart(event.step, purge=True))
        facts: list[tuple[Topic, dict[str, Any]]] = []
        if event.writer:
            facts.append((Topic.WRITER, {"name": event.writer, "version": event.file_version}))
        for value in event.values:
            if value.plugin and (value.tag in self._plugins or len(self._plugins) < _MAX_TAGS):
                self._plugins[value.tag] = value.plugin
            plugin = value.plugin or self._plugins.get(value.tag, "")
            if plugin == "hparams" and value.content:
                hparams = read_hparams(data, *value.content, _MAX_HPARAMS)
                if hparams:
                    facts.append((Topic.HPARAMS, hparams))
            elif plugin == "text" and value.tensor:
                tag = value.tag.decode("utf-8", "replace")
                texts = read_texts(data, *value.tensor, MAX_TEXT)
                if len(texts) == 1 and self._may_add(Topic.CONFIG) and (settings := read_settings(tag, texts[0])):
                    facts.append((Topic.CONFIG, settings))
                facts += ((Topic.TEXT, {"tag": tag, "text": text}) for text in _cut(texts))
        for topic, fact in facts:
            if self._may_add(topic):
                self._fact_counts[topic] += 1
                items.append(Fact(topic, fact, event.step, when))
        return items


def _cut(texts: list[str]) -> Iterator[str]:
    """Yield the texts, cut to MAX_TEXT_BYTES in all."""
    left = MAX_TEXT_BYTES
    for text in texts:
        if left <= 0:
            return
        data = text.encode()
        yield text if len(data) <= left else data[:left].decode("utf-8", "replace")
        left -= len(data)


def _tensor_scalar(tag: bytes, data: bytes, start: int, end: int) -> Scalar | None:
    """Return the only element of the tensor message data[start:end]; None unless it has exactly one real number. bool,
    half, bfloat16, float, double and all integers up to 64 bits are supported. Raises FormatError if the message is
    malformed."""
    dtype = 0
    elements = 1
    content: tuple[int, int] | None = None
    lists: list[tuple[int, int, int, int]] = []
    for number, wire, first, stop in fields(data, start, end):
        if number == _DTYPE and wire == VARINT:
            dtype = varint(data, first, stop)[0]
        elif number == _SHAPE and wire == BYTES:
            elements = _element_count(data, first, stop)
        elif number == _CONTENT and wire == BYTES:
            content = (first, stop) if stop > first else None
        else:
            lists.append((number, wire, first, stop))
    if dtype not in _DTYPES or elements != 1:
        return None
    name, list_number = _DTYPES[dtype]
    spans = [(first, stop) for number, _, first, stop in lists if number == list_number and stop > first]
    if content is not None:
        first, stop = content
    elif len(spans) == 1:
        first, stop = spans[0]
        if list_number not in _FIXED:
            value, after = varint(data, first, stop)
            return Scalar(tag, _number(value.to_bytes(8, "little"), name), -1, "") if after == stop else None
    else:
        return None
    return Scalar(tag, _number(data[first:stop], name), first, name) if stop - first == _size(name) else None


def _element_count(data: bytes, start: int, end: int) -> int:
    """Product of the dimensions of a TensorShapeProto; -1 if it is unknown."""
    sizes = []
    for number, wire, first, stop in fields(data, start, end):
        if number == 3 and wire == VARINT and varint(data, first, stop)[0]:
            return -1
        if number == 2 and wire == BYTES:
            size = 0
            for inner, inner_wire, begin, until in fields(data, first, stop):
                if inner == 1 and inner_wire == VARINT:
                    size = signed(varint(data, begin, until)[0])
            sizes.append(size)
            if len(sizes) > 254:
                return -1
    return -1 if any(size != 1 for size in sizes) else 1


def _size(name: str) -> int:
    return 2 if name == "bf" else np.dtype(name).itemsize


def _number(element: bytes, name: str) -> float:
    """Return the number in the first bytes of an element. A bfloat16 is the upper half of a float32."""
    if name == "bf":
        return float(np.frombuffer(b"\0\0" + element[:2], "<f4")[0])
    return float(np.frombuffer(element, name, 1)[0])
