"""The content of an Event: scalars, and other items (segment starts, texts, hyper-parameters, the writer).

A scalar is a float of the Event or a TensorProto of one element (tensorflow/core/framework/tensor.proto, types.proto).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from tuimon.formats._shared.protobuf import BYTES, VARINT, Message, fields, varint
from tuimon.formats._shared.settings_text import MAX_TEXT, read_settings
from tuimon.formats.tensorboard._event_message import SESSION_START, Event, read_hparams, read_texts
from tuimon.model.points import Fact, Item, SegmentStart, Topic

MAX_FACTS = 300
"""Facts of one topic per file; later ones are dropped."""
MAX_CHARACTERS = 8 << 10
"""Characters of a text that are kept."""
_MAX_HPARAMS = 1000
_MAX_TAGS = 1 << 16  # tags whose plugin is remembered
_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
DTYPES = {1: ("<f4", 5), 2: ("<f8", 6)}
"""DataType -> (numpy dtype, number of the field that may hold the elements instead of tensor_content). All libraries
convert scalars to one of them."""


class Scalar(NamedTuple):
    tag: bytes
    value: float
    offset: int
    """Position of the value's bytes."""
    dtype: str
    """Type of the bytes as a numpy dtype."""


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
                hparams = read_hparams(value.content, _MAX_HPARAMS)
                if hparams:
                    facts.append((Topic.HPARAMS, hparams))
            elif plugin == "text" and value.tensor and self._may_add(Topic.TEXT):
                tag = value.tag.decode("utf-8", "replace")
                texts = read_texts(data, *value.tensor, MAX_TEXT)
                if len(texts) == 1 and (settings := read_settings(tag, texts[0])):
                    facts.append((Topic.CONFIG, settings))
                facts += ((Topic.TEXT, {"tag": tag, "text": text[:MAX_CHARACTERS]}) for text in texts)
        for topic, fact in facts:
            if self._may_add(topic):
                self._fact_counts[topic] += 1
                items.append(Fact(topic, fact, event.step, when))
        return items


def _tensor_scalar(tag: bytes, data: bytes, start: int, end: int) -> Scalar | None:
    """Return the only element of the tensor message data[start:end]; None unless it is one float or double. Raises
    FormatError if the message is malformed."""
    dtype, has_one = 0, True
    spans: dict[int, list[tuple[int, int]]] = {}
    for number, wire, first, stop in fields(data, start, end):
        if number == _DTYPE and wire == VARINT:
            dtype = varint(data, first, stop)[0]
        elif number == _SHAPE and wire == BYTES:
            has_one = _has_one_element(Message(data[first:stop]))
        elif stop > first:
            spans.setdefault(number, []).append((first, stop))
    name, own = DTYPES.get(dtype, ("", 0))
    found = spans.get(_CONTENT) or spans.get(own, [])
    if not name or not has_one or len(found) != 1:
        return None
    first, stop = found[0]
    if stop - first != np.dtype(name).itemsize:
        return None
    return Scalar(tag, float(np.frombuffer(data, name, 1, first)[0]), first, name)


def _has_one_element(shape: Message) -> bool:
    """Return whether all dimensions of a TensorShapeProto are known and 1."""
    return not shape.integer(3) and all(Message(dimension).integer(1) == 1 for dimension in shape.all_bytes(2))
