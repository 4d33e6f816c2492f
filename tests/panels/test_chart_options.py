"""Charts with display options: windows, scales, averages and cursors, compared with values computed here."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs
from support.made_run import START, run_of, store_of, text

from tuimon import draw
from tuimon.draw.chart import plot_cells
from tuimon.draw.frames import GUTTER
from tuimon.draw.window import Window, panned, zoomed
from tuimon.model.events import Columns, SegmentStarted
from tuimon.model.views import Axis, ChartView, Line, Role, Size, Symbols
from tuimon.panels import ChartOptions, metric_panel
from tuimon.store import Run
from tuimon.text import cell_width

SIZE = Size(GUTTER + 20, 9)
"""20 cells: 40 columns of dots."""


def chart(run: Run, options: ChartOptions, metric: str = "m", size: Size = SIZE) -> ChartView:
    return metric_panel(metric).view(run, size, START, Symbols.BRAILLE, options)


def front(view: ChartView) -> Line:
    [line] = [line for line in view.lines if not line.behind]
    return line


# ---------------------------------------------------------------- pixel honesty

BITS = (0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80)
"""Dots of a braille character: the left column from the top, then the right one."""


def dot_of(value: float, axis: Axis, rows: int) -> float:
    """The row of dots where a value belongs, from the top, as the scales are defined; may lie outside."""

    def place(v: float) -> float:
        if axis.scale == "log":
            return math.log10(v) if v > 0 else -math.inf
        return v

    low, high = place(axis.low), place(axis.high)
    return (high - place(value)) / (high - low) * (rows - 1)


values_strategy = st.lists(
    st.floats(-1e6, 1e6) | st.floats(1e-6, 1.0) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0]),
    min_size=1,
    max_size=120,
)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("y_range", ["full", "robust"])
@given(values=values_strategy, begin=st.floats(0, 1), width=st.floats(0.02, 1), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_the_extremes_of_every_column_are_on_the_screen_at_any_zoom(
    scale: str, y_range: str, values: list[float], begin: float, width: float, seed: int
) -> None:
    steps = np.cumsum(np.random.default_rng(seed).integers(1, 9, len(values)))
    span = max(float(steps[-1]) * width, 1.0)
    options = ChartOptions(window=Window(span, float(steps[-1]) * begin + span), y_scale=scale, y_range=y_range)
    view = chart(run_of({"m": (steps.tolist(), values)}), options)
    rows = ["".join(part for part, _ in row) for row in draw.render(view, SIZE)]
    body = [row[GUTTER:] for row in rows[1 : 1 + plot_cells(SIZE, bool(view.note))[1]]]
    dots = len(body) * 4
    places = (steps - view.x.low) / (view.x.high - view.x.low) * 40
    columns, borders = np.floor(places), np.round(places)
    rounded = borders[np.abs(places - borders) < 1e-9]  # a point on a border may fall to either side of it
    for column in sorted({*range(40)} - {*rounded} - {*(rounded - 1)}):
        finite = [v for v, c in zip(values, columns, strict=True) if c == column and math.isfinite(v)]
        for value in (min(finite), max(finite)) if finite else ():
            at = dot_of(value, view.y, dots)
            assume(abs(at % 1 - 0.5) > 1e-6)
            cells = [row[column // 2] for row in body]
            if round(at) < 0 or round(at) >= dots:
                edge = cells[0] if at < 0 else cells[-1]
                assert edge in "↑↓✗", f"{value} lies outside {view.y} without an arrow"
                continue
            cell = cells[round(at) // 4]
            if cell in "↑↓✗●┊⚑":
                continue  # covered by a mark
            bit = BITS[round(at) % 4 + 4 * (column % 2)]
            assert (ord(cell) - 0x2800) & bit, f"{value} of column {column} is not drawn\n" + "\n".join(rows)


# ---------------------------------------------------------------- averages


def debiased(values: list[float], weight: float) -> list[float]:
    """The definition, value by value."""
    total = norm = 0.0
    result = []
    for value in values:
        total, norm = weight * total + (1 - weight) * value, weight * norm + (1 - weight)
        result.append(total / norm)
    return result


@pytest.mark.parametrize("weight", [0.6, 0.99])
@pytest.mark.parametrize("end", [300, 5000, 9999])
def test_an_average_covers_every_point_since_the_first_for_any_window(weight: float, end: int) -> None:
    values = np.random.default_rng(1).normal(size=10_000).tolist()
    run = run_of({"m": (list(range(10_000)), values)})
    view = chart(run, ChartOptions(window=Window(20.0, float(end)), smoothing=weight), size=Size(GUTTER + 21, 9))
    expected = debiased(values, weight)[end - 20 : end + 1]
    shown = front(view).envelope.last
    assert shown[np.isfinite(shown)] == pytest.approx(expected, rel=1e-6)
    [raw] = [line for line in view.lines if line.behind]
    assert raw.envelope.low[np.isfinite(raw.envelope.low)] == pytest.approx(values[end - 20 : end + 1])
    assert raw.role is Role.FAINT


def test_the_average_of_a_long_curve_is_computed_from_block_means_with_a_note() -> None:
    values = np.random.default_rng(2).normal(size=1 << 16)
    values[7] = math.nan
    run = run_of({"m": (list(range(len(values))), values.tolist())})
    view = chart(run, ChartOptions(smoothing=0.9))
    assert "smooth 0.9 over means of 32 points" in view.note
    means = np.nanmean(values.reshape(-1, 32), axis=1)
    expected = debiased(means.tolist(), 0.9)
    assert front(view).envelope.last[-1] != expected[-1], "the axis continues after the data"
    assert front(view).envelope.last[np.isfinite(front(view).envelope.last)][-1] == pytest.approx(expected[-1])
    assert np.nanmin(front(view).envelope.low) == pytest.approx(min(expected))
    assert np.nanmax(front(view).envelope.high) == pytest.approx(max(expected))


# ---------------------------------------------------------------- bands, ghosts, marks


def test_superseded_points_have_no_arrows_and_come_before_the_restart_in_time() -> None:
    store = store_of({"m": (range(10), [1.0] * 10)})
    store.apply(SegmentStarted(0, None, False))
    stamps, steps = START + 1000 + np.arange(5.0, 12), np.arange(5, 12)
    store.apply(Columns(0, np.zeros(1, np.uint32), np.array([7], np.uint32), steps, np.full(7, 2.0), stamps))
    run = store.snapshot().runs[0]
    view = chart(run, ChartOptions())
    [ghost] = [line for line in view.lines if line.behind]
    assert np.nanmax(ghost.envelope.high) == 1.0
    assert int(np.isfinite(ghost.envelope.low).sum()) == 5, "steps 5 to 9"
    above = structs.replace(view, y=structs.replace(view.y, low=1.5))
    [[before, after]] = [row.split("┊") for row in map(text, draw.render(above, SIZE)) if "↓" in row]
    assert "↓" in before
    assert not after.strip(), "the curve is inside the limits there, and the superseded points have no arrows"
    by_time = chart(run, ChartOptions(axis="time"))
    [ghost] = [line for line in by_time.lines if line.behind]
    taken_back, again = (
        np.flatnonzero(line.envelope.high == value) for line, value in ((ghost, 1.0), (front(by_time), 2.0))
    )
    assert len(taken_back)
    assert taken_back.max() < again.min(), "they were logged before the restart"


# ---------------------------------------------------------------- numbers

HEADS = ("last @ step", "min @ step", "max @ step", "mean ± deviation", "points", "from")


@pytest.mark.parametrize("width", range(12, 140, 7))
def test_a_narrow_table_leaves_out_whole_columns(width: int) -> None:
    run = run_of({"m": ([3, 5, 8, 9], [0.123456789, math.pi, -2.5, 7.25e-7])})
    rows = [text(row) for row in chart(run, ChartOptions(fullscreen=True), size=Size(width, 30)).table]
    assert all(cell_width(row) <= width for row in rows)
    heads, cells = ([part for part in re.split(r"  +", row.strip()) if part] for row in rows)
    assert heads == [head for head in HEADS if head in heads], "whole heads, in their order"
    assert len(cells) == len(heads) + 1, "a value below each head"
    displayed = dict(zip(heads, cells[1:], strict=True))
    for head, step, value in (("last", 9, 7.25e-7), ("min", 8, -2.5), ("max", 5, math.pi)):
        shown, at = displayed.get(f"{head} @ step", f"{value} @ {step}").split(" @ ")
        assert (float(shown), at) == (pytest.approx(value, rel=1e-6), str(step))
    assert heads[:1] == ["last @ step"] or width < 30
    assert heads == list(HEADS) or width < 100


# ---------------------------------------------------------------- windows

FLAT = run_of({"m": (range(100, 1101), [1.0] * 1001)})


@given(
    moves=st.lists(st.sampled_from([("pan", -0.25), ("pan", 0.25), ("zoom", 0.5), ("zoom", 2.0)]), max_size=25),
    at=st.none() | st.floats(0, 1),
)
def test_a_window_stays_with_the_data_and_follows_at_their_end(
    moves: list[tuple[str, float]], at: float | None
) -> None:
    options, view = ChartOptions(), chart(FLAT, ChartOptions())
    for move, part in moves:
        place = None if at is None else view.x.low + at * (view.x.high - view.x.low)
        window = panned(view, part) if move == "pan" else zoomed(view, part, place)
        options = replace(options, window=window)
        view = chart(FLAT, options)
        assert view.extent == (100, 1100)
        assert view.x.low < view.x.high
        if window is not None:
            assert view.x.low < 1100
            assert view.x.high >= 100 + window.span * 0.99
            assert (window.end is None) == (view.x.high >= 1100)
            assert view.x.high <= 1100 + window.span / 2, "a following window does not run away"


def test_zooming_keeps_the_x_value_under_the_mouse() -> None:
    view = chart(run_of({"m": (list(range(1001)), [1.0] * 1001)}), ChartOptions())
    for at in (130.0, 500.0, 870.0):
        window = zoomed(view, 0.5, at)
        part = (at - view.x.low) / (view.x.high - view.x.low)
        assert (at - (window.end - window.span)) / window.span == pytest.approx(part)


@pytest.mark.parametrize(
    ("axis", "word"), [("step", "last 1234567"), ("tokens", "last 1234567"), ("time", "last 14 d 7 h")]
)
def test_the_word_of_a_window_is_in_the_units_of_the_chosen_axis(axis: str, word: str) -> None:
    run = run_of({"loss": (range(1, 9), [1.0] * 8), "num_tokens": (range(1, 9), [1e6 * step for step in range(1, 9)])})
    assert ChartOptions(axis=axis, window=Window(1234567.0)).changes(run) == (word,)
