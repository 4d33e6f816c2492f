"""The plot of one metric of a run against another at equal steps, coloured by age."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tuimon.analysis.aligned_steps import aligned, step_name
from tuimon.analysis.correlation import Pairs, correlation_words, pairs
from tuimon.draw.numbers import thousands
from tuimon.draw.scatter import Points, render_scatter
from tuimon.model.views import SERIES_ROLES, Role, Row, Size, Symbols
from tuimon.panels import ChartOptions, window_limits
from tuimon.store import Curve, Run
from tuimon.text import clean, fit_side_by_side

_AGES = 4
"""Number of parts of the steps that have a colour each."""
_AGAINST = " against "
_LEAST_NAME = 8
"""Minimum cells of a name in the title of the plot."""


def scatter_plot(run: Run, x: str, y: str, options: ChartOptions, size: Size, symbols: Symbols) -> list[Row]:
    """Return the plot of y against x, coloured by age: the pairs of the steps in the window."""
    across, up = aligned(run, x), aligned(run, y)
    drawn, is_part = _in_window(run, up, pairs(across, up), options)
    y_name, x_name = clean(y), clean(x)
    if not len(drawn.steps):
        ordinal = across.ordinal or up.ordinal
        why = "without steps values cannot be paired" if ordinal else "they have no finite values at equal steps"
        return [((f" {y_name}{_AGAINST}{x_name}: {why}{' in the window' if is_part else ''}", Role.MUTED),)]
    parts = [part for part in np.array_split(np.arange(len(drawn.steps)), _AGES) if len(part)]
    roles = SERIES_ROLES[: len(parts)]
    groups = [
        Points(f"{step_name(run)} {_steps(drawn, part)}", role, drawn.x[part], drawn.y[part])
        for part, role in zip(parts[::-1], roles[::-1], strict=True)
    ]
    words = correlation_words(drawn.x, drawn.y) + ("  in the window" if is_part else "")
    title, headline = plot_head(y_name, x_name, words, size.width)
    return list(render_scatter(title, headline, (x_name, ""), groups, size, symbols))


def plot_head(y: str, x: str, words: str, width: int) -> tuple[str, Row]:
    """Return the title and the headline, with names that are cut so that the correlation (`words`) fits.

    It is the title itself if too little would be left of the names, which the list has, too.
    """
    room = width - len(words) - 2 - len(_AGAINST)
    if room < 2 * _LEAST_NAME:
        return words, ()
    return _AGAINST.join(fit_side_by_side((y, x), room, _LEAST_NAME)), ((words, Role.VALUE),)


def _steps(drawn: Pairs, part: npt.NDArray[np.int64]) -> str:
    first, last = int(drawn.steps[part[0]]), int(drawn.steps[part[-1]])
    return thousands(first) + (f"–{thousands(last)}" if last > first else "")


def _in_window(run: Run, up: Curve, common: Pairs, options: ChartOptions) -> tuple[Pairs, bool]:
    """Return the pairs whose steps are in the window of the charts, and whether there is a window."""
    limits = window_limits(run, up, options)
    if limits is None:
        return common, False
    positions = up.x_of_steps(common.steps, run.scale(options.axis_of(run)))
    inside = (limits[0] <= positions) & (positions <= limits[1])
    return Pairs(common.steps[inside], common.x[inside], common.y[inside]), True
