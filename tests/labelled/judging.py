"""What the detectors make of a labelled run."""

from __future__ import annotations

from dataclasses import dataclass

from labelled.faults import STEPS, Labelled
from tuimon.detectors import check

_EARLY = 20
"""Steps by which an incident may seem to begin before its fault: medians reach back, as do validations."""


@dataclass(frozen=True)
class Verdict:
    """raised: those that had to tell it, and did. false: those that told what is not so. delay: detector -> steps from
    the fault to the first snapshot that tells it."""

    raised: frozenset[str]
    false: frozenset[str]
    delay: dict[str, int]


def judge(labelled: Labelled, delays: bool = True) -> Verdict:
    """False is an alert that began before the fault, or that neither must nor may be."""
    fault = labelled.fault
    musts = fault.musts if fault else ()
    allowed = (*musts, *(fault.mays if fault else ()))
    raised, false = set(), set()
    for alert in check(labelled.run()):
        right = alert.rule in allowed and (alert.step or 0) >= labelled.step - _EARLY
        (raised if right and alert.rule in musts else false if not right else set()).add(alert.rule)
    return Verdict(
        frozenset(raised), frozenset(false), {rule: _delay(labelled, rule) for rule in raised} if delays else {}
    )


def _delay(labelled: Labelled, rule: str) -> int:
    """By bisection: what was once told stays told."""
    low, high = labelled.step, STEPS
    while low < high:
        middle = (low + high) // 2
        if any(alert.rule == rule for alert in check(labelled.run(middle))):
            high = middle
        else:
            low = middle + 1
    return low - labelled.step
