"""Curves that describe a policy, without metrics of the same name that mean something else."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.analysis.concepts import curves
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify

_SCATTER = 0.05
"""Part of the highest entropy by which an estimate may be negative."""


def discrete_entropies(run: Run) -> Iterator[Curve]:
    """Yield the entropies of discrete actions; those of continuous actions may be negative.

    Estimates of an entropy that is lost scatter around 0, so that slightly negative values say nothing.
    """
    for curve in curves(run, "entropy"):
        lowest, highest = curve.min, curve.max
        if lowest is None or highest is None or classify(curve.metric).sign_auto:
            continue
        if lowest.value >= min(0.0, -_SCATTER * highest.value):
            yield curve


def response_lengths(run: Run) -> Iterator[Curve]:
    """Yield the lengths of responses, but no lengths of episodes in an environment, which a good policy may extend."""
    for curve in curves(run, "length.response"):
        if classify(curve.metric).unit != "steps":
            yield curve
