"""The y axis of a chart: its scale and its limits, as a person wants them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuimon.draw.limits import finite_of, robust_limits, symlog_threshold, y_limits
from tuimon.model.views import Axis, Envelope
from tuimon.panels._look import Look
from tuimon.store import Curve

_LOG_FROM = 100.0
"""A ratio of highest to lowest value from which scale="auto" is logarithmic."""
_LEAST_HEIGHT = 0.25
"""The part of a chart that its lines keep at least when a band around them is made room for."""


def y_axis(
    panel: str,
    scale: str,
    curves: Sequence[Curve],
    envelopes: Sequence[Envelope],
    band: Envelope | None,
    look: Look,
    label: str,
    kind: str = "number",
) -> Axis:
    """The axis for these envelopes. panel: its id. scale: as the panel wants it, linear | auto. kind: see Axis."""
    chosen = look.y_scale if look.y_scale != "auto" else _scale_of(scale, curves)
    threshold = symlog_threshold(envelopes) if chosen == "symlog" else 1.0
    fixed = look.fixed_limits(panel)
    if fixed is not None and (chosen != "log" or fixed[0] > 0):
        return Axis(*fixed, chosen, kind, label, threshold)
    robust = robust_limits(envelopes, chosen) if look.y_range == "robust" else None
    if robust is not None:
        low, high = y_limits((), chosen, robust, threshold)
    else:
        low, high = y_limits(envelopes, chosen, (), threshold)
        if band is not None and _leaves_room(envelopes, band):
            low, high = y_limits([*envelopes, band], chosen, (), threshold)
    return Axis(low, high, chosen, kind, label, threshold)


def _leaves_room(envelopes: Sequence[Envelope], band: Envelope) -> bool:
    lines, both = finite_of(envelopes), finite_of([*envelopes, band])
    if not len(lines):
        return True
    with np.errstate(over="ignore"):
        return bool(np.ptp(lines) >= np.ptp(both) * _LEAST_HEIGHT)


def _scale_of(scale: str, curves: Sequence[Curve]) -> str:
    if scale != "auto":
        return scale
    lows = [curve.min.value for curve in curves if curve.min is not None]
    highs = [curve.max.value for curve in curves if curve.max is not None]
    wide = bool(lows) and min(lows) > 0 and max(highs) / min(lows) >= _LOG_FROM
    return "log" if wide else "linear"
