"""around(): the values of all metrics around one step, and which of them are unusual there.

    around(run, 30)[0]     Around(name="loss", step=30, value=9.0, usual=1.05, deviations=107.2, unusual=True, …)

A value is unusual if it is not finite, or if its distance from the median of the nine points before it is at least
eight times what such distances usually are among the 64 points before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import step_name, with_training_steps
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.statistics import quantiles
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
"""Points before the step whose distances are compared."""
_FEWEST = NINE + 5
"""Minimum number of finite points among them."""
_UNUSUAL = 8.0
"""Robust deviations from which a distance is unusual. Simulated noise, normal, t(3) and t(2), with and without a trend:
0, 0.1 and 0.4 % of the values are."""
_MAD_TO_DEVIATION = 1.4826
"""1 / Phi^-1(3/4): makes the median absolute deviation estimate the standard deviation of a normal distribution
(Rousseeuw & Croux, "Alternatives to the Median Absolute Deviation", JASA 88, 1993)."""
_TAIL, _NORMAL_TAIL = 0.95, 1.96
"""Share of the points, and the distance from the median (standard deviations) that it does not exceed if the values are
normally distributed."""
_EXPLAINED = (
    f"  unusual: at least {_UNUSUAL:g} robust deviations from the median of the nine points before; a robust deviation"
    f" is how far the {_BEFORE} points before usually are from theirs. farthest of N: none of the other N - 1 points is"
    " as far."
)
_LARGE = 1e307
"""Values above it are scaled, so that their distances do not overflow."""


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
    """Median of the nine points before; null if too few are known."""
    deviations: Number | None
    """Distance from it, in robust deviations of such distances; null with fewer than 14 points before.

    A robust deviation is 1.4826 times the median absolute deviation, or, if that is more, the 95 % quantile of the
    absolute deviations divided by 1.96. Both estimate the standard deviation of normally distributed values, and the
    second is larger where a metric often jumps."""
    compared: int
    """Number of distances among the previous 64 points."""
    as_far: int
    """Number of them that are as large, or larger."""
    unusual: bool
    """At least 8 robust deviations, or not finite."""


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
    usual, deviations, compared, as_far = _compared(values[max(0, index - _BEFORE) : index], value)
    return Around(
        name=name,
        unit=meaning_of(run, name).logged_unit,
        step=int(curve.steps[index]),
        value=value,
        before=float(values[index - 1]) if index else None,
        after=float(values[index + 1]) if index + 1 < len(values) else None,
        superseded=None if superseded is None else superseded.value,
        usual=usual,
        deviations=deviations,
        compared=compared,
        as_far=as_far,
        unusual=not math.isfinite(value) or abs(deviations or 0.0) >= _UNUSUAL,
    )


def _compared(previous: Floats, value: float) -> tuple[float | None, float | None, int, int]:
    """Return Around.usual, deviations, compared and as_far of a value after these points.

    A distance that is smaller than the spread of the points themselves is no deviation: the noise of a schedule is that
    of rounding.
    """
    previous = previous[np.isfinite(previous)]
    if len(previous) < _FEWEST:
        return (median(previous[-NINE:]) if len(previous) else None), None, 0, 0
    if not math.isfinite(value):
        return median(previous[-NINE:]), None, len(previous) - NINE, 0
    scale = 0.25 if max(abs(value), float(np.abs(previous).max())) > _LARGE else 1.0
    previous, value = previous * scale, value * scale
    levels = median_of_nine(previous, NINE - 1)
    distances, distance = previous[NINE:] - levels[:-1], value - float(levels[-1])
    middle = median(distances)
    others, own = np.abs(distances - middle), distance - middle
    usual, as_far, spread = float(levels[-1]) / scale, int((others >= abs(own)).sum()), _spread(others)
    if abs(distance) < _spread(np.abs(previous - median(previous))):
        return usual, 0.0, len(distances), as_far
    deviations = own / spread if spread else math.copysign(math.inf, own) if own else 0.0
    return usual, deviations, len(distances), as_far


def _spread(distances: Floats) -> float:
    """Return the robust deviation of values with these distances from their median; see Around.deviations."""
    half, tail = quantiles(distances, 0.5, _TAIL)
    return max(_MAD_TO_DEVIATION * half, tail / _NORMAL_TAIL)


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
        if any(math.isfinite(entry.deviations or math.inf) for entry in entries if entry.unusual):
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
    if entry.deviations is None:  # an unusual value without a distance
        return "not finite"
    if math.isinf(entry.deviations):
        return "constant before"
    farthest = f"{entry.as_far} of {entry.compared} as far" if entry.as_far else f"farthest of {entry.compared + 1}"
    return f"{entry.deviations:+.3g} robust deviations from {entry.usual:.6g}, {farthest}"
