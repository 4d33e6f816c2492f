"""Charts of files and pages: a metric of a run with its validation, or a metric of several runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.comparing import first_name
from tuimon.analysis.run_states import state_sign
from tuimon.draw.frames import GUTTER
from tuimon.draw.window import Window
from tuimon.model.views import SERIES_ROLES, ChartView, Mark, Size, Symbols
from tuimon.panels import (
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
    groups = overlay_lines(present, present, grouped, Symbols.BRAILLE, failed=failed) or [
        OverlayLine((run,), labels[run.id], "", SERIES_ROLES[0]) for run in present
    ]
    cross = f" {state_sign('', ascii_only=False, critical=1)}"
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
