"""Curves that describe a policy, without metrics of the same name that mean something else."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.analysis.concepts import curves
from tuimon.store import Curve, Run
from tuimon.vocabulary import classify


def discrete_entropies(run: Run) -> Iterator[Curve]:
    """Yield the entropies of discrete actions; those of continuous actions may be negative."""
    for curve in curves(run, "entropy"):
        if curve.min is not None and curve.min.value >= 0 and not classify(curve.metric).sign_auto:
            yield curve


def response_lengths(run: Run) -> Iterator[Curve]:
    """Yield the lengths of responses, but no lengths of episodes in an environment, which a good policy may extend."""
    for curve in curves(run, "length.response"):
        if classify(curve.metric).unit != "steps":
            yield curve
