"""Curves as pictures, by matplotlib (the extra `plots`): raw and smoothed, validation beside training.

Each point stands at its own step, however sparse its metric is. A curve of more points than a picture has columns is
drawn by the lowest and the highest of each column, so no spike is lost. Values that are not finite are marked below.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct

from tuimon.analysis.level import noise
from tuimon.analysis.smoothing import smooth
from tuimon.errors import UsageError
from tuimon.model.points import Floats
from tuimon.store import Curve
from tuimon.text import clean
from tuimon.vocabulary import classify

_COLUMNS = 1500
_SMOOTHED_FROM = 20
"""Points from which a smoothed line says more than the raw one."""
_NOISY = 0.01
"""… and the part of what a curve covers that its noise has then, at least."""
_FEW = 60
"""Points of a validation up to which each is marked."""
_DECADES = 100.0
"""A ratio of highest to lowest value from which the axis of a loss is logarithmic."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a7a00", "#3a4fd0", "#56b4e9", "#606060")


class Series(Struct, frozen=True):
    """One curve of a picture."""

    label: str
    curve: Curve
    validation: bool = False
    """Dashed, with marks."""


def figure_class() -> Any:
    """matplotlib's Figure. UsageError where it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("pictures need matplotlib", "pip install 'tuimon[plots]'") from error
    return Figure


def draw(series: Sequence[Series], title: str, y_label: str, stream: BinaryIO, form: str, weight: float) -> None:
    """One picture. form: png | svg | pdf. weight: of the smoothing, in [0, 1); 0 draws the raw values alone."""
    figure = figure_class()(figsize=(9, 5), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    handles: list[tuple[Any, str]] = []
    several = sum(not one.validation for one in series) > 1
    for place, one in enumerate(series):
        handles += _curve(axes, one, _COLOURS[place % len(_COLOURS)], weight, several)
    if _logarithmic(series):
        axes.set_yscale("log")
    axes.set_title(clean(title), parse_math=False)
    axes.set_xlabel("step")
    axes.set_ylabel(clean(y_label), parse_math=False)
    axes.grid(alpha=0.25)
    if len(handles) > 1:
        legend = axes.legend([line for line, _ in handles], [label for _, label in handles], fontsize=9)
        for text in legend.get_texts():
            text.set_parse_math(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a font without a name's characters draws boxes
        undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, metadata=undated[form])


def _curve(axes: Any, one: Series, colour: str, weight: float, several: bool) -> list[tuple[Any, str]]:
    """Draws it; gives what the legend has of it: of several curves the smoothed lines alone."""
    curve, label = one.curve, clean(one.label)
    x = curve.x_of(np.arange(len(curve)))
    style = {"color": colour, "linewidth": 1.4}
    if one.validation:
        style |= {"linestyle": "--"} | ({"marker": "o", "markersize": 4} if len(curve) <= _FEW else {})
    elif curve.finite_count <= 1:
        style |= {"marker": "o"}
    smoothed = weight > 0 and not one.validation and _is_noisy(curve)
    raw = {**style, "alpha": 0.3, "linewidth": 0.9} if smoothed else style
    (line,) = axes.plot(*thinned(curve), **raw)
    found = [] if smoothed and several else [(line, f"{label} (raw)" if smoothed else label)]
    if smoothed:
        (line,) = axes.plot(x, smooth(curve.values, weight), **style)
        found.append((line, f"{label} (smoothed {weight:g})"))
    bad = ~np.isfinite(curve.values)
    if bad.any():
        marks = axes.scatter(
            x[bad], np.full(int(bad.sum()), 0.02), transform=axes.get_xaxis_transform(), marker="x", color=colour
        )
        found.append((marks, f"{label}: not finite"))
    return found


def _is_noisy(curve: Curve) -> bool:
    """Whether a smoothed line says more than the curve itself: of a learning rate it would only lag behind."""
    if curve.finite_count < _SMOOTHED_FROM or curve.min is None or curve.max is None:
        return False
    return noise(curve.values) > _NOISY * (curve.max.value - curve.min.value)


def thinned(curve: Curve) -> tuple[Floats, Floats]:
    """x and y of a line with gaps (NaN) that looks as if all points were drawn."""
    low_high = curve.limits()
    if len(curve) <= 4 * _COLUMNS or low_high is None:
        places = curve.x_of(np.arange(len(curve)))
        return places, np.where(np.isfinite(curve.values), curve.values, np.nan)
    low, high = low_high
    envelope = curve.envelope(low, high, _COLUMNS)
    width = (high - low) / _COLUMNS
    left = low + np.arange(_COLUMNS) * width
    x = (left[:, None] + np.array([0.1, 0.4, 0.6, 0.9, 1.0]) * width).ravel()
    gap = np.where(envelope.gap_after > 0, np.nan, envelope.last)
    y = np.stack([envelope.first, envelope.low, envelope.high, envelope.last, gap], axis=1).ravel()
    empty = np.repeat(np.isnan(envelope.first), 5)
    return x[~empty], y[~empty]


def _logarithmic(series: Sequence[Series]) -> bool:
    if not all(classify(one.curve.metric).panel == "loss" for one in series):
        return False
    lows = [one.curve.min.value for one in series if one.curve.min]
    highs = [one.curve.max.value for one in series if one.curve.max]
    return bool(lows) and min(lows) > 0 and max(highs) / min(lows) >= _DECADES
