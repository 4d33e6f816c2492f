"""Points as CSV or JSON lines: exactly what was logged, streamed, in constant memory a source.

A JSON line is {"source"|"run": …, "metric": …, "step": 12, "value": 0.5, "wall_time": 1795226051.0}; a value that is
not finite is "NaN", "Infinity" or "-Infinity"; an unknown wall time is null. CSV has the same columns, nan, inf and
-inf, and an empty cell for an unknown wall time; a text cell that a spreadsheet would take for a formula is led by an
apostrophe, a number never is. Steps that are a clock (W&B's system metrics) are in seconds. Names are exact in a file
or a pipe, and cleaned on a terminal, which they could command.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from tuimon.model.points import Fact, Floats, Item, Points, Steps
from tuimon.store import Snapshot
from tuimon.text import clean

_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}

Labelled = tuple[str, str, Steps | Floats, Floats, Floats]
"""(source or run, metric, steps, values, wall times) of consecutive points of one metric."""


def write_sources(items: Iterable[tuple[str, Item]], stream: TextIO, file_format: str) -> None:
    """Every point of every source, in file order. items: (source, decoded item)."""
    _write("source", _runs_of_a_metric(items), stream, file_format)


def write_curves(snapshot: Snapshot, stream: TextIO, file_format: str) -> None:
    """One curve a metric and run: restarts joined, what a later segment superseded left out."""

    def curves() -> Iterator[Labelled]:
        for run in snapshot.runs:
            clocks = {metric: rate for fact in run.facts("metrics") for metric, rate in _clocks(fact)}
            for metric in run.metrics:
                curve = run.curve(metric)
                yield run.name, metric, _told(curve.steps, clocks.get(metric)), curve.values, curve.wall_times

    _write("run", curves(), stream, file_format)


def _runs_of_a_metric(items: Iterable[tuple[str, Item]]) -> Iterator[Labelled]:
    clocks: dict[tuple[str, str], float] = {}
    for source, item in items:
        if isinstance(item, Fact):
            clocks.update(((source, metric), rate) for metric, rate in _clocks(item))
        if not isinstance(item, Points):
            continue
        ids = item.metric
        borders = [0, *((ids[1:] != ids[:-1]).nonzero()[0] + 1).tolist(), len(ids)]
        for start, end in itertools.pairwise(borders):
            part, metric = slice(start, end), item.names[int(ids[start])]
            steps = _told(item.steps[part], clocks.get((source, metric)))
            yield source, metric, steps, item.values[part], item.wall_times[part]


def _clocks(fact: Fact) -> Iterator[tuple[str, float]]:
    """(metric, ticks a second) of the metrics whose steps are a clock."""
    if fact.topic == "metrics":
        for metric, known in fact.value.items():
            if isinstance(known, Mapping) and (rate := known.get("steps_per_second")):
                yield metric, rate


def _told(steps: Steps, rate: float | None) -> Steps | Floats:
    """Steps as they are, those of a clock in seconds."""
    return steps if rate is None else steps / rate


def _write(owner: str, labelled: Iterable[Labelled], stream: TextIO, file_format: str) -> None:
    if file_format == "csv":
        stream.write(f"{owner},metric,step,value,wall_time\r\n")
        line, head, end = _csv_line, _csv_head_shown if stream.isatty() else _csv_head, "\r\n"
    else:
        line, head, end = _json_line, _json_head, "\n"
    heads: dict[tuple[str, str], str] = {}
    for name, metric, steps, values, wall_times in labelled:
        start = heads.get((name, metric))
        if start is None:
            start = heads[name, metric] = head(owner, name, metric)
        rows = zip(steps.tolist(), values.tolist(), wall_times.tolist(), strict=True)
        stream.write("".join(start + line(*row) + end for row in rows))


def _json_head(owner: str, name: str, metric: str) -> str:
    return f'{{"{owner}": {json.dumps(name)}, "metric": {json.dumps(metric)}, "step": '


def _json_line(step: float, value: float, wall_time: float) -> str:
    number = repr(value) if math.isfinite(value) else _NOT_FINITE[str(value)]
    return f'{step}, "value": {number}, "wall_time": {repr(wall_time) if math.isfinite(wall_time) else "null"}}}'


def _csv_head(owner: str, name: str, metric: str) -> str:
    return f"{_cell(name)},{_cell(metric)},"


def _csv_head_shown(owner: str, name: str, metric: str) -> str:
    return _csv_head(owner, clean(name), clean(metric))


def _csv_line(step: float, value: float, wall_time: float) -> str:
    return f"{step},{value!r},{wall_time!r}" if math.isfinite(wall_time) else f"{step},{value!r},"


def _cell(text: str) -> str:
    """RFC 4180 quoting, and no formula (CWE-1236)."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if text[:1] in "=+-@\t\r" and text:
        text = "'" + text
    if any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
