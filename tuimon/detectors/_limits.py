"""A detector that is a limit: a metric above or below it for so many points."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.rules import Above, Below
from tuimon.detectors._curves import alert, extreme, incidents, number, verb
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run


class Limit(Struct, frozen=True):
    """`good`: where it is usual again, the hysteresis. `smooth`: by the median of nine."""

    limit: float
    good: float
    points: int
    below: bool = False
    smooth: bool = False
    skip: int = 0

    def alerts(self, run: Run, curve: Curve, rule: str, severity: str, hint: str, what: str = "") -> Iterator[Alert]:
        """One alert a time that the curve is beyond the limit."""
        clear = max(5, self.points)
        make = Below if self.below else Above
        for incident in incidents(curve, make(self.limit, self.good, self.points, clear, self.smooth, self.skip)):
            value, step = extreme(curve, incident, highest=not self.below)
            way, most = ("below", "lowest") if self.below else ("above", "highest")
            message = (
                f"{curve.metric} {verb(incident, 'is', 'was')} {way} {number(self.limit)}"
                f" ({what}{most} {number(value)} at step {step})"
            )
            yield alert(run, curve, incident, rule, severity, message, hint)
