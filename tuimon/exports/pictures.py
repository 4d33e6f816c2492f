"""Charts of files and pages: a metric of a run with its validation, or a metric of several runs."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.comparing import first_name
from tuimon.draw.frames import GUTTER
from tuimon.draw.window import Window
from tuimon.errors import UsageError
from tuimon.model.points import Floats
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, ChartView, Envelope, Line, Mark, Role, Size, Symbols
from tuimon.panels import (
    FAILURE_SIGN,
    SEEDS_NOTE,
    ChartOptions,
    OverlayLine,
    Series,
    by_relevance,
    chart_of,
    overlay_lines,
    plural,
    reading_of,
)
from tuimon.panels.lists.comparison import metrics_across, run_labels
from tuimon.run_notes import note_of
from tuimon.store import Run
from tuimon.text import clean
from tuimon.vocabulary import classify
from tuimon.vocabulary.names import section_of

MOST_LINES = 3 * len(SERIES_ROLES)
"""Maximum number of lines in a chart of several runs: each colour in three styles."""
_ROWS = 16
"""Height in rows that chart panels are asked for: enough for all curves that a panel can draw."""
_SMOOTHED_FROM = 20
"""Minimum number of points of the longest curve of a chart that is smoothed."""
_SPLIT = re.compile(r"^(?:train|eval|val|valid|validation|test)[_/]")


def chart_size(columns: int) -> Size:
    """Return the size to ask a panel for so that its envelopes have about this many columns."""
    return Size(GUTTER + columns // 2, _ROWS)


def options_of(smoothing: float = 0.0, steps: tuple[int, int] | None = None, last: int = 0) -> ChartOptions:
    """Return the options of charts. steps: first and last one that are drawn. last: the last step of the runs."""
    if steps is None:
        return ChartOptions(smoothing=smoothing)
    first, end = steps[0], min(steps[1], max(last, steps[0]))
    return ChartOptions(smoothing=smoothing, window=Window(max(end - first, 1), end))


def charts_of(run: Run, wanted: Callable[[str], bool], options: ChartOptions, columns: int) -> Iterator[ChartView]:
    """Yield a chart of each training metric with its validation metrics, the most important first."""
    pairs: dict[str, list[str]] = {}
    for name in by_relevance(run.metrics):
        if classify(name).panel not in ("progress", "hidden") and wanted(name):
            pairs.setdefault(base_name(name), []).append(name)
    for base, names in pairs.items():
        title = base if len(names) > 1 else section_of(names[0])[1]
        names = sorted(names, key=lambda name: classify(name).split == "val")
        series = [Series(((run, reading_of(run, (name,))),)) for name in names]
        view = _chart(run, title, series, options, columns, names)
        if is_drawn(view):
            notes = [Mark(step, "note", text) for _, step, text in note_of(run.path).signed_steps]
            yield replace(view, marks=(*view.marks, *(own for own in notes if view.x.low <= own.x <= view.x.high)))


def charts_across(
    runs: Sequence[Run],
    wanted: Callable[[str], bool],
    options: ChartOptions,
    columns: int,
    grouped: bool,
    failed: Container[int] = (),
) -> Iterator[ChartView]:
    """Yield a chart of each metric with a line for each run, the most important first; see `chart_across`."""
    metrics = metrics_across(runs)
    titles = [section_of(first_name(names))[1] for names in metrics]
    for title, names in zip(titles, metrics, strict=True):
        chosen = {
            run.id: name
            for run, name in zip(runs, names, strict=True)
            if name and wanted(name) and classify(name).panel not in ("progress", "hidden")
        }
        title = title if titles.count(title) == 1 else first_name(names)
        view = chart_across(runs, title, chosen, options, columns, grouped, failed)
        if is_drawn(view):
            yield view


def chart_across(
    runs: Sequence[Run],
    title: str,
    names: Mapping[int, str],
    options: ChartOptions,
    columns: int,
    grouped: bool = True,
    failed: Container[int] = (),
) -> ChartView:
    """Return the chart of a metric of several runs, of which at most MOST_LINES have a line.

    names: id of a run -> its metric. grouped: those that differ only in their seed are one line, the mean in an area
    from minimum to maximum. failed: ids of runs that are not healthy, whose names have a sign.
    """
    present = [run for run in runs if run.id in names]
    labels = dict(zip([run.id for run in runs], run_labels(runs), strict=True))
    groups = overlay_lines(present, present, grouped, failed=failed) or [
        OverlayLine((run,), labels[run.id], "", SERIES_ROLES[0]) for run in present
    ]
    cross = f" {FAILURE_SIGN}"
    lines = [
        replace(
            line,
            role=SERIES_ROLES[position % len(SERIES_ROLES)],
            marker="",
            label=labels[line.runs[0].id] + cross * (line.runs[0].id in failed) if len(line.runs) == 1 else line.label,
        )
        for position, line in enumerate(groups)
    ]
    series = [
        Series(tuple((run, reading_of(run, (names[run.id],))) for run in line.runs), line=line)
        for line in lines[:MOST_LINES]
    ]
    view = _chart(runs[0], title, series, options, columns, names.values())
    left = len(lines) - len(series)
    # The headline would describe only the first run.
    return replace(view, headline=(), notes=(*view.notes, f"+{plural(left, 'line')}") if left else view.notes)


def polyline(x: Floats, envelope: Envelope) -> tuple[Floats, Floats]:
    """Return x and y (float64) of a line through all values of an envelope.

    NaN are gaps. In each column it goes from the first value to the nearer and then the farther end of the range, and
    to the last.
    x: of the columns.
    """
    kept = np.isfinite(envelope.first)
    low, high, first = envelope.low, envelope.high, envelope.first
    near, far = np.where(np.abs(first - high) < np.abs(first - low), (high, low), (low, high))
    gap = np.where(envelope.gap_after > 0, np.nan, envelope.last)
    parts = (first, near, far, envelope.last, gap)
    y = np.stack([part[kept] for part in parts], axis=1).ravel()
    along = np.repeat(x[kept], len(parts))
    changes = np.append(True, (y[1:] != y[:-1]) | (along[1:] != along[:-1]))[: len(y)]
    return along[changes], y[changes]


def is_drawn(view: ChartView) -> bool:
    """Return whether a line of the chart has a finite value."""
    return any(math.isfinite(value) for line in view.lines if not line.behind for value in line.envelope.last)


def base_name(name: str) -> str:
    """Return the name without section and split: "loss" for train_history/loss, val_loss and eval/loss."""
    return _SPLIT.sub("", section_of(name)[1])


def _chart(
    run: Run, title: str, series: Sequence[Series], options: ChartOptions, columns: int, names: Iterable[str]
) -> ChartView:
    """Return a chart. A loss that spans decades has a logarithmic axis; an average of few points would only lag."""
    longest = max((len(reading.curve) for own in series for _, reading in own.readings if reading), default=0)
    if longest < _SMOOTHED_FROM:
        options = dataclasses.replace(options, smoothing=0.0)
    scale = "auto" if all(classify(name).panel == "loss" for name in names) else "linear"
    view = chart_of(run, title, series, chart_size(columns), Symbols.BRAILLE, options, scale=scale)
    return replace(view, notes=(f"smoothed {options.weight:g}", *view.notes)) if options.weight else view


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
        (drawn,) = axes.plot(*polyline(centres, line.envelope), **style)
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
