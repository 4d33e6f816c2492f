"""around(): the values of all metrics around one step, and which of them are unusual there.

    around(run, 30)[0]     Around(name="loss", step=30, value=9.0, usual=1.1, distance=79.0, unusual=True, …)

A value is unusual if it is not finite, or if its distance from the median of the nine points before it is at least
four times the third largest of such distances of up to 55 points before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import step_name, with_training_steps
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.windows import NINE, median_of_nine
from tuimon.draw.numbers import format_exact
from tuimon.draw.table import TextColumn, TextTable
from tuimon.exports import sample_lines
from tuimon.exports.documents import Number, Version
from tuimon.exports.sample_lines import TextsEntry
from tuimon.exports.summary import unit_columns
from tuimon.exports.table import no_room, table_text, wrapped
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.panels import by_relevance
from tuimon.store import Curve, Run
from tuimon.store.arrays import median
from tuimon.text import clean

_BEFORE = 64
"""Points before the step that are read: all but the first nine have a distance from the nine before them."""
_FEWEST = 20
"""Minimum number of finite points among them. After 14, 17, 20 and 30 points 6.2, 0.7, 0.1 and 0 % of normal noise are
unusual, and 9.4, 2.8, 1.3 and 0.4 % of t(3)."""
_UNUSUAL = 4.0
"""Usual distances from which a value is unusual. After 64 points of simulated noise, normal, t(3) and t(2), with and
without a trend: 0, 0.1 and 0.4 % of the values are; of jumps of normal noise by 8, 10 and 12 standard deviations 39, 82
and 99 %."""
_EXPLAINED = (
    f"  unusual: at least {_UNUSUAL:g} usual distances from the median of the nine points before; the usual distance is"
    f" the third largest one of up to {_BEFORE - NINE} points before."
)


class Around(Struct, frozen=True, kw_only=True):
    """One metric at a step."""

    name: str
    unit: str
    """Of the logged values, as in `tuimon summary`."""
    step: int
    """Step of the last point at or before the requested step."""
    value: Number
    before: Number | None
    """Value of the previous point, or null."""
    after: Number | None
    """Value of the next point, or null."""
    superseded: Number | None
    """Value that a superseded attempt logged at `step`, the last one if there are several, or null."""
    usual: float | None
    """Median of the nine finite points before, or of as many as there are; null without any."""
    distance: Number | None
    """Distance from `usual` in usual distances: the third largest of up to 55 points before, each from the median of
    the nine before it; null with fewer than 20 finite points before, or if the value is not finite. "Infinity" if only
    the usual distance is 0."""
    unusual: bool
    """Whether the value is not finite, or at least 4 usual distances away."""


class RunAround(Struct, frozen=True, kw_only=True):
    """A run around a step."""

    name: str
    path: str
    metrics: tuple[Around, ...]
    """The most telling first."""
    texts: TextsEntry | None
    """Generated texts of the last step at or before the requested one that has any; null without texts."""


class AroundDocument(Struct, frozen=True, kw_only=True):
    """The metrics of runs around one step (--step)."""

    schema: Version = 1
    step: int
    """The step asked for."""
    runs: tuple[RunAround, ...]


def run_around(run: Run, step: int, samples: Sequence[str] = (), metrics: Container[str] | None = None) -> RunAround:
    """Return a run around a step.

    samples: directories outside of the run with generated texts. metrics: as `around`.
    """
    found = sample_lines.of_run(run, step, samples)
    shown = None if found is None else sample_lines.as_entry(found, run.directory)
    return RunAround(name=run.name, path=run.path, metrics=around(run, step, metrics=metrics), texts=shown)


def around(
    run: Run, step: int, stop: Callable[[], bool] = lambda: False, metrics: Container[str] | None = None
) -> tuple[Around, ...]:
    """Return the metrics with a point at or before the step, the most important first.

    stop: leave out the metrics that follow once it returns True. metrics: names to choose from; None for all.
    """
    chosen = (name for name in by_relevance(run.metrics) if metrics is None or name in metrics)
    entries = (
        _around(run, name, with_training_steps(run, name), step) for name in takewhile(lambda _: not stop(), chosen)
    )
    return tuple(entry for entry in entries if entry is not None)


def first_unusual(run: Run, name: str, step: int) -> int:
    """Return the step of the first of the nine points of a metric from `step` on at which it is unusual; else `step`.

    A gradual change is unusual only some points after its onset."""
    curve = with_training_steps(run, name)
    begin = int(np.searchsorted(curve.steps, step))
    for near in curve.steps[begin : begin + NINE].tolist():
        entry = _around(run, name, curve, near)
        if entry is not None and entry.unusual:
            return int(near)
    return step


def _around(run: Run, name: str, curve: Curve, step: int) -> Around | None:
    index = int(np.searchsorted(curve.steps, step, "right")) - 1
    if index < 0:
        return None
    values, value = curve.values, float(curve.values[index])
    superseded = curve.superseded_at(int(curve.steps[index]))
    usual, distance = _compared(values[max(0, index - _BEFORE) : index], value)
    return Around(
        name=name,
        unit=meaning_of(run, name).logged_unit,
        step=int(curve.steps[index]),
        value=value,
        before=float(values[index - 1]) if index else None,
        after=float(values[index + 1]) if index + 1 < len(values) else None,
        superseded=None if superseded is None else superseded.value,
        usual=usual,
        distance=distance,
        unusual=not math.isfinite(value) or abs(distance or 0.0) >= _UNUSUAL,
    )


def _compared(previous: Floats, value: float) -> tuple[float | None, float | None]:
    """Return Around.usual and distance of a value after these points."""
    previous = previous[np.isfinite(previous)]
    if len(previous) < _FEWEST or not math.isfinite(value):
        return (median(previous[-NINE:]) if len(previous) else None), None
    levels = median_of_nine(previous, NINE - 1)
    before = np.sort(np.abs(previous[NINE:] / 2 - levels[:-1] / 2))  # halves: distances of large values are finite
    own, usual = value / 2 - float(levels[-1]) / 2, float(before[-3])
    return float(levels[-1]), own / usual if usual else math.copysign(math.inf, own) if own else 0.0


def as_text(
    run: Run, part: RunAround, step: int, alerts: Sequence[Alert] = (), width: int | None = None, unusual: bool = False
) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited).

    alerts: those of all runs; the active ones are named. unusual: only unusual metrics.
    """
    word = step_name(run)
    entries = [entry for entry in part.metrics if entry.unusual or not unusual]
    yield f"{clean(run.name)}  around {word} {step}"
    for alert in alerts:
        until = math.inf if alert.until is None else alert.until
        counts = alert.run == run.id and alert.severity != "info"
        if counts and alert.step is not None and alert.step <= step <= until:
            yield from wrapped(f"  {alert.severity}: {clean(alert.message)}", width, indent=4)
    if entries:
        yield from _table(entries, word, width)
        if any(math.isfinite(entry.distance or math.inf) for entry in entries if entry.unusual):
            yield from wrapped(_EXPLAINED, width, indent=2)
    else:
        yield "  nothing unusual" if part.metrics else f"  no metric has a point at or before this {word}"
    if part.texts is not None:
        yield from sample_lines.as_lines(part.texts, width)


def _table(entries: list[Around], word: str, width: int | None) -> Iterator[str]:
    superseded = [_value_text(entry.superseded) for entry in entries]
    columns = [
        TextColumn(word, [str(entry.step) for entry in entries]),
        TextColumn("before", [_value_text(entry.before) for entry in entries], need=2),
        TextColumn("value", [_value_text(entry.value) for entry in entries]),
        *([TextColumn("superseded", superseded, need=3)] if any(superseded) else []),
        TextColumn("after", [_value_text(entry.after) for entry in entries], need=4),
        *unit_columns(entry.unit for entry in entries),
        TextColumn("unusual", [_remark(entry) for entry in entries], need=3, left=True),
    ]
    left_out: list[str] = []
    table = TextTable("metric", [clean(entry.name) for entry in entries], columns)
    yield from table_text(table, width, left_out=left_out.append)
    yield from no_room(left_out, width)


def _value_text(value: float | None) -> str:
    """Return every digit of a value: the command is for exact values."""
    return "" if value is None else format_exact(value)


def _remark(entry: Around) -> str:
    if not entry.unusual:
        return ""
    if entry.distance is None:
        return "not finite"
    if math.isinf(entry.distance):
        return "constant before"
    return f"{entry.distance:+.3g} usual distances from {entry.usual:.6g}"
