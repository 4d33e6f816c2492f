"""Reader events collected in plain lists, independently of the store."""

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


def read_all(collector: Collector) -> list[Event]:
    """Find logs and read them to their ends."""
    events = list(collector.find())
    while True:
        events += collector.read()
        if not collector.behind:
            break
    return events + list(collector.flush())


class EventLog:
    """Content of the events fed so far."""

    def __init__(self) -> None:
        self.runs: dict[int, RunFound] = {}
        self.streams: dict[int, StreamFound] = {}
        self.status: dict[int, StreamStatus] = {}
        self.notices: list[Notice] = []
        self.replaced = 0
        self._names: dict[int, dict[int, str]] = {}
        self._points: dict[int, dict[str, list[tuple[int, str]]]] = {}
        self._facts: dict[int, list[Fact]] = {}

    def feed(self, events: Iterable[Event]) -> EventLog:
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
        start = 0
        for metric, count in zip(event.metric.tolist(), event.counts.tolist(), strict=True):
            rows = self._points.setdefault(event.stream, {}).setdefault(self._names[event.stream][metric], [])
            part = slice(start, start + count)
            rows += zip(event.steps[part].tolist(), map(repr, event.values[part].tolist()), strict=True)
            start += count

    @property
    def points(self) -> dict[str, list[tuple[int, str]]]:
        """Points as (step, repr(value)) by "<source>::<metric>", the streams of a source in their order."""
        points: dict[str, list[tuple[int, str]]] = {}
        for stream in sorted(self._points, key=lambda stream: self.streams[stream].order):
            source = self.streams[stream].source
            for metric, rows in self._points[stream].items():
                points.setdefault(f"{source}::{metric}", []).extend(rows)
        return points

    def facts(self, topic: str) -> dict[str, list[Fact]]:
        """Return the facts on a topic by source."""
        by_source: dict[str, list[Fact]] = {}
        for stream, facts in self._facts.items():
            if of_topic := [fact for fact in facts if fact.topic == topic]:
                by_source.setdefault(self.streams[stream].source, []).extend(of_topic)
        return by_source
