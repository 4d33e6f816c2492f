"""Steps have become slower and stay slow.

Rules: the median of nine of the step time is `ratio` times the median of the steps 10 to 59, for `points` steps in a
row. The alert is information only if instead the median of 48 steps is `mild` times that median for about 64 steps, and
farther above it than noise or slow wandering explain (`BlocksAgainstStart`), or if the responses have grown by at least
three quarters as much. It begins where the step time changes, and names the phase of the step that has most of the
increase. The durations and lengths are medians of the steps 10 to 59 and of those since a sudden change, else of the
last 50.
Source: ours (no tool known to us reports this). Simulated for mild slowness, 500 runs each of 600 steps: steps that
wander by 10 % (autocorrelation 0.9, 0.95, 0.98) raise an alert in 3, 3 and 11 % of the runs, steps that become 15 %
longer in 100 % (independent noise of 5 %) and 96 % (10 %), steps that become 30 % longer all along the run in 100 %.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.level_rules import AgainstStart, BlocksAgainstStart
from tuimon.analysis.printed_units import meaning_of, seconds_of
from tuimon.analysis.timers import timer_tree
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import (
    alert,
    graded_changes,
    median_of_rows,
    rows_of_level,
)
from tuimon.detectors._policy import EXPLAINS, SLOW_HINT, levels_beside, response_change, response_growth
from tuimon.model.alerts import Alert, Change
from tuimon.store import Curve, Run

_SKIP, _BASELINE = 10, 50
_START = _SKIP, _SKIP + _BASELINE - 1
"""Rows of the steps 10 to 59."""
_HINT_OF_LENGTH = "longer responses take longer to generate; read some of them and see whether they need their length"


class StepDrift(Struct, frozen=True):
    id: str = "step_drift"
    title: str = "Steps get slower"
    ratio: float = 1.4
    """Step time, as a median of nine steps, relative to that of the steps 10 to 59."""
    points: int = 20
    """Steps in a row."""
    mild: float = 1.12
    """Step time, as a median of 48 steps, relative to the same, from which on it is information."""

    def check(self, run: Run) -> Iterator[Alert]:
        low = 1 + 0.6 * (self.ratio - 1)
        rule = AgainstStart(self.ratio, low, _BASELINE, _SKIP, raise_after=self.points, clear_after=self.points)
        mild = BlocksAgainstStart(self.mild, 1 + 0.6 * (self.mild - 1), _BASELINE, _SKIP)
        for curve in curves(run, "time.step"):
            seconds = seconds_of(run, curve.metric)
            for slow, usual, severe in graded_changes(curve, rule, mild):
                raised = slow.raised if severe is None else severe
                raised_rows = raised - NINE + 1, raised
                rows = rows_of_level(curve, slow, usual, _BASELINE)
                now = median_of_rows(curve, *rows)
                growth = response_growth(run, curve, _START, raised_rows)
                explained = growth - 1 >= EXPLAINS * (median_of_rows(curve, *raised_rows) / usual - 1)
                related = response_change(run, curve, _START, rows) if explained else ()
                related += _slower_phase(run, curve, rows, seconds * (now - usual))
                meaning = meaning_of(run, curve.metric)
                hint = _HINT_OF_LENGTH if explained else SLOW_HINT
                severity = "info" if severe is None or explained else "warning"
                yield alert(
                    run,
                    curve,
                    slow,
                    self.id,
                    severity,
                    "risen",
                    now * meaning.scale,
                    usual * meaning.scale,
                    hint=hint,
                    unit=meaning.unit,
                    related=related,
                )


def _slower_phase(run: Run, curve: Curve, rows: tuple[int, int], seconds: float) -> tuple[Change, ...]:
    """Return the change of the phase that grew most, as 0 or 1 changes.

    None if no phase has half of the increase of the step time, which is `seconds`.
    """
    most = 0.5 * seconds
    found: tuple[Change, ...] = ()
    for timer in timer_tree(tuple(metrics_of(run, "time.phase", all_names=True))):
        if not timer.parent:
            phase = run.curve(timer.metric)
            before, now = levels_beside(phase, curve, _START, rows)
            longer = seconds_of(run, timer.metric) * (now - before)
            if longer > most:
                most = longer
                meaning = meaning_of(run, timer.metric)
                values = now * meaning.scale, before * meaning.scale
                found = (Change(timer.metric, "risen", *values, unit=meaning.unit),)
    return found


DETECTOR = StepDrift()
