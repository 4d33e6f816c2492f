"""What an Event says: its scalars, and what else is worth knowing (a restart, texts, hyper-parameters, the writer)."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from tuimon.formats._tensor_scalar import tensor_scalar
from tuimon.formats._tensorboard_event import SESSION_START, Event, read_hparams, read_texts
from tuimon.model.points import Fact, Item, SegmentStart

MAX_FACTS = 300
"""Of one kind and file; later ones are not told."""
MAX_TEXT_BYTES = 8 << 10
"""Bytes of a text that are kept."""
_MAX_HPARAMS = 1000
_MAX_TAGS = 1 << 16
"""Tags whose plugin is remembered."""


class Scalar(NamedTuple):
    tag: bytes
    value: float
    offset: int
    """Where the value's bytes are, -1 when it is a varint."""
    dtype: str
    """See TensorScalar."""


class EventContent:
    """Remembers which plugin a tag belongs to: a writer may say so on the tag's first event only."""

    def __init__(self) -> None:
        self._plugins: dict[bytes, str] = {}
        self._told: Counter[str] = Counter()
        """Facts by topic."""

    def scalars(self, data: bytes, event: Event) -> list[Scalar]:
        """The scalars among the event's values, in their order. Raises FormatError for a broken tensor."""
        found = []
        for value in event.values:
            if value.simple is not None:
                found.append(Scalar(value.tag, value.simple, value.simple_offset, "<f4"))
            elif value.tensor and (value.plugin or self._plugins.get(value.tag, "scalars")) == "scalars":
                scalar = tensor_scalar(data, *value.tensor)
                if scalar:
                    found.append(Scalar(value.tag, *scalar))
        return found

    def is_news(self, event: Event) -> bool:
        """Does the event hold something that `tell` would give or remember?"""
        if event.session_status == SESSION_START or (event.writer and self._wants("writer")):
            return True
        for value in event.values:
            if value.plugin:
                known = self._plugins.get(value.tag)
                if value.plugin != known and (known is not None or len(self._plugins) < _MAX_TAGS):
                    return True
                if value.plugin == "hparams" and value.content and self._wants("hparams"):
                    return True
            if value.tensor and self._plugins.get(value.tag) == "text" and self._wants("text"):
                return True
        return False

    def _wants(self, topic: str) -> bool:
        return self._told[topic] < MAX_FACTS

    def tell(self, data: bytes, event: Event) -> list[Item]:
        """Segment starts and facts of an event whose checksum is right. Raises FormatError for a broken message."""
        told: list[Item] = []
        when = None if event.wall_time != event.wall_time else event.wall_time
        if event.session_status == SESSION_START:
            told.append(SegmentStart(event.step, purge=True))
        facts: list[tuple[str, dict[str, Any]]] = []
        if event.writer:
            facts.append(("writer", {"name": event.writer, "version": event.file_version}))
        for value in event.values:
            if value.plugin and (value.tag in self._plugins or len(self._plugins) < _MAX_TAGS):
                self._plugins[value.tag] = value.plugin
            plugin = value.plugin or self._plugins.get(value.tag, "")
            if plugin == "hparams" and value.content:
                hparams = read_hparams(data, *value.content, _MAX_HPARAMS)
                if hparams:
                    facts.append(("hparams", hparams))
            elif plugin == "text" and value.tensor:
                tag = value.tag.decode("utf-8", "replace")
                texts = read_texts(data, *value.tensor, MAX_TEXT_BYTES)
                facts += (("text", {"tag": tag, "text": text}) for text in texts)
        for topic, fact in facts:
            if self._wants(topic):
                self._told[topic] += 1
                told.append(Fact(topic, fact, event.step, when))
        return told
