"""A loss or a gradient norm jumps far above its usual level, for example because of a bad batch.

Rule: a value `deviations` robust deviations above the usual level (the median of about the last 130 points) and above
`ratio` times it (for a gradient norm: `gradient_ratio`). Over when `clear_after` points were usual again; a level that
stays high becomes the usual one, and `divergence` reports it.
Source: ZClip (arXiv 2504.02507) clips gradients at 2.5 deviations, rlwatch warns at 3. The noise of RL has heavy tails,
so a healthy run has dozens of such values; 12 deviations and the ratios are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.concepts import curves
from tuimon.analysis.rules import Spike
from tuimon.detectors._curves import alert, compared, extreme, incidents, number, usual_level, verb
from tuimon.model.alerts import Alert
from tuimon.store import Run

_CONCEPTS = ("loss.total", "loss.sft", "loss.policy", "loss.value", "grad_norm")
_HINT = "look at the batch and the responses of that step; gradient clipping limits the effect of one step"


class Spikes(Struct, frozen=True):
    id: str = "spikes"
    title: str = "Spike of loss or gradient"
    deviations: float = 12.0
    ratio: float = 3.0
    gradient_ratio: float = 8.0
    clear_after: int = 8

    def check(self, run: Run) -> Iterator[Alert]:
        for concept in _CONCEPTS:
            ratio = self.gradient_ratio if concept == "grad_norm" else self.ratio
            rule = Spike(self.deviations, ratio, clear_after=self.clear_after)
            for curve in curves(run, concept, all_names=concept == "grad_norm"):
                for incident in incidents(curve, rule):
                    peak, step = extreme(curve, incident)
                    usual, _ = usual_level(curve, incident.first)
                    message = (
                        f"{curve.metric} {verb(incident, 'has jumped', 'jumped')} to {number(peak)} at step {step},"
                        f" {compared(peak, usual, 'its')} usual {number(usual)}; unusual"
                    )
                    yield alert(run, curve, incident, self.id, "warning", message, _HINT)


DETECTOR = Spikes()
