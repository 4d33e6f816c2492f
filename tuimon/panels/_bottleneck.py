"""The bottleneck of a step in one sentence: the phase that takes most of it, and its drift.

If another phase has become slower by more seconds, the sentence begins with that one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.draw.rows import wrap_row
from tuimon.model.views import Role, Row, Span
from tuimon.panels._text import signed_percent, with_article
from tuimon.panels._timers import SLOWER, Drift, TimerReading

_NOTABLE = 0.05
"""Smallest relative change that is named."""


def bottleneck(
    readings: Sequence[TimerReading],
    whole: float,
    timed: bool,
    by_timer: bool = False,
    width: int | None = None,
    lines: int = 2,
) -> Row:
    """Return "actor_train.train_step takes 61 % of a 96.6 s step, +38 % since the start", or "reward takes 14 s instead
    of 2 s since the start (+12 s a step); gen takes 29 % of a 70 s step".

    whole: seconds of the step; timed: measured by a timer of the step, not summed over its phases; by_timer: say so,
    because the header has another time of a step; width: cells of a line, lines: their number. If the sentence needs
    more, the phase that takes most of the step is left out if another one has become slower; else the seconds, which
    the heading has as well, and the part of the phase.
    """
    top = [reading for reading in readings if not reading.timer.parent]
    most = max(top, key=spent, default=None)
    if most is None or not spent(most) or whole <= 0:
        return ()
    taken = spent(most)
    of = f"{with_article(format_duration(whole))} step" if timed else f"{format_duration(whole)} of timed phases"
    of += " by its timer" if by_timer else ""
    name: Span = phase_name(most), Role.ACCENT
    takes = f" takes {format_fraction(taken / whole)} of "
    part = ""
    inner = [reading for reading in readings if reading.timer.parent == most.timer.metric and reading.present]
    biggest = max(inner, key=spent, default=None)
    if biggest is not None and taken / 2 <= spent(biggest) <= taken:
        part = f", {format_fraction(spent(biggest) / taken)} of it in {phase_name(biggest)}"
    slowed = _most_slowed(top, whole)
    if slowed is not None and slowed[0] is not most:
        long, brief = _slowdown(*slowed)
        forms: tuple[Row, ...] = (*long, ("; ", Role.TEXT), name, (f"{takes}{of}", Role.TEXT)), long, brief
    else:
        change = _change(most)
        short = f"{takes}{'the step' if timed else 'the timed phases'}"
        forms = (name, (f"{takes}{of}{part}", Role.TEXT), *change), (name, (short, Role.TEXT), *change)
    fitting = (form for form in forms if width is None or len(wrap_row(form, width, lines + 1)) <= lines)
    return next(fitting, forms[-1])


def _most_slowed(readings: Sequence[TimerReading], whole: float) -> tuple[TimerReading, Drift] | None:
    """Return the phase that has become slower by most seconds; None if these are no notable part of the step, which
    takes `whole` seconds."""
    slower = [
        (reading, drift)
        for reading in readings
        for drift in (reading.drift, reading.recent_drift)
        if spent(reading) and drift is not None and drift.sure and drift.ratio >= SLOWER
    ]
    if not slower:
        return None
    reading, drift = max(slower, key=lambda change: change[1].longer)
    return (reading, drift) if drift.longer >= _NOTABLE * whole else None


def _slowdown(reading: TimerReading, drift: Drift) -> tuple[Row, Row]:
    """Return a long and a short form of the words about a phase that has become slower."""
    before, now, longer = map(format_duration, (drift.before, drift.before + drift.longer, drift.longer))
    name: Span = phase_name(reading), Role.ACCENT
    words = f" takes {now} instead of {before} {drift.period} (+{longer} a step)"
    short = f" +{longer} a step {drift.period}"
    return (name, (words, Role.WARNING)), (name, (short, Role.WARNING))


def _change(most: TimerReading) -> Row:
    """Return ", +38 % since the start"; () without a notable change."""
    drift = notable_drift(most)
    if drift is None:
        return ()
    role = Role.WARNING if drift.ratio >= SLOWER else Role.TEXT
    return ((f", {signed_percent(drift.ratio)} {drift.period}", role),)


def spent(reading: TimerReading) -> float:
    """Return the seconds that the phase took in the displayed step; 0 if it did not run."""
    return reading.now if reading.present and np.isfinite(reading.now) and reading.now > 0 else 0.0


def phase_name(reading: TimerReading) -> str:
    """Return the name of the phase, with the domain if several are trained at once."""
    phase = reading.timer.phase
    return f"{phase.domain}: {phase.name}" if phase.domain else phase.name


def notable_drift(reading: TimerReading) -> Drift | None:
    """Return the significant drift over the last hundred points, else since the start; None if neither is."""
    for drift in (reading.recent_drift, reading.drift):
        if drift is not None and drift.sure and abs(drift.ratio) >= _NOTABLE:
            return drift
    return None
