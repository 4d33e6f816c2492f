"""Charts with display options: windows, scales, averages and cursors, compared with values computed here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
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
from tuimon.draw.numbers import format_exact
from tuimon.draw.window import Window, panned, zoomed
from tuimon.model.alerts import Alert
from tuimon.model.events import Columns, SegmentStarted
from tuimon.model.views import Axis, ChartView, Line, Role, Size, Symbols
from tuimon.panels import ChartOptions, arrange, metric_panel
from tuimon.panels._charts.overlay_lines import OverlayLine
from tuimon.panels._text import change_span
from tuimon.panels.curves import PANELS
from tuimon.run_notes import RunNote, StepNote
from tuimon.store import Run, Store
from tuimon.store.aggregates import MeanVariance
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


def test_the_headline_has_the_value_at_the_cursor_then_its_step() -> None:
    run = run_of({"m": ([3, 5, 8], [0.1, 1 / 3, -2.5])})
    for step, displayed in ((5, f"{1 / 3!r} @ 5"), (7, f"{1 / 3!r} @ 5"), (99, "-2.5 @ 8"), (2, "- @ 2")):
        assert text(chart(run, ChartOptions(cursor=step, fullscreen=True)).headline) == displayed
    assert text(chart(run, ChartOptions(cursor=7)).headline) == "0.33333333 @ 5"
    drawn = draw.render(chart(run, ChartOptions(cursor=5)), SIZE)
    columns = {x for row in drawn for x, cell in enumerate("".join(part for part, _ in row)) if cell == "│"}
    assert columns == {GUTTER - 1, GUTTER + 8}, "the axis, and step 5 of 2 to 9 in 20 cells"


def test_a_smoothed_chart_has_the_logged_value_and_the_average_at_the_cursor() -> None:
    steps, values = list(range(3000)), [math.sin(step) for step in range(3000)]
    run = run_of({"m": (steps[:40], values[:40])})
    average = debiased(values[:40], 0.9)[20]
    view = chart(run, ChartOptions(cursor=20, smoothing=0.9, fullscreen=True), size=Size(120, 30))
    assert text(view.headline) == f"{values[20]!r} logged, {format_exact(average, 10)} smoothed @ 20"
    column = int((20 - view.x.low) / (view.x.high - view.x.low) * view.columns)
    assert front(view).envelope.last[column] == pytest.approx(average)
    head, row = (re.split(r"  +", text(cells).strip()) for cells in view.table)
    assert (head[0], row[1]) == ("step 20", repr(values[20]))
    narrow = draw.render(chart(run, ChartOptions(cursor=20, smoothing=0.9), size=Size(24, 8)), Size(24, 8))
    assert text(narrow[0]).strip().split() == ["m", format_exact(values[20], 10), "logged"]
    outside = ChartOptions(cursor=20, smoothing=0.9, window=Window(5.0))
    assert text(chart(run, outside).headline) == f"{format_exact(values[20], 10)} @ 20"
    blocks = chart(run_of({"m": (steps, values)}), ChartOptions(cursor=2999, smoothing=0.9, fullscreen=True))
    shown = front(blocks).envelope.last
    assert f"{format_exact(shown[np.isfinite(shown)][-1], 10)} smoothed" in text(blocks.headline)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (
            102,
            "loss  ● train 0.069447 logged, 0.069447 smoothed  ● val 0.872386 logged, 0.872386 smoothed        @ 37",
        ),
        (67, "loss  ● train 0.069447  ● val 0.872386                         @ 37"),
        (36, "loss  ● train 0.0694  ● val 0.8724  "),
    ],
)
def test_averages_of_several_lines_are_in_the_legend_if_there_is_room(width: int, shown: str) -> None:
    steps = list(range(40))
    run = run_of({name: (steps, [value] * 40) for name, value in (("loss", 0.069447), ("val_loss", 0.872386))})
    loss = next(panel for panel in PANELS if panel.id == "loss")
    options = ChartOptions(cursor=37, smoothing=0.6)
    head = text(draw.render(loss.view(run, Size(width, 12), START, Symbols.BRAILLE, options), Size(width, 12))[0])
    assert head.rstrip() == shown.rstrip()


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (70, "loss  ● train 0.06944705  ● val 0.87238596                        @ 37"),
        (48, "loss  ● train 0.06944705  ● val 0.87238596  @ 37"),
        (42, "loss  ● train 0.06944705  ● val 0.87238596"),
        (36, "loss  ● train 0.0694  ● val 0.8724  "),
        (28, "loss         0.06944705 @ 37"),
    ],
)
def test_the_values_of_several_lines_at_the_cursor_are_in_the_legend_once(width: int, shown: str) -> None:
    steps = list(range(40))
    losses = {"loss": 0.0694470512345, "val_loss": 0.872385961234}
    run = run_of({name: (steps, [value] * 40) for name, value in losses.items()})
    loss = next(panel for panel in PANELS if panel.id == "loss")
    view = loss.view(run, Size(width, 12), START, Symbols.BRAILLE, ChartOptions(cursor=37))
    head = "".join(part for part, _ in draw.render(view, Size(width, 12))[0])
    assert head == shown


def test_an_average_ignores_nonfinite_values() -> None:
    values = [1.0, math.nan, 3.0, math.inf, 5.0]
    view = chart(run_of({"m": (list(range(5)), values)}), ChartOptions(smoothing=0.6))
    shown = front(view).envelope.last
    assert shown[np.isfinite(shown)] == pytest.approx(debiased([1.0, 3.0, 5.0], 0.6))


# ---------------------------------------------------------------- bands, ghosts, marks


def test_superseded_points_are_drawn_in_the_background() -> None:
    store = store_of({"m": (list(range(10)), [1.0] * 10)})
    store.apply(SegmentStarted(0, None, False))
    append(store, list(range(5, 12)), [2.0] * 7)
    run = store.snapshot().runs[0]
    view = chart(run, ChartOptions())
    [ghost] = [line for line in view.lines if line.behind]
    assert ghost.role is Role.FAINT
    above = structs.replace(view, y=structs.replace(view.y, low=1.5))
    rows = ["".join(text for text, _ in row) for row in draw.render(above, SIZE)]
    [[before, after]] = [row.split("┊") for row in rows if "↓" in row]
    assert "↓" in before
    assert not after.strip(), "the curve is inside the limits there, and the superseded points have no arrows"
    assert np.nanmax(ghost.envelope.high) == 1.0
    assert int(np.isfinite(ghost.envelope.low).sum()) == 5, "steps 5 to 9"
    assert np.nanmax(front(view).envelope.high) == 2.0
    for step, displayed in ((4, "1 @ 4"), (7, "2 @ 7 (superseded 1)"), (10, "2 @ 10")):
        zoomed = chart(run, ChartOptions(cursor=step, fullscreen=True), size=Size(120, 30))
        assert text(zoomed.headline) == displayed
        cells = re.split(r"  +", text(zoomed.table[1]).strip())
        assert cells[1] == displayed.replace(f" @ {step}", "")
    narrow = draw.render(chart(run, ChartOptions(cursor=7), size=Size(20, 8)), Size(20, 8))
    assert text(narrow[0]).split() == ["m", "2", "@", "7"], "no room for both"
    by_time = chart(run, ChartOptions(axis="time"))
    [ghost] = [line for line in by_time.lines if line.behind]
    taken_back, again = (
        np.flatnonzero(line.envelope.high == value) for line, value in ((ghost, 1.0), (front(by_time), 2.0))
    )
    assert len(taken_back)
    assert taken_back.max() < again.min(), "they were logged before the restart"


def append(store: Store, steps: list[int], values: list[float]) -> None:
    """More points of a store's only metric."""
    stamps = START + 1000 + np.array(steps, np.float64)
    ids, counts = np.zeros(1, np.uint32), np.array([len(steps)], np.uint32)
    store.apply(Columns(0, ids, counts, np.array(steps, np.int64), np.array(values), stamps))


def test_an_alert_is_marked_at_its_start_on_the_chart_of_its_metric() -> None:
    run = run_of({"m": (list(range(10)), [1.0] * 10), "other": (list(range(10)), [1.0] * 10)})
    alerts = (Alert("spike", "warning", run.id, "m", 4, "m rose"), Alert("stall", "warning", run.id, "", None, "late"))
    options = ChartOptions(alerts=alerts)
    assert [(mark.kind, mark.x, mark.label) for mark in chart(run, options).marks] == [("alert", 4.0, "spike")]
    assert chart(run, options, "other").marks == ()
    late = chart(run, ChartOptions(window=Window(3.0, 9.0), alerts=alerts))
    assert late.marks == (), "it began before the window"


def test_an_alert_about_a_metric_without_a_line_is_marked_and_named() -> None:
    losses = {"loss": (range(40), [1.0] * 40), "train_loss": ([39], [1.0])}
    run = run_of(losses)
    alert = Alert("spike", "warning", run.id, "train_loss", 4, "it rose")
    panel = next(panel for panel in PANELS if panel.id == "loss")
    view = panel.view(run, SIZE, START, Symbols.BRAILLE, ChartOptions(alerts=(alert,)))
    assert [line.metric for line in view.lines] == ["loss"]
    assert ([(mark.kind, mark.x) for mark in view.marks], view.notes[0]) == ([("alert", 4.0)], "⚑ train_loss")


def test_notes_at_steps_are_marked_in_every_chart_of_the_run() -> None:
    run = run_of({"m": (list(range(10)), [1.0] * 10), "other": (list(range(10)), [1.0] * 10)})
    note = RunNote(text="run", steps=(StepNote(4, "a"), StepNote(7, "b"), StepNote(99, "later")))
    for metric in ("m", "other"):
        marks = chart(run, ChartOptions(note=note), metric).marks
        assert [(mark.kind, mark.x, mark.label) for mark in marks] == [("note", 4.0, "1"), ("note", 7.0, "2")]


def test_a_full_screen_chart_has_the_texts_of_the_notes_in_view() -> None:
    run = run_of({"m": (list(range(10)), [1.0] * 10)})
    options = ChartOptions(fullscreen=True)
    view = chart(run, options)
    note = RunNote(steps=tuple(StepNote(step, f"text {step}") for step in (2, 4, 6, 99)))
    assert chart(run, ChartOptions(note=note)).table == (), "a small chart"
    texts = [f"note {sign}: step {step}: text {step}" for sign, step in zip("123", (2, 4, 6), strict=True)]
    assert table_texts(chart(run, replace(options, note=note))) == [*table_texts(view), *texts]
    many = note.with_step(8, "last")
    assert table_texts(chart(run, replace(options, note=many)))[-3:] == [*texts[:2], "2 more notes: C"]


def test_a_full_screen_chart_has_the_names_of_its_lines_and_counts_the_others() -> None:
    names = ["critic/score/mean", "critic/rewards/mean", *(f"rewards/task{number}" for number in range(6))]
    run = run_of({name: (range(20), [float(number)] * 20) for number, name in enumerate(names)})
    panel = next(panel for panel in PANELS if panel.id == "reward")
    size = Size(80, 12)
    small, large = (panel.view(run, size, START, Symbols.BRAILLE, ChartOptions(fullscreen=f)) for f in (False, True))
    drawn = [line.metric for line in large.lines if line.entry and not line.behind]
    assert small.note == large.note == f"+{8 - len(drawn)} metrics"
    assert [row.split()[:2] for row in table_texts(large)[1:]] == [["●", name] for name in drawn]


def table_texts(view: ChartView) -> list[str]:
    return ["".join(text for text, _ in row) for row in view.table]


def test_a_full_screen_chart_marks_evaluations() -> None:
    run = run_of({"m": (list(range(100)), [1.0] * 100), "eval/loss": ([20, 60], [0.5, 0.4])})
    view = chart(run, ChartOptions(fullscreen=True))
    width = (view.x.high - view.x.low) / view.columns
    result = [mark.x for mark in view.marks if mark.kind == "evaluation"]
    assert result == pytest.approx([20, 60], abs=width)
    assert chart(run, ChartOptions()).marks == ()
    assert chart(run, ChartOptions(fullscreen=True), "eval/loss").marks == (), "its own points are evaluations"


# ---------------------------------------------------------------- numbers

HEADS = ("last @ step", "min @ step", "max @ step", "mean ± deviation", "points", "from")


def test_a_full_screen_chart_has_a_table_of_statistics() -> None:
    steps, values = [3, 5, 8, 9], [0.1, math.nan, -2.5, 7.25]
    view = chart(run_of({"m": (steps, values)}), ChartOptions(fullscreen=True, cursor=6), size=Size(120, 30))
    head, row = (text(cells) for cells in view.table)
    assert re.split(r"  +", head.strip()) == ["step 6", *HEADS]
    finite = np.array([0.1, -2.5, 7.25])
    for displayed in (
        "NaN @ 5",
        "7.25 @ 9",
        "-2.5 @ 8",
        f"{finite.mean():.3f}",
        f"{finite.std(ddof=1):.3f}",
        "4",
        "run",
    ):
        assert displayed in row, displayed
    assert chart(run_of({"m": (steps, values)}), ChartOptions()).table == ()


def test_the_table_has_the_places_of_the_values_on_the_chosen_axis() -> None:
    steps, wide = [100, 200, 300, 400], Size(120, 30)
    run = run_of({"m": (steps, [0.5, 0.2, 0.9, 0.4]), "epoch": (steps, [1.0, 2.0, 3.0, 4.0])})
    head, row = (text(cells) for cells in chart(run, ChartOptions(fullscreen=True, axis="epoch"), "m", size=wide).table)
    assert re.split(r"  +", head.strip())[:3] == ["last @ epoch", "min @ epoch", "max @ epoch"]
    assert re.split(r"  +", row.strip())[1:4] == ["0.4 @ 4", "0.2 @ 2", "0.9 @ 3"]
    head, row = (text(cells) for cells in chart(run, ChartOptions(fullscreen=True, axis="time"), "m", size=wide).table)
    assert "min @ step" in head
    assert "0.2 @ 200" in row


def test_a_full_screen_chart_names_the_recent_change() -> None:
    run = run_of({"m": (list(range(100)), [0.5] * 90 + [0.6] * 10)})
    assert text(chart(run, ChartOptions()).headline) == "0.6000 ↑ 0.100"
    assert text(chart(run, ChartOptions(fullscreen=True)).headline) == "0.6000  recent ↑ 0.100"


@pytest.mark.parametrize(
    ("decay", "scale"),
    [
        (lambda done: 1.001 - done, "linear"),
        (lambda done: 1.001 - done if done > 0.1 else 10 * done + 1e-4, "linear"),
        (lambda done: 1.001 + math.cos(math.pi * done), "linear"),
        (lambda done: 1 - done, "linear"),
        (lambda done: math.exp(-10 * done), "log"),
        (lambda done: 0.1 ** (done // 0.3), "log"),
    ],
    ids=["linear", "warm-up", "cosine", "to 0", "exponential", "steps"],
)
def test_a_learning_rate_has_a_log_scale_only_if_most_of_it_spans_decades(
    decay: Callable[[float], float], scale: str
) -> None:
    steps = list(range(301))
    run = run_of({"lr": (steps, [1e-3 * decay(step / 300) for step in steps])})
    [panel] = [panel for panel in PANELS if panel.id == "lr"]
    overlaid = ChartOptions(overlay=(OverlayLine((run,), "run", "o", Role.SERIES_0),))
    for options in (ChartOptions(), overlaid, ChartOptions(fullscreen=True)):
        view = panel.view(run, SIZE, START, Symbols.BRAILLE, options)
        assert view.y.scale == scale
        assert ("log scale" in view.note) is (scale == "log")
    by_hand = panel.view(run, SIZE, START, Symbols.BRAILLE, ChartOptions(y_scale="log"))
    assert "log scale" not in by_hand.note, "the footer names what the user has chosen"


@pytest.mark.parametrize("fullscreen", [False, True])
def test_a_metric_that_is_nan_now_has_its_last_value_without_a_change(fullscreen: bool) -> None:
    run = run_of({"m": ([1, 2, 3], [2.0, 1.0, math.nan])})
    assert text(chart(run, ChartOptions(fullscreen=fullscreen)).headline) == "NaN now, last 1"


@pytest.mark.parametrize("axis", ["step", "time"])
def test_the_table_of_a_window_has_the_statistics_of_its_points(axis: str) -> None:
    values = np.arange(220.0)
    run = run_of({"m": (list(range(220)), values.tolist())})
    low, high = (150.0, 200.0) if axis == "step" else tuple(run.curve("m").wall_times[[150, 200]])
    view = chart(run, ChartOptions(fullscreen=True, axis=axis, window=Window(high - low, high)), size=Size(120, 30))
    head, row = (text(cells) for cells in view.table)
    assert head.startswith("in view")
    for displayed in ("200 @ 200", "150 @ 150", f"175 ± {values[150:201].std(ddof=1):.2f}", "  51  "):
        assert displayed in row, (displayed, row)


def test_equal_values_in_a_column_of_the_chart_are_all_drawn() -> None:
    run = run_of({"m": (list(range(220)), [0.5] * 220)})
    assert chart(run, ChartOptions(fullscreen=True), size=Size(100, 30)).note == ""


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


@given(
    parts=st.lists(st.lists(st.floats(-1e9, 1e9) | st.just(math.nan), max_size=20), min_size=1, max_size=5),
    offset=st.sampled_from([0.0, 1e12]),
)
def test_extended_moments_equal_those_of_all_values(parts: list[list[float]], offset: float) -> None:
    result, so_far = MeanVariance(), np.empty(0)
    for part in parts:
        so_far = np.concatenate([so_far, np.array(part, np.float64) + offset])
        result = result.extended(so_far)
    finite = so_far[np.isfinite(so_far)]
    assert result.count == len(finite)
    if len(finite):
        assert result.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-3)
        assert result.deviation == pytest.approx(finite.std(ddof=min(1, len(finite) - 1)), rel=1e-6, abs=1e-2)


# ---------------------------------------------------------------- windows


@given(
    moves=st.lists(st.sampled_from([("pan", -0.25), ("pan", 0.25), ("zoom", 0.5), ("zoom", 2.0)]), max_size=25),
    at=st.none() | st.floats(0, 1),
)
def test_a_window_stays_with_the_data_and_follows_at_their_end(
    moves: list[tuple[str, float]], at: float | None
) -> None:
    run = run_of({"m": (list(range(100, 1101)), [1.0] * 1001)})
    options, view = ChartOptions(), chart(run_of({"m": (list(range(100, 1101)), [1.0] * 1001)}), ChartOptions())
    for move, part in moves:
        place = None if at is None else view.x.low + at * (view.x.high - view.x.low)
        window = panned(view, part) if move == "pan" else zoomed(view, part, place)
        options = replace(options, window=window)
        view = chart(run, options)
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
        assert window is not None
        assert window.end is not None
        part = (at - view.x.low) / (view.x.high - view.x.low)
        assert (at - (window.end - window.span)) / window.span == pytest.approx(part)


def test_a_window_without_points_has_a_note() -> None:
    view = chart(run_of({"m": ([0, 100], [1.0, 2.0])}), ChartOptions(window=Window(10.0, 60.0)))
    assert view.note == "no point in this window; 0 shows all"
    assert "no point" in draw.text_chart(view, Size(60, 12))


def test_charts_of_one_run_follow_to_the_same_end() -> None:
    store = store_of({"often": (list(range(101)), [1.0] * 101), "seldom": ([0, 50], [1.0, 2.0])})
    run = store.snapshot().runs[0]
    options = ChartOptions(window=Window(40.0))
    assert chart(run, options, "often").x == chart(run, options, "seldom").x


def test_a_change_is_no_sign_in_ascii() -> None:
    assert change_span(-0.5, False, "down", Symbols.ASCII)[0] == "v 0.5000"
    assert change_span(0.5, False, "down", Symbols.ASCII)[0] == "^ 0.5000"
    assert change_span(0.05, True, "down", Symbols.ASCII)[0] == "= +0.0500"


def test_a_validation_curve_beside_the_training_has_its_last_value_until_there_is_a_cursor() -> None:
    run = run_of({"loss": ([1, 2, 3], [0.5, 0.4, 0.3]), "eval_loss": ([2, 3], [0.45, 0.375])})
    panel = next(panel for panel in arrange(run) if panel.id == "loss")
    for cursor, values in ((None, [(), ("0.3750",)]), (3, [("0.3",) * 4, ("0.375",) * 4])):
        view = panel.view(run, SIZE, 0.0, Symbols.BRAILLE, ChartOptions(cursor=cursor))
        assert [line.values for line in view.lines if not line.behind] == values


@pytest.mark.parametrize(
    ("axis", "word"), [("step", "last 1234567"), ("tokens", "last 1234567"), ("time", "last 14 d 7 h")]
)
def test_the_word_of_a_window_is_in_the_units_of_the_chosen_axis(axis: str, word: str) -> None:
    run = run_of({"loss": (range(1, 9), [1.0] * 8), "num_tokens": (range(1, 9), [1e6 * step for step in range(1, 9)])})
    assert ChartOptions(axis=axis, window=Window(1234567.0)).changes(run) == (word,)
