"""Throughput has fallen compared with the start of the run.

Rules: the median of nine of the throughput is at most `part` of the median of the points 10 to 59, for `points` points
in a row. The alert is information only if instead the median of 48 points is at most `mild` of that median for about 64
points, as mild slowness in step_drift.py, or if the length of the responses explains the loss (shorter ones for tokens,
longer ones for samples and steps a second). The message has the median of the points since a sudden change, else of the
last 50. Means since the start (time/fps) are left out.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.level_rules import AgainstStart, BlocksAgainstStart
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.windows import NINE
from tuimon.detectors._curves import (
    alert,
    graded_changes,
    median_of_rows,
    rows_of_level,
)
from tuimon.detectors._policy import EXPLAINS, SLOW_HINT, response_change, response_growth
from tuimon.model.alerts import Alert, Change
from tuimon.store import Curve, Run

_CONCEPTS = ("throughput.tokens", "throughput.tokens_per_gpu", "throughput.samples", "throughput.steps")
_SINCE_START = ("time/fps",)
_SKIP, _BASELINE = 10, 50
_START = _SKIP, _SKIP + _BASELINE - 1
"""Rows of the points 10 to 59."""
_HINT_OF_LENGTH = "the responses explain it; read some of them and see whether they need their length"


class ThroughputLoss(Struct, frozen=True):
    id: str = "throughput_loss"
    title: str = "Throughput loss"
    part: float = 0.65
    """Throughput, as a median of nine points, relative to that of the points 10 to 59."""
    points: int = 20
    """Points in a row."""
    mild: float = 0.9
    """Throughput, as a median of 48 points, relative to the same, from which on it is information."""

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield an alert for each loss, for the first of the concepts that is logged."""
        high = 1 / self.part
        low = 1 + 0.6 * (high - 1)
        rule = AgainstStart(high, low, _BASELINE, _SKIP, True, raise_after=self.points, clear_after=self.points)
        mild = BlocksAgainstStart(1 / self.mild, 1 + 0.6 * (1 / self.mild - 1), _BASELINE, _SKIP, True)
        for concept in _CONCEPTS:
            rates = [curve for curve in curves(run, concept) if curve.metric not in _SINCE_START]
            for curve in rates:
                unit = meaning_of(run, curve.metric).unit
                unit = "" if unit == "1" else unit
                for slow, usual, severe in graded_changes(curve, rule, mild):
                    rows = rows_of_level(curve, slow, usual, _BASELINE)
                    now = median_of_rows(curve, *rows)
                    lengths = _lengths(run, curve, slow.raised if severe is None else severe, usual, rows)
                    severity = "info" if severe is None or lengths else "warning"
                    hint = _HINT_OF_LENGTH if lengths else SLOW_HINT
                    yield alert(
                        run, curve, slow, self.id, severity, "fallen", now, usual, hint=hint, unit=unit, related=lengths
                    )
            if rates:
                return


def _lengths(run: Run, curve: Curve, raised: int, usual: float, rows: tuple[int, int]) -> tuple[Change, ...]:
    """Return the change of the length of the responses if it explains the loss, else ().

    Fewer tokens share the time that a step takes in any case; longer responses make fewer samples and steps.
    """
    then = raised - NINE + 1, raised
    growth, now = response_growth(run, curve, _START, then), median_of_rows(curve, *then)
    relative = 1 / growth if growth > 0 and "tokens" in meaning_of(run, curve.metric).concept else growth
    if not (now > 0 and relative - 1 >= EXPLAINS * (usual / now - 1)):
        return ()
    return response_change(run, curve, _START, rows)


DETECTOR = ThroughputLoss()
