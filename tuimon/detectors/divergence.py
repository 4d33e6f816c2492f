"""The training diverges: a loss or a gradient norm stays far above its earlier level.

Rule: the median of nine is far above the usual level (the median of about the last 130 points) for 4 points in a row:
`loss_ratio` times it and 8 robust deviations for a loss of supervised training (no reward is logged); `ratio` times it
and 6 deviations, and `ratio` times the latest points, for a gradient norm and other losses. Or that of a gradient norm
is for 16 points `growth` times the level on which it had settled at half of the points so far (128 points whose eighths
differ by a factor of at most 2; in the first 256 points 64 whose quarters do), so that growth over a few hundred steps
counts, but not growth by a factor of 3 in the whole run. A supervised loss above its start is critical. Over when most
of the rise is undone. A rise to less than `least` of what a supervised loss was at its start is none: a loss that has
reached 1e-7 often multiplies for some steps. Alerts have the order of their onsets; a first one is as severe as what
follows from it.
Source: ours; SageMaker Debugger and rlwatch check single values only. The surrogate loss of RL need not fall, so its
level says nothing. Of 480 losses on a plateau (autocorrelation 0.5 to 0.95) 6 raise an alert, all with a deviation of
at least 25 % of the level; of the simulated divergences all are found, and 45 of 63 generated ones, but none that takes
500 points. For gradient norms with noise of 25 % to 40 % (autocorrelation up to 0.9): growth by a factor of e in 40 or
100 steps is reported after 104 and 230 steps, from its onset on; of 840 healthy norms, constant, falling, or growing
threefold, none raises an alert by `growth`. In runs of 150 to 300 points growth by a factor of e in 8 to 25 points is
reported after 36 to 73 points; of 1600 healthy norms of 300 points none raises an alert, of 1200 that wander by a
factor of 2.2 (autocorrelation 0.9 to 0.99) 13 do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.incidents import Incident
from tuimon.analysis.level_rules import AgainstSettled
from tuimon.analysis.rules import Runaway
from tuimon.analysis.windows import BLOCK, BLOCKS, NINE
from tuimon.detectors._curves import (
    alert,
    changes_from_settled,
    merged,
    reached_level,
    runaways,
)
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.store import Curve, Run

_LOSSES = ("loss.total", "loss.sft")
_SPREAD = 2.0
"""Highest median of a block, relative to the lowest one, of a gradient norm that has settled."""
_SHORT = 2 * BLOCKS * BLOCK
"""Points in which fewer blocks are enough: in a long run a norm that wanders is level for 64 points by chance."""
_HINT = "go back to an earlier checkpoint; lower the learning rate, clip gradients, or skip the data of those steps"


class Divergence(Struct, frozen=True):
    id: str = "divergence"
    title: str = "Divergence"
    ratio: float = 5.0
    """Level of a loss or gradient norm, relative to the usual one."""
    growth: float = 8.0
    """Level of a gradient norm, relative to the level on which it had settled."""
    loss_ratio: float = 2.0
    """Level of a loss, relative to the usual one, in supervised training."""
    least: float = 0.01
    """Level, relative to the start of a supervised loss, below which no rise counts."""

    def check(self, run: Run) -> Iterator[Alert]:
        """Yield the alerts in the order of their onsets.

        An active alert is at least as severe as those that began after it: the first sign of a divergence, which leads
        to its cause, is listed first.
        """
        alerts = sorted(self._alerts(run), key=lambda alert: alert.step or 0)
        severest = 0
        for position in reversed(range(len(alerts))):
            if alerts[position].active:
                severest = max(severest, SEVERITIES.index(alerts[position].severity))
                alerts[position] = replace(alerts[position], severity=SEVERITIES[severest])
        yield from alerts

    def _alerts(self, run: Run) -> Iterator[Alert]:
        for curve in curves(run, "grad_norm", all_names=True):
            yield from self._risen_gradient(run, curve)
        supervised = not metrics_of(run, "reward.train")
        for concept in (*_LOSSES, "loss.value"):
            for curve in curves(run, concept):
                runaway = Runaway(6.0, self.ratio, self.ratio)
                start = float(np.fmax.reduce(curve.values[:NINE], initial=-math.inf)) if supervised else math.inf
                if supervised:
                    floor = self.least * start if math.isfinite(start) and len(curve) >= NINE else 0.0
                    runaway = Runaway(8.0, self.loss_ratio, 1.0, floor)
                yield from self._warnings(run, curve, runaways(curve, runaway), start)

    def _risen_gradient(self, run: Run, curve: Curve) -> Iterator[Alert]:
        runaway = Runaway(6.0, self.ratio, self.ratio)
        growth = AgainstSettled(self.growth, self.growth / 2, _SPREAD, blocks=BLOCKS, raise_after=BLOCK)
        short = replace(growth, blocks=BLOCKS // 2)
        early = (change for change in changes_from_settled(curve, short) if change[0].raised < _SHORT)
        changes = [*runaways(curve, runaway), *early, *changes_from_settled(curve, growth)]
        return self._warnings(run, curve, merged(changes))

    def _warnings(
        self, run: Run, curve: Curve, changes: Iterable[tuple[Incident, float]], start: float = math.inf
    ) -> Iterator[Alert]:
        """Yield an alert for each (incident, usual level before it); above the level `start` it is critical."""
        for incident, usual in changes:
            level = reached_level(curve, incident, highest=True)
            severity = "critical" if level > start else "warning"
            yield alert(run, curve, incident, self.id, severity, "risen", level, usual, hint=_HINT)


DETECTOR = Divergence()
