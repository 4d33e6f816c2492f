"""Steps have become slower and stay slow.

Rule: the median of nine of the step time is `ratio` times the median of the steps 10 to 59, for `points` steps in a
row. The alert begins where the step time changes, and names the phase of the step that has most of the increase. The
durations and lengths are medians of the steps 10 to 59 and of those since a sudden change, else of the last 50. Only
information if the responses have grown by as much.
Source: ours (no tool known to us reports this).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from msgspec import Struct

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.printed_units import meaning_of, seconds_of
from tuimon.analysis.rules import AgainstStart
from tuimon.analysis.timers import timer_tree
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import (
    alert_as_worded,
    changes_from_start,
    median_of_rows,
    number,
    percent,
    raised_level,
    rows_of_level,
    verb,
    when,
)
from tuimon.detectors._policy import response_lengths
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run

_SKIP, _BASELINE = 10, 50
_HINT = "a device that is hot or shared, a slow node, or responses that wait for the longest one"
_HINT_OF_LENGTH = "longer responses take longer to generate; read some of them and see whether they need their length"


class StepDrift(Struct, frozen=True):
    id: str = "step_drift"
    title: str = "Steps get slower"
    ratio: float = 1.4
    """Step time, as a median of nine steps, relative to that of the steps 10 to 59."""
    points: int = 20
    """Steps in a row."""

    def check(self, run: Run) -> Iterator[Alert]:
        low = 1 + 0.6 * (self.ratio - 1)
        rule = AgainstStart(self.ratio, low, _BASELINE, _SKIP, raise_after=self.points, clear_after=self.points)
        for curve in curves(run, "time.step"):
            seconds = seconds_of(run, curve.metric)
            for slow, usual in changes_from_start(curve, rule):
                raised = raised_level(curve, slow)
                rows = rows_of_level(curve, slow, usual, _BASELINE)
                now = median_of_rows(curve, *rows)
                explained = _response_growth(run, curve, slow.raised - NINE + 1, slow.raised) >= raised / usual * 0.9
                growth = _response_growth(run, curve, *rows)
                longer = f", with responses {percent(growth - 1)} longer" if explained else ""
                phase = _slower_phase(run, curve, rows, seconds * (now - usual))
                message = (
                    f"{curve.metric} {verb(slow, 'is', 'was')} {percent(now / usual - 1)} longer"
                    f" {when(curve, slow)}{longer}: {_duration(run, curve, now)},"
                    f" at first {_duration(run, curve, usual)}{phase}"
                )
                severity, hint = ("info", _HINT_OF_LENGTH) if explained else ("warning", _HINT)
                yield alert_as_worded(run, curve, slow, self.id, severity, message, hint)


def _slower_phase(run: Run, curve: Curve, rows: tuple[int, int], seconds: float) -> str:
    """Return words about the phase that grew most, such as "; gen takes 24.1 s, at first 12 s (+101 %)".

    "" if no phase has half of the increase of the step time, which is `seconds`.
    """
    most, text = 0.5 * seconds, ""
    for timer in timer_tree(tuple(metrics_of(run, "time.phase", all_names=True))):
        if not timer.parent:
            phase = run.curve(timer.metric)
            before, now = _levels(phase, curve, *rows)
            longer = seconds_of(run, timer.metric) * (now - before)
            if longer > most:
                most = longer
                relative = f" (+{percent(now / before - 1)})" if before > 0 else ""
                text = f"; {timer.phase.name} takes {_duration(run, phase, now)}"
                text += f", at first {_duration(run, phase, before)}{relative}"
    return text


def _duration(run: Run, timer: Curve, value: float) -> str:
    """Return a value of a timer in the unit in which the timer is shown everywhere."""
    meaning = meaning_of(run, timer.metric)
    return f"{number(value * meaning.scale)} {meaning.unit}"


def _response_growth(run: Run, curve: Curve, first: int, last: int) -> float:
    """Return the response length in these rows relative to that of the first steps; NaN if that is unknown or 0."""
    lengths = next(response_lengths(run), None)
    before, now = (nan, nan) if lengths is None else _levels(lengths, curve, first, last)
    return now / before if before > 0 else nan


def _levels(other: Curve, curve: Curve, first: int, last: int) -> tuple[float, float]:
    """Return the medians of another metric in the first steps and in the rows first … last of `curve`."""
    start = int(other.steps.searchsorted(curve.steps[_SKIP]))
    begin = int(other.steps.searchsorted(curve.steps[first]))
    end = int(other.steps.searchsorted(curve.steps[last], "right"))
    return median_of_rows(other, start, start + _BASELINE - 1), median_of_rows(other, min(begin, end - 1), end - 1)


DETECTOR = StepDrift()
