"""One metric of one run, with what its values mean."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tuimon.analysis.comparing import delta_to
from tuimon.panels._chart import factor_of
from tuimon.panels._select import curve_or_none
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify


class Reading(Struct, frozen=True, eq=False):
    """A metric that has a point."""

    metric: str
    meaning: Meaning
    curve: Curve
    factor: float
    """What logged values are multiplied by to be in the unit and of the sign of the concept."""

    @property
    def last(self) -> float:
        """The last value, finite or not."""
        return float(self.curve.values[-1]) * self.factor


def reading_of(run: Run, names: Iterable[str]) -> Reading | None:
    """The first of these metrics that has a point in this run."""
    for name in names:
        curve = curve_or_none(run, name)
        if curve is not None:
            meaning = classify(name)
            return Reading(name, meaning, curve, factor_of(meaning, curve))
    return None


def difference(own: Reading | None, base: Reading | None) -> float | None:
    """How far a run lies from another at the last step that both have reached; None where that cannot be told."""
    if own is None or base is None or own.meaning.concept != base.meaning.concept:
        return None
    delta = delta_to(own.curve, base.curve)
    return delta.value * own.factor - delta.base * base.factor if delta is not None else None
