"""The frame of a chart (axes, ticks, labels), drawn by plotext; the only module that imports it.

plotext 6.1 is used in cell coordinates only, whole numbers between 0 and the size of the canvas, and never gets data:
a NaN in a line or a point far outside the limits ends the process, an infinity or the logarithm of 0 raises, automatic
ticks are not round, and dates are off by a second. Its figure is global, so a lock guards it; the limit of its size to
that of the terminal is turned off.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from tuimon.platform_support import hidden_modules

_LOCK = threading.Lock()
_BLANK = "\u00a0"
"""Replaces spaces in blank labels, for which plotext raises an error."""

_UNUSED = (("plotext._doc.doc", "docs"), ("plotext._tests.run", "test"))
"""(module, its only name that is imported)."""


@cache
def _figure() -> Any:
    # It takes 0.1 s, so not before the first chart is drawn; its libraries for images and videos take longer.
    with _without_manual(), hidden_modules("PIL", "ffpyplayer", "yt_dlp"):
        import plotext

    plotext.terminal.limit(False, False)
    return plotext.figure


def preload() -> None:
    """Import plotext."""
    with _LOCK:
        _figure()


def frame(
    cells: int, rows: int, y_ticks: Sequence[tuple[int, str]], x_ticks: Sequence[tuple[int, str]], x_axis: bool
) -> list[str]:
    """Return the lines of an empty chart whose canvas has `cells` × `rows` cells.

    y_ticks: (row from the top, label), labels of equal width. x_ticks: (cell from the left, label). The result has
    `rows` lines (+ 2 with an x axis: the axis and its labels) of label width + 1 + `cells` characters.
    """
    width = len(y_ticks[0][1]) + 1 + cells
    height = rows + (2 if x_axis else 0)
    with _LOCK:
        figure = _figure()
        figure.clear()
        figure.plot_size(width, height)
        figure.canvas("default")
        figure.axes(False, axis="y", side="right")
        figure.axes(False, axis="x", side="upper")
        y, x = figure.ruler("y"), figure.ruler("x")
        y.lim(0, max(rows - 1, 1))
        y.ticks(
            [rows - 1 - row for row, _ in y_ticks],
            [label if label.strip() else _BLANK * len(label) for _, label in y_ticks],
        )
        x.lim(0, max(cells - 1, 1))
        if x_axis:
            x.ticks([cell for cell, _ in x_ticks], [label for _, label in x_ticks])
        else:
            figure.axes(False, axis="x", side="lower")
            x.frequency(0)
        text: str = figure.build().string(colorless=True)
    return [line.ljust(width)[:width] for line in text.replace(_BLANK, " ").split("\n")[:height]]


@contextmanager
def _without_manual() -> Iterator[None]:
    """Leave out the parts of plotext that take most of its import time: a generated manual and its tests."""
    if "plotext" in sys.modules:
        yield
        return
    for module, name in _UNUSED:
        sys.modules[module] = ModuleType(module)
        setattr(sys.modules[module], name, None)
    try:
        yield
    finally:
        for module, _ in _UNUSED:
            del sys.modules[module]
