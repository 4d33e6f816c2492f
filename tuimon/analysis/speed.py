"""speed_difference(): which of some runs takes less time for a step, and in which phase, in one sentence.

    after is faster: in the median 14.25 s a step by its timer instead of 18.29 s (-22 %), most of it in gen (-40 %)

Of more than two runs the fastest is compared with the slowest, and those that take about as long as it are named, too.
The durations are medians of the last steps, as many as the level is the mean of, up to the last one that all runs have
reached: from the timer of the step, or, if a run has no such timer, from the wall times of the points, without pauses
such as evaluations, which the pace of a run includes. Runs whose steps count different
things (updates, epochs) are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import counts_alike, step_name, updates_per_step
from tuimon.analysis.cadence import PAUSE, intervals
from tuimon.analysis.comparing import common_step
from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.level import points_of_level
from tuimon.analysis.printed_units import seconds_of
from tuimon.analysis.seed_means import names_of
from tuimon.analysis.timers import step_timer, timer_tree
from tuimon.analysis.words import with_article
from tuimon.draw.numbers import format_value
from tuimon.model.points import Floats
from tuimon.store import Curve, Run
from tuimon.text import clean

_FEWEST = 5
"""Least number of points that are compared."""
_LEAST = 0.05
"""Least relative difference that is mentioned."""
_SIGNIFICANT = 2.0
"""Standard errors that two medians must differ by."""
_ERROR_OF_MEDIAN = 1.2533 * 1.4826
"""Standard error of a median, times the root of the number of points, per median deviation (normal distribution)."""
_BETWEEN_POINTS = "between logged points, without evaluations and other pauses,"
_MOST = 0.5
"""Share of the difference from which a phase is named."""


class _Duration(Struct, frozen=True):
    """Median of the compared durations (s) and its standard error."""

    seconds: float
    error: float

    def differs_from(self, other: _Duration) -> bool:
        apart = abs(self.seconds - other.seconds)
        noise = _SIGNIFICANT * math.hypot(self.error, other.error)
        return apart > max(noise, _LEAST * max(self.seconds, other.seconds))


def speed_difference(labels: Sequence[str], runs: Sequence[Run]) -> str:
    """Return the sentence about the fastest and the slowest run; "" if noise explains the difference, or if unknown.

    labels: names of the runs.
    """
    if len(runs) < 2 or len({(updates_per_step(run), step_name(run)) for run in runs}) > 1:
        return ""
    timers = [step_timer(run) for run in runs]
    is_timed = all(timer is not None for timer in timers)
    curves = [
        timer if timer is not None and is_timed else _longest(run) for timer, run in zip(timers, runs, strict=True)
    ]
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(runs) or (until := common_step(known)) is None:
        return ""
    pairs = zip(runs, known, strict=True)
    measured = (_of_timer(run, curve, until) if is_timed else _of_wall_times(curve, until) for run, curve in pairs)
    durations = [duration for duration in measured if duration is not None]
    if len(durations) < len(runs):
        return ""
    order = sorted(range(len(runs)), key=lambda index: durations[index].seconds)
    fast, slow = order[0], order[-1]
    own, base = durations[fast], durations[slow]
    if not own.differs_from(base):
        return ""
    name, whose = clean(labels[fast]), ""
    equal = [index for index in order if not durations[index].differs_from(own)]
    if len(equal) > 1:
        head, whose = f"{names_of(labels, equal)} are about equally fast, the fastest of {len(runs)} runs", f" ({name})"
    else:
        head = f"{name} is {'faster' if len(runs) == 2 else f'the fastest of {len(runs)} runs'}"
    of = f" of {clean(labels[slow])}" if len(runs) > 2 else ""
    change = _percent(own.seconds / base.seconds - 1)
    shorter, longer = _times(own.seconds, base.seconds)
    measured_by = f"by {'its' if len(equal) == 1 else 'the'} timer" if is_timed else _BETWEEN_POINTS
    time = f"in the median {shorter} {with_article(step_name(runs[0]))}{whose} {measured_by}"
    phase = _main_phase(runs[fast], runs[slow], until, base.seconds - own.seconds)
    return f"{head}: {time} instead of {longer}{of} ({change}){phase}"


def _longest(run: Run) -> Curve | None:
    names = [name for name in run.busiest_metrics[:1] if counts_alike(run, name)]
    return run.curve(names[0]) if names else None


def _of_timer(run: Run, curve: Curve, until: int) -> _Duration | None:
    values = curve.values[: curve.row_after(until)]
    return _duration(values[np.isfinite(values)] * seconds_of(run, curve.metric))


def _of_wall_times(curve: Curve, until: int) -> _Duration | None:
    """Return the time per step without pauses and the intervals across a restart or a clock that was set back."""
    end = curve.row_after(until)
    restarts = curve.restarts
    _, steps, seconds = intervals(curve.steps[:end], curve.wall_times[:end], restarts[restarts < end])
    rates = seconds / steps
    return _duration(rates[rates <= PAUSE * np.median(rates)] if len(rates) else rates)


def _duration(seconds: Floats) -> _Duration | None:
    """Return the duration at the end of these, which are finite; None if there are too few, or it is not positive."""
    count = points_of_level(len(seconds))
    if count < _FEWEST:
        return None
    last = seconds[-count:]
    middle = float(np.median(last))
    deviation = float(np.median(np.abs(last - middle)))
    return _Duration(middle, _ERROR_OF_MEDIAN * deviation / math.sqrt(count)) if middle > 0 else None


def _main_phase(fast: Run, slow: Run, until: int, apart: float) -> str:
    """Return ", most of it in gen (-40 %)" for the phase with most of the difference (s) of two runs, else ""."""
    known = _phases(slow, until)
    most, text = _MOST * apart, ""
    for name, own in _phases(fast, until).items():
        base = known.get(name)
        if base is not None and base.seconds - own.seconds > most and own.differs_from(base):
            most = base.seconds - own.seconds
            text = f", most of it in {clean(name)} ({_percent(own.seconds / base.seconds - 1)})"
    return text


def _phases(run: Run, until: int) -> dict[str, _Duration]:
    """Return the durations of the phases of the step, by the names of their timers."""
    timers = [
        timer
        for timer in timer_tree(tuple(metrics_of(run, "time.phase", all_names=True)))
        if not timer.parent and counts_alike(run, timer.metric)
    ]
    pairs = ((timer.phase.name, _of_timer(run, run.curve(timer.metric), until)) for timer in timers)
    return {name: duration for name, duration in pairs if duration is not None}


def _times(fast: float, slow: float) -> tuple[str, str]:
    """Format two durations in one unit, that of the shorter one."""
    unit, factor = ("s", 1) if fast >= 0.1 else ("ms", 1000)
    return format_value(factor * fast, unit), format_value(factor * slow, unit)


def _percent(change: float) -> str:
    return f"{100 * change:+.0f} %" if abs(change) >= 0.095 else f"{100 * change:+.2g} %"
