"""What a reader's events say, put together the plain way: no columns, no store, only what was told."""

from __future__ import annotations

from collections.abc import Iterable

from tuimon.model.events import (
    Columns,
    Event,
    FactFound,
    MetricsFound,
    Notice,
    RunFound,
    StreamFound,
    StreamReplaced,
    StreamStatus,
)
from tuimon.model.points import Fact
from tuimon.reader import Collector


def everything(collector: Collector) -> list[Event]:
    """Looks for logs and reads all there is."""
    found = list(collector.find())
    while True:
        found += collector.read()
        if not collector.behind:
            break
    return found + list(collector.flush())


class Heard:
    """What was told so far; feed it events in their order."""

    def __init__(self) -> None:
        self.runs: dict[int, RunFound] = {}
        self.streams: dict[int, StreamFound] = {}
        self.status: dict[int, StreamStatus] = {}
        self.notices: list[Notice] = []
        self.replaced = 0
        self._names: dict[int, dict[int, str]] = {}
        self._points: dict[int, dict[str, list[tuple[int, str]]]] = {}
        self._facts: dict[int, list[Fact]] = {}

    def feed(self, events: Iterable[Event]) -> Heard:
        for event in events:
            match event:
                case RunFound():
                    self.runs[event.run] = event
                case StreamFound():
                    self.streams[event.stream] = event
                case StreamStatus():
                    self.status[event.stream] = event
                case Notice():
                    self.notices.append(event)
                case FactFound():
                    self._facts.setdefault(event.stream, []).append(event.fact)
                case MetricsFound():
                    names = self._names.setdefault(event.stream, {})
                    names.update(enumerate(event.names, event.first))
                case StreamReplaced():
                    self.replaced += 1
                    self._points.pop(event.stream, None)
                    self._facts.pop(event.stream, None)
                case Columns():
                    self._append(event)
        return self

    def _append(self, event: Columns) -> None:
        at = 0
        for metric, count in zip(event.metric.tolist(), event.counts.tolist(), strict=True):
            rows = self._points.setdefault(event.stream, {}).setdefault(self._names[event.stream][metric], [])
            part = slice(at, at + count)
            rows += zip(event.steps[part].tolist(), map(repr, event.values[part].tolist()), strict=True)
            at += count

    @property
    def points(self) -> dict[str, list[tuple[int, str]]]:
        """ "<source>::<metric>" -> (step, repr(value)), the streams of a source in their order."""
        found: dict[str, list[tuple[int, str]]] = {}
        for stream in sorted(self._points, key=lambda stream: self.streams[stream].order):
            source = self.streams[stream].source
            for metric, rows in self._points[stream].items():
                found.setdefault(f"{source}::{metric}", []).extend(rows)
        return found

    def facts(self, topic: str) -> dict[str, list[Fact]]:
        """Source -> its facts on a topic, where it has any."""
        found: dict[str, list[Fact]] = {}
        for stream, facts in self._facts.items():
            if of_topic := [fact for fact in facts if fact.topic == topic]:
                found.setdefault(self.streams[stream].source, []).extend(of_topic)
        return found
