"""What a chart owes its reader: what is not finite, disputed, hidden, thinned or left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import numpy as np

from tuimon.draw.numbers import nonfinite, thousands
from tuimon.model.views import Envelope
from tuimon.panels._marks import restart_steps
from tuimon.panels._text import plural
from tuimon.store import Curve, Run


def note_of(
    run: Run, curves: Sequence[Curve], factors: Sequence[float], envelopes: Sequence[Envelope], left: int, inside: int
) -> str:
    """The small print of a chart of these curves, whose values are drawn times their factors; `inside` of their points
    lie within its limits."""
    parts: list[str] = []
    nans, infinities = sum(c.nan_count for c in curves), sum(c.infinity_count for c in curves)
    if nans:
        parts.append(f"{thousands(nans)} NaN")
    if infinities:
        parts.append(f"{thousands(infinities)} Inf")
    parts += _disputed(curves, factors)
    parts += _restarted(run, max(curves, key=lambda c: c.superseded))
    parts += _filled(max(curves, key=lambda c: c.filled))
    shown = sum(points_shown(envelope) for envelope in envelopes)
    if shown < inside:
        parts.append(f"{thousands(shown)} of {plural(inside, 'point')}")
    if left:
        parts.append(f"+{plural(left, 'metric')}")
    return ", ".join(parts)


def _disputed(curves: Sequence[Curve], factors: Sequence[float]) -> Iterator[str]:
    """The first disagreement between sources: "2 sources disagree from step 40: 0.51 here, 0.53 in metrics.jsonl"."""
    for curve, factor in zip(curves, factors, strict=True):
        found = curve.disagreement
        if found is not None:
            here, there = apart(found.here * factor, found.there * factor)
            step = f"from step {found.step}" if found.steps > 1 else f"at step {found.step}"
            yield f"2 sources disagree {step}: {here} here, {there} in {_short(found.source)}"
            return


def _restarted(run: Run, curve: Curve) -> Iterator[str]:
    steps = restart_steps(run, curve)
    if curve.superseded:
        hidden = plural(curve.superseded, "point")
        yield f"restart at {steps[-1]} hides {hidden}" if len(steps) else f"{hidden} superseded"
    elif len(steps):
        yield f"restart at step {steps[-1]}"


def _filled(curve: Curve) -> Iterator[str]:
    if curve.filled:
        others = curve.sources[1:]
        yield f"{thousands(curve.filled)} from {_short(others[0]) if len(others) == 1 else 'other sources'}"


def points_shown(envelope: Envelope) -> int:
    """Each column shows its lowest and its highest point."""
    filled, apart = np.isfinite(envelope.low), envelope.low < envelope.high  # false where there is none
    return int(np.count_nonzero(filled) + np.count_nonzero(apart))


def _short(source: str) -> str:
    return PurePosixPath(source).name or source


def apart(a: float, b: float) -> tuple[str, str]:
    """Two values in as few digits as tell them apart, two at least."""
    one = other = ""
    for digits in range(2, 18):
        one, other = _digits(a, digits), _digits(b, digits)
        if one != other:
            break
    return one, other


def _digits(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if np.isfinite(value) else nonfinite(value)
