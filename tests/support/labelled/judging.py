"""Evaluate the detectors on a labelled run."""

from __future__ import annotations

from dataclasses import dataclass

from support.labelled.faults import STEPS, Labelled
from tuimon.detectors import Checker

_CHECKER = Checker()
_EARLY = 20
"""Steps by which an incident may begin before its fault, because medians and validations cover earlier points."""


@dataclass(frozen=True)
class Verdict:
    """raised: detectors that had to report the fault and did. false: detectors with false alerts. delay: detector ->
    steps from the fault to the first snapshot with the alert."""

    raised: frozenset[str]
    false: frozenset[str]
    delay: dict[str, int]


def judge(labelled: Labelled, delays: bool = True) -> Verdict:
    """Evaluate all alerts: those that began before the fault, or that the fault does not explain, are false."""
    fault = labelled.fault
    musts = fault.musts if fault else ()
    allowed = (*musts, *(fault.mays if fault else ()))
    raised, false = set(), set()
    for alert in _CHECKER.check(labelled.run()):
        right = alert.rule in allowed and (alert.step or 0) >= labelled.step - _EARLY
        (raised if right and alert.rule in musts else false if not right else set()).add(alert.rule)
    return Verdict(
        frozenset(raised), frozenset(false), {rule: _delay(labelled, rule) for rule in raised} if delays else {}
    )


def _delay(labelled: Labelled, rule: str) -> int:
    """Find the delay by bisection; an alert that was raised stays raised."""
    low, high = labelled.step, STEPS
    while low < high:
        middle = (low + high) // 2
        if any(alert.rule == rule for alert in _CHECKER.check(labelled.run(middle))):
            high = middle
        else:
            low = middle + 1
    return low - labelled.step
