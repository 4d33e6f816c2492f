"""Curves as pictures: training and validation, or several runs. Needs matplotlib (the extra `plots`).

A curve with more points than columns is drawn from the minimum and maximum of each column, so no spike is lost.
Non-finite values are marked at the bottom, and the last value of a run that is not healthy (crashed, diverged) has a
cross.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct

from tuimon.analysis.smoothing import smooth
from tuimon.errors import UsageError
from tuimon.model.points import Floats
from tuimon.model.views import Envelope
from tuimon.panels import SEEDS_NOTE, mean_and_band
from tuimon.store import Curve, Scale, envelope_of_points
from tuimon.store.envelope import wide_enough
from tuimon.text import clean
from tuimon.vocabulary import classify

_COLUMNS = 1500
"""Columns of the envelope of a long curve."""
_SMOOTHED_FROM = 20
"""Minimum number of points of a curve that is smoothed."""
_NOISY = 0.01
"""Minimum noise of a curve that is smoothed, as a fraction of its value range."""
_NOISE = 1 / (0.6745 * 6**0.5)
"""Standard deviation of a point per median of the second differences (normal distribution)."""
_FEW = 60
"""Number of points up to which those of a curve are marked."""
_LONG_LABEL = 48
"""Maximum characters of an entry of a legend beside the axes; with a longer one it is below them."""
_SHORT_LABEL = 16
"""Characters of an entry up to which a legend beside the axes takes no additional width."""
_LEGEND_WIDTH = 0.09
"""Inches per character."""
_LEGEND_ROWS = 24
_LONGEST_NOTE = 60
"""Maximum characters of a note at a step."""
_DECADES = 100.0
"""Ratio of the highest to the lowest value from which the axis of a loss is logarithmic."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a7a00", "#3a4fd0", "#56b4e9", "#606060")
_NEUTRAL = "#606060"
_MARKERS = "os^Dv<>P"
_STEPS = Scale("step")
_DASHES = ("-", "--", "-.", ":")
"""Styles of lines; the next one follows when the colours are used up."""


class Series(Struct, frozen=True):
    """A curve of a picture."""

    label: str
    curve: Curve
    validation: bool = False
    """True to draw it dashed and never smoothed."""
    position: int | None = None
    """Position of its run, which sets colour and marker in all charts; None: its position in the chart."""
    others: tuple[Curve, ...] = ()
    """Curves of runs that differ from that of `curve` only in their seed: the mean of all is drawn, in a band from the
    lowest to the highest value."""
    notes: tuple[tuple[int, str], ...] = ()
    """(step, text) of the user's notes at steps."""
    failed: tuple[Curve, ...] = ()
    """Those of the curves whose run is not healthy (`failures_of`)."""
    scales: tuple[Scale, ...] = ()
    """Axis of `curve` and of each of the others; () for steps."""

    @property
    def drawn(self) -> list[tuple[Curve, Scale]]:
        """Curves with their axes."""
        curves = self.curve, *self.others
        return list(zip(curves, self.scales or [_STEPS] * len(curves), strict=True))


def figure_class() -> Any:
    """Return matplotlib's class Figure. Raise UsageError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(
            "pictures need matplotlib",
            "Run: pip install 'tuimon[plots]'. Without it, `tuimon report` writes a page with charts.",
        ) from error
    return Figure


class Picture(Struct, frozen=True):
    """A chart of a picture."""

    series: Sequence[Series]
    title: str
    """What the label of the y axis does not say: the name of the only run; "" for several runs."""
    y_label: str
    x_label: str = "step"


def draw_charts(charts: Sequence[Picture], stream: BinaryIO, form: str, weight: float) -> None:
    """Write a picture with the charts in up to three columns.

    form: png, svg or pdf. weight: smoothing weight in [0, 1); 0 draws only the raw values.
    """
    from matplotlib import rc_context

    columns = min(len(charts), 1 if len(charts) < 3 else 2 if len(charts) < 7 else 3)
    rows = -(-len(charts) // columns)
    width = 9 + _LEGEND_WIDTH * max(map(_extra_characters, charts), default=0)
    figure = figure_class()(
        figsize=(width * columns, 5 * rows), dpi=130 if len(charts) == 1 else 100, layout="constrained"
    )
    for index, chart in enumerate(charts, 1):
        draw_chart(figure.add_subplot(rows, columns, index), chart, weight)
    # publishers reject the fonts of type 3 that matplotlib embeds by default
    with warnings.catch_warnings(), rc_context({"pdf.fonttype": 42}):
        warnings.simplefilter("ignore", UserWarning)  # characters that the font lacks
        metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, metadata=metadata[form])


def _extra_characters(chart: Picture) -> int:
    """Return by how many characters the legend beside the axes of a chart is wider than short labels are."""
    longest = max((len(item.label) for item in chart.series), default=0) if len(chart.series) > 1 else 0
    return max(0, longest - _SHORT_LABEL) if longest <= _LONG_LABEL else 0


def draw_chart(axes: Any, chart: Picture, weight: float) -> None:
    """Draw a chart on matplotlib's axes. weight: see `draw_charts`."""
    handles: list[tuple[Any, str]] = []
    several = sum(not item.validation for item in chart.series) > 1
    for index, item in enumerate(chart.series):
        style = _style(index if item.position is None else item.position, item)
        handles += _seeds(axes, item, style, weight) if item.others else _curve(axes, item, style, weight, several)
        _draw_crosses(axes, item, style["color"])
        _draw_notes(axes, item, style["color"] if several else _NEUTRAL)
    if _logarithmic(chart.series):
        axes.set_yscale("log")
    if chart.title:
        axes.set_title(clean(chart.title), parse_math=False)
    axes.set_xlabel(clean(chart.x_label), parse_math=False)
    axes.set_ylabel(clean(chart.y_label), parse_math=False)
    axes.grid(alpha=0.25)
    has_seeds = any(item.others for item in chart.series)
    if len(handles) > 1 or has_seeds:
        beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "ncols": -(-len(handles) // _LEGEND_ROWS)}
        below = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.12)}
        is_long = max(len(label) for _, label in handles) > _LONG_LABEL
        place: dict[str, Any] = below if is_long else beside
        if has_seeds:
            place |= {"title": SEEDS_NOTE, "title_fontsize": 9, "alignment": "left"}
        legend = axes.legend([line for line, _ in handles], [label for _, label in handles], fontsize=9, **place)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _style(index: int, series: Series) -> dict[str, Any]:
    """Return the style of a curve at a position."""
    dashes = "--" if series.validation else _DASHES[index // len(_COLOURS) % len(_DASHES)]
    style = {"color": _COLOURS[index % len(_COLOURS)], "linewidth": 1.4, "linestyle": dashes}
    if len(series.curve) <= _FEW or series.curve.finite_count <= 1:
        style |= {"marker": _MARKERS[index % len(_MARKERS)], "markersize": 4}
    return style


def _curve(axes: Any, series: Series, style: dict[str, Any], weight: float, several: bool) -> list[tuple[Any, str]]:
    """Draw a curve and return its legend entries. Of several smoothed curves only the smoothed line is listed."""
    ((curve, scale),), label = series.drawn, clean(series.label)
    x = curve.x_of_rows(np.arange(len(curve)), scale)
    smoothed = weight > 0 and not series.validation and _is_noisy(curve)
    raw = {**style, "alpha": 0.3, "linewidth": 0.9} if smoothed else style
    (line,) = axes.plot(*thinned(curve, scale), **raw)
    handles = [] if smoothed and several else [(line, f"{label} (raw)" if smoothed else label)]
    if smoothed:
        (line,) = axes.plot(x, smooth(curve.values, weight), **{**style, "marker": ""})
        handles.append((line, f"{label} (smoothed {weight:g})"))
    return handles + _nonfinite(axes, series, style)


def _nonfinite(axes: Any, series: Series, style: dict[str, Any]) -> list[tuple[Any, str]]:
    """Mark non-finite values at the bottom and return the entry of the legend; [] if there are none."""
    rows = [np.flatnonzero(~np.isfinite(curve.values)) for curve, _ in series.drawn]
    x = np.concatenate([c.x_of_rows(own, scale) for (c, scale), own in zip(series.drawn, rows, strict=True)])
    if not len(x):
        return []
    place = axes.get_xaxis_transform()
    marks = axes.scatter(x, np.full(len(x), 0.02), transform=place, marker="x", color=style["color"])
    return [(marks, f"{clean(series.label)}: not finite")]


def _seeds(axes: Any, series: Series, style: dict[str, Any], weight: float) -> list[tuple[Any, str]]:
    """Draw the mean of runs that differ only in their seed and its band, as the screen does, and return the legend."""
    label = clean(series.label)
    limits = [known for curve, scale in series.drawn if (known := curve.limits(scale)) is not None]
    low, high = min(first for first, _ in limits), max(last for _, last in limits)
    low, high = wide_enough(*((low - 0.5, high + 0.5) if low == high else (low, high)))
    weight = weight if any(_is_noisy(curve) for curve, _ in series.drawn) else 0
    mean, band = mean_and_band([_envelope(curve, scale, low, high, weight) for curve, scale in series.drawn])
    x = low + (np.arange(_COLUMNS) + 0.5) * ((high - low) / _COLUMNS)
    axes.fill_between(x, band.low, band.high, color=style["color"], alpha=0.18, linewidth=0)
    (line,) = axes.plot(x, mean.last, **{**style, "marker": ""})
    text = f"{label} (smoothed {weight:g})" if weight else label
    return [(line, text), *_nonfinite(axes, series, style)]


def _envelope(curve: Curve, scale: Scale, low: float, high: float, weight: float) -> Envelope:
    if not weight:
        return curve.envelope(low, high, _COLUMNS, scale)
    x = curve.x_of_rows(np.arange(len(curve)), scale)
    return envelope_of_points(x, smooth(curve.values, weight), low, high, _COLUMNS)


def _draw_crosses(axes: Any, series: Series, color: str) -> None:
    """Draw a cross at the last finite value of each run that is not healthy."""
    for curve, scale in series.drawn:
        if curve.last is not None and any(curve is failed for failed in series.failed):
            x = curve.x_of_rows(np.flatnonzero(np.isfinite(curve.values))[-1:], scale)
            axes.scatter(x, [curve.last.value], marker="X", s=90, color=color, edgecolor="white", zorder=5)


def _draw_notes(axes: Any, series: Series, color: str) -> None:
    """Draw a line with the text of each of the user's notes at the steps of the curves."""
    limits = [known for curve, scale in series.drawn if (known := curve.limits(scale)) is not None]
    for step, text in series.notes:
        x = series.curve.x_of_step(step, series.drawn[0][1])
        if not any(first <= x <= last for first, last in limits):
            continue
        axes.axvline(x, color=color, linewidth=0.9, linestyle=":", zorder=1)
        place = {"transform": axes.get_xaxis_transform(), "rotation": 90, "va": "top", "ha": "right"}
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1}
        text = clean(text, _LONGEST_NOTE)
        axes.text(x, 0.98, text, color=color, fontsize=8, parse_math=False, bbox=ground, **place)


def _is_noisy(curve: Curve) -> bool:
    """Return True if smoothing helps; a smoothed learning rate, for example, would only lag."""
    if curve.finite_count < _SMOOTHED_FROM or curve.min is None or curve.max is None:
        return False
    steps = np.abs(np.diff(curve.values[np.isfinite(curve.values)], 2))
    noise = float(np.median(steps)) * _NOISE
    return noise > _NOISY * (curve.max.value - curve.min.value)


def thinned(curve: Curve, scale: Scale = _STEPS) -> tuple[Floats, Floats]:
    """Return x and y of a line that looks as if every point were drawn. NaN are gaps."""
    low_high = curve.limits(scale)
    if len(curve) <= 4 * _COLUMNS or low_high is None:
        places = curve.x_of_rows(np.arange(len(curve)), scale)
        return places, np.where(np.isfinite(curve.values), curve.values, np.nan)
    low, high = wide_enough(*low_high)
    envelope = curve.envelope(low, high, _COLUMNS, scale)
    width = (high - low) / _COLUMNS
    left = low + np.arange(_COLUMNS) * width
    x = (left[:, None] + np.array([0.1, 0.4, 0.6, 0.9, 1.0]) * width).ravel()
    gap = np.where(envelope.gap_after > 0, np.nan, envelope.last)
    y = np.stack([envelope.first, envelope.low, envelope.high, envelope.last, gap], axis=1).ravel()
    empty = np.repeat(np.isnan(envelope.first), 5)
    return x[~empty], y[~empty]


def _logarithmic(series: Sequence[Series]) -> bool:
    if not all(classify(item.curve.metric).panel == "loss" for item in series):
        return False
    lows = [item.curve.min.value for item in series if item.curve.min]
    highs = [item.curve.max.value for item in series if item.curve.max]
    return bool(lows) and min(lows) > 0 and max(highs) / min(lows) >= _DECADES
