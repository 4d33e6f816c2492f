"""The values of all metrics around one step, and which of them are unusual there."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import takewhile

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from tuimon.analysis.aligned_steps import step_name, with_training_steps
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.statistics import MAD_TO_DEVIATION, quantiles
from tuimon.analysis.windows import NINE, median_of_nine
from tuimon.draw.numbers import format_exact
from tuimon.exports import texts
from tuimon.exports.documents import Number, Version, dumps
from tuimon.exports.metrics import unit_columns
from tuimon.exports.table import Column, no_room, table, wrapped
from tuimon.exports.texts import TextsEntry
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.panels import by_relevance
from tuimon.store import Curve, Run
from tuimon.store.arrays import median
from tuimon.text import clean

_BEFORE = 64
"""Number of points before the step that a value is compared with. Of the metrics of 11 sample runs, 0.2 % of the values
are unusual by 64 points and 0.3 % by 20; by the median absolute deviation alone, 3 %."""
_FEWEST = 5
"""Minimum number of these points."""
_UNUSUAL = 5.0
"""Robust deviations from the median at which a value counts as unusual."""
_LOCALLY = 8.0
"""Robust deviations from the nine points before at which a value counts as unusual where it is not by all 64, which a
trend puts far apart. Simulated noise, normal, t(3) and t(2): 0, 0.5 and 1.1 % of the values are unusual by the 64
points, and as many with this rule; along a trend 0, 0 and 0.03 % without it, and 0, 0.1 and 0.4 % with it."""
_FEWEST_LOCALLY = 16
"""Minimum number of points before whose distances from the nine before each are known."""
_TAIL, _NORMAL_TAIL = 0.95, 1.96
"""Share of the points, and the distance from the median (standard deviations) that it does not exceed if the values are
normally distributed."""
_EXPLAINED = (
    f"  unusual: at least {_UNUSUAL:g} robust deviations from the median of the {_BEFORE} points before, or"
    f" {_LOCALLY:g} from that of the nine before, where there is a trend; a robust deviation is how far these points"
    " usually are from it. farthest of N: none of the other N - 1 points is as far."
)
_LARGE = 1e307
"""Values above it are scaled, so that their distances do not overflow."""


class Around(Struct, frozen=True):
    """One metric at a step."""

    name: str
    step: int
    """Step of the last point at or before the requested step."""
    value: Number
    before: Number | None
    """Value of the previous point, or null."""
    after: Number | None
    """Value of the next point, or null."""
    deviations: Number | None
    """Distance from the median of the previous 64 points, in their robust deviations; null with fewer than 5 points.

    A robust deviation is 1.4826 times the median absolute deviation, or, if that is more, the 95 % quantile of the
    absolute deviations divided by 1.96. Both estimate the standard deviation of normally distributed values, and the
    second is larger where a metric often jumps."""
    compared: int
    """Number of finite values among the previous 64 points."""
    as_far: int
    """Number of these values that are as far from their median as the value, or farther."""
    usual: float | None = None
    """Median of these values, of the last nine of them if `is_local`; null without any."""
    onset: int | None = None
    """Step at which an alert began that is active at the step, if the value is compared with the 64 points before it.

    Null if it is compared with those just before the step. In an incident these are a part of it, and the value is
    usual among them."""
    superseded: Number | None = None
    """Value that a superseded attempt logged at `step`, the last one if there are several, or null."""
    is_local: bool = False
    """Whether the distances are those from the median of the nine points before each point, because of a trend."""

    @property
    def unusual(self) -> bool:
        """True if the value differs clearly from the previous ones, or is not finite."""
        return abs(self.deviations or 0.0) >= (_LOCALLY if self.is_local else _UNUSUAL) or not math.isfinite(self.value)


class AroundEntry(Around, frozen=True, kw_only=True):
    """One metric at a step, with what `tuimon summary --step` prints beside it."""

    unit: str
    """Of the logged values, as in `tuimon summary`."""
    unusual: bool
    """At least 5 robust deviations, 8 if local, or not finite."""


class RunAround(Struct, frozen=True, kw_only=True):
    """A run around a step."""

    name: str
    path: str
    metrics: tuple[AroundEntry, ...]
    """The most telling first."""
    texts: TextsEntry | None
    """Generated texts of the last step at or before the requested one that has any; null without texts."""


class AroundDocument(Struct, frozen=True, kw_only=True):
    """The metrics of runs around one step (--step)."""

    schema: Version = 1
    step: int
    """The step asked for."""
    runs: tuple[RunAround, ...]


def around(
    run: Run,
    step: int,
    alerts: Sequence[Alert] = (),
    stop: Callable[[], bool] = lambda: False,
    metrics: Container[str] | None = None,
) -> tuple[Around, ...]:
    """Return the metrics with a point at or before the step, the most important first.

    alerts: those of all runs; stop: leave out the metrics that follow once it returns True. metrics: names to choose
    from; None for all.
    """
    onsets = sorted({alert.step for alert in _alerts_at(run, step, alerts) if alert.step is not None})
    chosen = (name for name in by_relevance(run.metrics) if metrics is None or name in metrics)
    names = takewhile(lambda name: not stop(), chosen)
    entries = (_around(name, with_training_steps(run, name), step, onsets) for name in names)
    return tuple(entry for entry in entries if entry is not None)


def _alerts_at(run: Run, step: int, alerts: Sequence[Alert]) -> Iterator[Alert]:
    """Yield the alerts of a run, without information, that are active at a step."""
    for alert in alerts:
        first, last = alert.step, math.inf if alert.until is None else alert.until
        counts = alert.run == run.id and alert.severity != "info" and not alert.is_superseded
        if counts and first is not None and first <= step <= last:
            yield alert


def has_point(run: Run, step: int, metrics: Container[str] | None = None) -> bool:
    """Return whether a metric has a point at or before the step. metrics: names to choose from; None for all."""
    names = (name for name in run.metrics if metrics is None or name in metrics)
    return any(int(with_training_steps(run, name).steps[0]) <= step for name in names)


def first_unusual(run: Run, name: str, step: int) -> int:
    """Return the step of the first of the nine points of a metric from `step` on at which it is unusual; else `step`.

    A gradual change is unusual only some points after its onset."""
    curve = with_training_steps(run, name)
    begin = int(np.searchsorted(curve.steps, step))
    for near in curve.steps[begin : begin + NINE].tolist():
        entry = _around(name, curve, near, (step,))
        if entry is not None and entry.unusual:
            return int(near)
    return step


def _around(name: str, curve: Curve, step: int, onsets: Sequence[int]) -> Around | None:
    index = int(np.searchsorted(curve.steps, step, "right")) - 1
    if index < 0:
        return None
    values = curve.values
    value = float(values[index])
    before = float(values[index - 1]) if index else None
    after = float(values[index + 1]) if index + 1 < len(values) else None
    last = int(curve.steps[index])
    superseded = curve.superseded_at(last)
    old = superseded.value if superseded is not None else None

    def compared(end: int, onset: int | None = None) -> Around:
        previous = values[max(0, end - _BEFORE) : end]
        previous = previous[np.isfinite(previous)]
        deviations, as_far = _deviations(previous, value)
        usual = median(previous) if len(previous) else None
        return Around(name, last, value, before, after, deviations, len(previous), as_far, usual, onset, old)

    entry = compared(index)
    if not entry.unusual and (local := _locally(values[max(0, index - _BEFORE) : index], value)) is not None:
        deviations, count, as_far, usual = local
        entry = replace(entry, deviations=deviations, compared=count, as_far=as_far, usual=usual, is_local=True)
    for onset in () if entry.unusual else onsets:
        row = curve.row_before(onset) + 1
        if index - _BEFORE <= row < index and (other := compared(row, onset)).unusual:
            return other
    return entry


def _locally(previous: Floats, value: float) -> tuple[float | None, int, int, float] | None:
    """Return Around.deviations, compared, as_far and usual of a value that is unusual by the nine points before.

    None for another value. It must also be as far from the nine points as all of them usually are from their median:
    the noise of a schedule is that of rounding.
    """
    previous = previous[np.isfinite(previous)]
    if len(previous) < NINE + _FEWEST_LOCALLY or max(abs(value), float(np.abs(previous).max())) > _LARGE:
        return None
    levels = median_of_nine(previous, NINE - 1)
    distances, distance = previous[NINE:] - levels[:-1], value - float(levels[-1])
    if abs(distance) < _spread(np.abs(previous - median(previous))):
        return None
    deviations, as_far = _deviations(distances, distance)
    level = float(levels[-1])
    return (deviations, len(distances), as_far, level) if _LOCALLY <= abs(deviations or 0.0) < math.inf else None


def _spread(distances: Floats) -> float:
    """Return the robust deviation of values with these distances from their median; see Around.deviations."""
    half, tail = quantiles(distances, 0.5, _TAIL)
    return max(MAD_TO_DEVIATION * half, tail / _NORMAL_TAIL)


def _deviations(previous: Floats, value: float) -> tuple[float | None, int]:
    """Return Around.deviations and Around.as_far of a value. previous: the finite values before it."""
    if len(previous) == 0 or not math.isfinite(value):
        return None, 0
    scale = 0.25 if max(abs(value), float(np.abs(previous).max())) > _LARGE else 1.0
    previous, value = previous * scale, value * scale
    middle = median(previous)
    distances, distance = np.abs(previous - middle), value - middle
    as_far = int((distances >= abs(distance)).sum())
    if len(previous) < _FEWEST:
        return None, as_far
    spread = _spread(distances)
    if spread == 0:
        return (0.0 if distance == 0 else math.copysign(math.inf, distance)), as_far
    return distance / spread, as_far


def as_text(
    run: Run,
    step: int,
    width: int | None = None,
    unusual: bool = False,
    samples: Sequence[str] = (),
    alerts: Sequence[Alert] = (),
    metrics: Container[str] | None = None,
) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited).

    unusual: only unusual metrics. samples: directories outside of the run with generated texts. alerts: those of all
    runs; the active ones are named. metrics: names to choose from; None for all.
    """
    word = step_name(run)
    entries = [entry for entry in around(run, step, alerts, metrics=metrics) if entry.unusual or not unusual]
    yield f"{clean(run.name)}  around {word} {step}"
    for alert in _alerts_at(run, step, alerts):
        yield from wrapped(f"  {alert.severity}: {clean(alert.message)}", width, indent=4)
    if entries:
        yield from _table(run, entries, word, width)
        if any(math.isfinite(entry.deviations or math.inf) for entry in entries if entry.unusual):
            yield from wrapped(_EXPLAINED, width, indent=2)
    else:
        which = "no metric" if metrics is None else "none of these metrics"
        yield "  nothing unusual" if unusual and run.metrics else f"  {which} has a point at or before this {word}"
    if (found := texts.of_run(run, step, samples)) is not None:
        yield from texts.as_lines(found, width)


def _table(run: Run, entries: list[Around], word: str, width: int | None) -> Iterator[str]:
    superseded = [_value_text(entry.superseded) for entry in entries]
    columns = [
        Column(word, [str(entry.step) for entry in entries]),
        Column("before", [_value_text(entry.before) for entry in entries], need=2),
        Column("value", [_value_text(entry.value) for entry in entries]),
        *([Column("superseded", superseded, need=3)] if any(superseded) else []),
        Column("after", [_value_text(entry.after) for entry in entries], need=4),
        *unit_columns(run, [entry.name for entry in entries]),
        Column("unusual", [_remark(entry, word) for entry in entries], need=3, left=True),
    ]
    left_out: list[str] = []
    yield from table("metric", [clean(entry.name) for entry in entries], columns, width, left_out=left_out.append)
    yield from no_room(left_out, width)


def _value_text(value: float | None) -> str:
    """Return every digit of a value: the command is for exact values."""
    return "" if value is None else format_exact(value)


def _remark(entry: Around, word: str) -> str:
    if not entry.unusual:
        return ""
    if entry.deviations is None:  # an unusual value without a distance
        return "not finite"
    base = "" if entry.onset is None else f" {word} {entry.onset}"
    if math.isinf(entry.deviations):
        return f"constant before{base}" if entry.compared < 20 else f"95 % of {entry.compared} before{base} are equal"
    farthest = f"{entry.as_far} of {entry.compared} as far" if entry.as_far else f"farthest of {entry.compared + 1}"
    origin = " of the nine before" if entry.is_local else base and f" before{base}"
    return f"{entry.deviations:+.3g} robust deviations from {entry.usual:.6g}{origin}, {farthest}"


def as_json(
    runs: tuple[Run, ...],
    step: int,
    samples: Sequence[str] = (),
    alerts: Sequence[Alert] = (),
    metrics: Container[str] | None = None,
) -> str:
    """Return the JSON object of `tuimon summary --step`. metrics: names to choose from; None for all."""
    documents = []
    for run in runs:
        entries = (
            AroundEntry(**asdict(entry), unit=meaning_of(run, entry.name).logged_unit, unusual=entry.unusual)
            for entry in around(run, step, alerts, metrics=metrics)
        )
        found = texts.of_run(run, step, samples)
        shown = texts.as_entry(found, run.directory) if found is not None else None
        documents.append(RunAround(name=run.name, path=run.path, metrics=tuple(entries), texts=shown))
    return dumps(AroundDocument(step=step, runs=tuple(documents)))
