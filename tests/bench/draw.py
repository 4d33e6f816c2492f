"""Measure the drawing of charts, compared with plotext alone.

Columns: rows of a view with a cached frame; the frame; the changed cells if the newest columns changed; plotext with
two points per column, and with all 10,000 points of each curve (built and printed without styles). Milliseconds of CPU
time, median.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from tuimon import draw
from tuimon.draw.chart import plot_columns
from tuimon.draw.diff import changed_spans
from tuimon.draw.limits import y_limits
from tuimon.model.points import Floats
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Size, Symbols

POINTS = 10_000


def median(action: Callable[[], object], repeats: int) -> float:
    """Median CPU time of a call in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        action()
        times.append(time.thread_time() - start)
    return statistics.median(times) * 1e3


def envelope(values: Floats, columns: int) -> Envelope:
    """Min, max, first and last of evenly spaced points."""
    edges = np.arange(columns) * len(values) // columns
    low, high = np.minimum.reduceat(values, edges), np.maximum.reduceat(values, edges)
    return Envelope(low, high, values[edges], values[np.append(edges[1:], len(values)) - 1], np.zeros(columns))


def view_of(curves: list[Floats], width: int) -> ChartView:
    """A chart of the curves."""
    columns = plot_columns(width)
    envelopes = [envelope(curve, columns) for curve in curves]
    lines = tuple(Line(f"s{i}", SERIES_ROLES[i], e) for i, e in enumerate(envelopes))
    return ChartView("train/loss", (), Axis(0, POINTS, kind="step"), Axis(*y_limits(envelopes)), lines, columns=columns)


def plotext_alone(curves: list[list[float]], size: Size) -> str:
    """Draw the curves as a plotext figure."""
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.plot_size(size.width, size.height)
    for curve in curves:
        figure.draw(figure.signal(curve, marker="braille").lines(True))
    return str(figure.build().string())


def main() -> None:
    """Print the table."""
    random = np.random.default_rng(0)
    print(f"{'size':>8} {'lines':>5} {'rows':>7} {'frame':>7} {'diff':>7} | {'plotext 2/col':>13} {'plotext all':>12}")
    for size in (Size(40, 10), Size(66, 16), Size(100, 25), Size(200, 50)):
        for count in (1, 4):
            curves = [np.cumsum(random.standard_normal(POINTS)) for _ in range(count)]
            view = view_of(curves, size.width)
            frames = draw.FrameCache()
            old = draw.render(view, size, Symbols.BRAILLE, frames)
            curves[-1][-POINTS // 20 :] = np.linspace(
                view.y.low, view.y.high, POINTS // 20
            )  # the newest columns of the line that is drawn last
            new = draw.render(replace(view_of(curves, size.width), y=view.y), size, Symbols.BRAILLE, frames)
            assert changed_spans(old, new), "nothing changed, so nothing would be measured"
            rows = median(lambda v=view, s=size, f=frames: draw.render(v, s, Symbols.BRAILLE, f), 60)  # type: ignore[misc]
            with_frame = median(lambda v=view, s=size: draw.render(v, s), 20)  # type: ignore[misc]
            diff = median(lambda a=old, b=new: changed_spans(a, b), 60)  # type: ignore[misc]
            thin = [np.stack([e.envelope.low, e.envelope.high], axis=1).ravel().tolist() for e in view.lines]
            raw = [curve.tolist() for curve in curves]
            thinned = median(lambda c=thin, s=size: plotext_alone(c, s), 5)  # type: ignore[misc]
            whole = median(lambda c=raw, s=size: plotext_alone(c, s), 1)  # type: ignore[misc]
            print(
                f"{f'{size.width}x{size.height}':>8} {count:>5} {rows:>7.2f} {with_frame - rows:>7.2f} {diff:>7.2f} |"
                f" {thinned:>13.1f} {whole:>12.0f}"
            )


if __name__ == "__main__":
    main()
