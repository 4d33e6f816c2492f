"""The policy has collapsed within a few steps: its entropy is lost while KL, reward and gradient break down with it.

Rule: the entropy is at most `part` of its level of four points before (a median of nine), for `points` points, and in
the same steps at least two of these hold: the KL is `ratio` times its usual value and above `floor`; every reward is
lower than all of the 31 before; no group has any variance; the gradient norm is at most a hundredth of its usual value.
Usual values are medians of the 31 points before. Over when the entropy is back for 10 points. Not if the reward is near
its maximum. The other detectors of these metrics judge each on its own and need more points for it; here the
coincidence is the evidence, so that a short run is judged, too.
Source: ours; "The Entropy Mechanism" (arXiv 2505.22617) and DAPO (arXiv 2503.14476) describe the signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import Plunge
from tuimon.detectors._checkpoints import checkpoint_before
from tuimon.detectors._curves import incidents
from tuimon.detectors._policy import discrete_entropies
from tuimon.detectors._reward import near_ceiling
from tuimon.model.alerts import Alert, Change
from tuimon.model.points import Floats
from tuimon.store import Curve, Run

_USUAL_POINTS = 31
"""Points before an incident from which usual values are computed; at most as many in it are examined."""
_LEAD = 4
"""Points before the incident that may belong to it, and to no usual value."""
_MIN_USUAL_POINTS = 5
_SIGNS = 2
"""Signs, besides the entropy, that make a collapse."""
_ALL_GROUPS, _NO_DEVIATION = 0.99, 1e-6
"""Share of the groups without variance that counts as all, and deviation of the rewards that counts as none."""
_LOST_GRADIENT = 0.01
"""Part of its usual value that the gradient norm has at most."""

Flags = npt.NDArray[np.bool_]


class PolicyCollapse(Struct, frozen=True):
    id: str = "policy_collapse"
    title: str = "Policy collapse"
    part: float = 0.1
    """Level of the entropy, relative to that of four points before."""
    points: int = 3
    """Points in a row."""
    ratio: float = 5.0
    """KL, relative to its usual value."""
    floor: float = 0.1
    """KL (nats) below which no rise counts."""

    def check(self, run: Run) -> Iterator[Alert]:
        for curve in discrete_entropies(run):
            for incident in incidents(curve, Plunge(self.part, self.points)):
                if not near_ceiling(run, int(curve.steps[max(0, incident.first - _LEAD)])):
                    yield from self._alerts(run, curve, incident)

    def _alerts(self, run: Run, curve: Curve, incident: Incident) -> Iterator[Alert]:
        rows = (incident.first, incident.raised, incident.last)
        first, raised, last = (int(curve.steps[row]) for row in rows)
        signs = [sign for sign in self._signs(run, first, raised, last) if sign is not None]
        if len(signs) < _SIGNS:
            return
        entropy = _sign(
            curve, first, raised, last, lambda usual, now: now <= 2 * self.part * np.median(usual), "fallen"
        )
        signs = sorted([entropy, *signs] if entropy is not None else signs, key=lambda sign: sign.step or 0)
        step = signs[0].step
        until = last if incident.cleared is not None else None
        hint = f"go back to {checkpoint_before(run, step)}; lower the learning rate, or raise the KL coefficient"
        yield Alert(
            self.id,
            "critical",
            run.id,
            curve.metric,
            step,
            hint=hint,
            until=until,
            what="collapsed",
            related=tuple(signs),
        )

    def _signs(self, run: Run, first: int, raised: int, last: int) -> Iterator[Change | None]:
        """Yield the signs besides the entropy, None for each that is absent."""

        def is_high(usual: Floats, now: Floats) -> Flags:
            return (now >= self.ratio * np.median(usual)) & (now > self.floor)

        for curve in _main_curve(run, "kl.ref", "kl.old"):
            yield _sign(curve, first, raised, last, is_high, "risen")
        for curve in _main_curve(run, "reward.train", "success.train"):
            yield _sign(curve, first, raised, last, lambda usual, now: now < usual.min(), "fallen")
        for curve in _main_curve(run, "reward.zero_std_frac"):
            yield _sign(curve, first, raised, last, _all_equal, "risen")
            break
        else:
            for curve in _main_curve(run, "reward.std"):
                yield _sign(curve, first, raised, last, _no_deviation, "fallen")
        for curve in _main_curve(run, "grad_norm"):
            yield _sign(curve, first, raised, last, _is_lost, "fallen")


def _main_curve(run: Run, *concepts: str) -> Iterator[Curve]:
    """Yield the first curve of the first of the concepts that the run has, if any."""
    for concept in concepts:
        for metric in metrics_of(run, concept):
            yield run.curve(metric)
            return


def _sign(
    curve: Curve,
    first: int,
    raised: int,
    last: int,
    is_bad: Callable[[Floats, Floats], Flags],
    kind: str,
) -> Change | None:
    """Return the sign of a curve; None unless all its values from step `first` to `raised` are bad.

    is_bad(usual values, values) gets finite values. kind: "risen" or "fallen". The result does not depend on points
    after `raised`, but for the extreme value.
    """
    begin = max(0, curve.row_before(first) + 1 - _LEAD)
    usual = _finite(curve.values[max(0, begin - _USUAL_POINTS) : begin])
    end = curve.row_after(raised)
    values, steps = curve.values[begin:end], curve.steps[begin:end]
    bad = np.isfinite(values)
    if len(usual) < _MIN_USUAL_POINTS or not (bad & (steps >= first)).any():
        return None
    bad[bad] = is_bad(usual, values[bad])
    if not bad[steps >= first].all():
        return None
    good = np.flatnonzero(~bad)
    onset = int(good[-1]) + 1 if len(good) else 0
    until = min(curve.row_after(last), end + _USUAL_POINTS)
    now = _finite(curve.values[begin + onset : until])
    value = now.max() if kind == "risen" else now.min()
    return Change(curve.metric, kind, float(value), float(np.median(usual)), step=int(steps[onset]))


def _finite(values: Floats) -> Floats:
    finite: Floats = values[np.isfinite(values)]
    return finite


def _all_equal(usual: Floats, now: Floats) -> Flags:
    return (now >= _ALL_GROUPS) & (float(np.median(usual)) < _ALL_GROUPS)


def _no_deviation(usual: Floats, now: Floats) -> Flags:
    return (now <= _NO_DEVIATION) & (float(np.median(usual)) > _NO_DEVIATION)


def _is_lost(usual: Floats, now: Floats) -> Flags:
    return now <= _LOST_GRADIENT * np.median(usual)


DETECTOR = PolicyCollapse()
