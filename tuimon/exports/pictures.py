"""Charts as pictures. Needs matplotlib (the extra `plots`).

A curve is drawn from the minimum and maximum of each column of its chart, so no spike is lost. NaN and infinities are
marked at the bottom, and the user's notes at their steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from tuimon.errors import UsageError
from tuimon.model.points import Floats
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, ChartView, Envelope, Line, Mark, Role
from tuimon.panels import SEEDS_NOTE
from tuimon.text import clean

COLUMNS = 1500
"""Columns of a chart that is drawn here."""
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
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a7a00", "#3a4fd0", "#56b4e9", "#606060")
_NEUTRAL = "#606060"
_MARKERS = "os^Dv<>P"
_DASHES = ("-", "--", "-.", ":")
"""Styles of lines; the next one follows when the colours are used up."""


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


def draw_charts(charts: Sequence[ChartView], stream: BinaryIO, form: str, name: str = "", steps: str = "step") -> None:
    """Write a picture with the charts in up to three columns.

    form: png, svg or pdf. name: of the only run, "" for several. steps: what the steps of the runs count.
    """
    from matplotlib import rc_context

    columns = min(len(charts), 1 if len(charts) < 3 else 2 if len(charts) < 7 else 3)
    rows = -(-len(charts) // columns)
    labels = [max((len(line.label) for line in view.lines if not line.behind), default=0) for view in charts]
    longest = max(labels, default=0) if max(labels, default=0) <= _LONG_LABEL and not name else 0
    width = 9 + _LEGEND_WIDTH * max(0, longest - _SHORT_LABEL)
    figure = figure_class()(
        figsize=(width * columns, 5 * rows), dpi=130 if len(charts) == 1 else 100, layout="constrained"
    )
    for index, view in enumerate(charts, 1):
        draw_chart(figure.add_subplot(rows, columns, index), view, name, steps)
    # publishers reject the fonts of type 3 that matplotlib embeds by default
    with warnings.catch_warnings(), rc_context({"pdf.fonttype": 42}):
        warnings.simplefilter("ignore", UserWarning)  # characters that the font lacks
        metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, metadata=metadata[form])


def draw_chart(axes: Any, view: ChartView, name: str = "", steps: str = "step") -> None:
    """Draw a chart on matplotlib's axes. name, steps: see `draw_charts`."""
    width = (view.x.high - view.x.low) / max(view.columns, 1)
    centres = np.linspace(view.x.low + width / 2, view.x.high - width / 2, view.columns)
    handles = []
    front = [line for line in view.lines if not line.behind]
    for line in view.lines:
        style = _style(front.index(line) if line in front else 0, line)
        if line.filled:
            low, high = line.envelope.low, line.envelope.high
            axes.fill_between(centres, low, high, where=np.isfinite(low), color=style["color"], alpha=0.18, linewidth=0)
            continue
        (drawn,) = axes.plot(*_points(centres, line.envelope), **style)
        if not line.behind:
            handles.append((drawn, clean(line.label)))
    for mark in view.marks:
        _draw_mark(axes, mark)
    axes.set_xlim(view.x.low, view.x.high)
    if view.y.scale != "linear":
        axes.set_yscale(view.y.scale)
    axes.set_ylim(view.y.low, view.y.high)
    axes.set_title(clean(name), parse_math=False)
    axes.set_title(clean(", ".join(view.notes)), loc="right", fontsize=8, color=_NEUTRAL, parse_math=False)
    axes.set_xlabel(clean(view.x.label or steps), parse_math=False)
    axes.set_ylabel(clean(f"{view.title} ({view.unit})" if view.unit else view.title), parse_math=False)
    axes.grid(alpha=0.25)
    if len(handles) > 1 or SEEDS_NOTE in view.notes:
        _draw_legend(axes, [(drawn, label) for drawn, label in handles if label])


def _draw_legend(axes: Any, handles: list[tuple[Any, str]]) -> None:
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "ncols": -(-len(handles) // _LEGEND_ROWS)}
    below = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.12)}
    is_long = max((len(label) for _, label in handles), default=0) > _LONG_LABEL
    place: dict[str, Any] = below if is_long else beside
    legend = axes.legend([line for line, _ in handles], [label for _, label in handles], fontsize=9, **place)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _style(index: int, line: Line) -> dict[str, Any]:
    """Return the style of a line. index: its place among those in front."""
    roles = SERIES_ROLES if line.role in SERIES_ROLES else DIM_ROLES
    color = _COLOURS[roles.index(Role(line.role))] if line.role in roles else _NEUTRAL
    if line.behind:
        return {"color": color, "linewidth": 0.9, "alpha": 0.3}
    style = {"color": color, "linewidth": 1.4, "linestyle": _DASHES[index // len(_COLOURS) % len(_DASHES)]}
    if np.isfinite(line.envelope.last).sum() <= _FEW:
        style |= {"marker": _MARKERS[index % len(_MARKERS)], "markersize": 4}
    return style


def _points(centres: Floats, envelope: Envelope) -> tuple[Floats, Floats]:
    """Return x and y of a line through the first, lowest, highest and last value of each column; NaN are gaps."""
    kept = np.isfinite(envelope.first)
    gap = np.where(envelope.gap_after > 0, np.nan, envelope.last)
    parts = (envelope.first, envelope.low, envelope.high, envelope.last, gap)
    y = np.stack([part[kept] for part in parts], axis=1).ravel()
    x = np.repeat(centres[kept], len(parts))
    changes = np.append(True, (y[1:] != y[:-1]) | (x[1:] != x[:-1]))
    return x[changes], y[changes]


def _draw_mark(axes: Any, mark: Mark) -> None:
    """Draw values that are not finite at the bottom, and a note as a line with its text."""
    place = axes.get_xaxis_transform()
    if mark.kind in ("nan", "infinity"):
        axes.scatter([mark.x], [0.02], transform=place, marker="x", color=_NEUTRAL)
    elif mark.kind == "note":
        axes.axvline(mark.x, color=_NEUTRAL, linewidth=0.9, linestyle=":", zorder=1)
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1}
        upright = {"rotation": 90, "va": "top", "ha": "right", "fontsize": 8, "parse_math": False, "bbox": ground}
        axes.text(mark.x, 0.98, clean(mark.label, _LONGEST_NOTE), color=_NEUTRAL, transform=place, **upright)
