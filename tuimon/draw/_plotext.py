"""The one gate to plotext: the frame of a chart (axes, ticks, their labels).

What plotext 6.1 must not be given, it is not given: it draws in cell coordinates, whole numbers between 0 and the
size of the canvas, never in data units and never data. (A NaN in a line or a point far outside the limits ends the
process, an infinity or the logarithm of 0 raises, automatic ticks are not round and dates are a second off.)
Its figure is global, so one lock guards it; its size is bound to the terminal's unless told otherwise.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from tuimon.lean import without

_LOCK = threading.Lock()
_BLANK = "\u00a0"
"""A label of spaces is no label to plotext, and raises: it gets no-break spaces."""


_MANUAL = "plotext._doc.doc"
_TESTS = "plotext._tests.run"


@cache
def _figure() -> Any:
    with _some_for_later():
        import plotext  # a tenth of a second: only when the first chart is drawn

    plotext.terminal.limit(False, False)
    return plotext.figure


def prepare() -> None:
    """What the first frame does first, for a program that draws nothing but frames by plotext: it is loaded without the
    libraries of its pictures and films, which take longer than all the rest where they are installed."""
    with _LOCK, without("PIL", "ffpyplayer", "yt_dlp"):
        _figure()


def frame(
    cells: int, rows: int, y_ticks: Sequence[tuple[int, str]], x_ticks: Sequence[tuple[int, str]], x_axis: bool
) -> list[str]:
    """The text of an empty chart whose canvas has `cells` × `rows` cells.

    y_ticks: (row from the top, label), labels of one width; x_ticks: (cell from the left, label).
    Returns rows (+ 2 with an x axis: the line, the labels) of label width + 1 + `cells` characters."""
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
def _some_for_later() -> Iterator[None]:
    """plotext writes a manual of all its methods while it is imported, which takes longer than all the rest of it, and
    loads unittest for tests of its own."""
    if "plotext" in sys.modules:
        yield
        return
    sys.modules[_MANUAL] = manual = ModuleType(_MANUAL)
    vars(manual)["docs"] = _Manual()
    sys.modules[_TESTS] = tests = ModuleType(_TESTS)
    vars(tests)["test"] = _test
    try:
        yield
    finally:
        del sys.modules[_MANUAL], sys.modules[_TESTS]


def _test() -> Any:
    """`plotext.test` until somebody calls it."""
    return import_module(_TESTS).test()


class _Manual:
    """`plotext.doc` until somebody looks into it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_written(), name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return _written()(*arguments, **options)


def _written() -> Any:
    import plotext

    plotext.doc = import_module(_MANUAL).docs
    return plotext.doc
