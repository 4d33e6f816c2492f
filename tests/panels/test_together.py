"""The chart of several metrics: each line goes from its own lowest to its own highest value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from support.made_run import START, run_of

from tuimon.draw import render
from tuimon.draw.frames import GUTTER
from tuimon.draw.window import Window
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, Axis, ChartView, Size, Symbols
from tuimon.panels import DEFAULTS, ChartOptions, together_panel
from tuimon.store import Run

SIZE = Size(100, 20)
STEPS = list(range(101))


def chart(run: Run, *metrics: str, options: ChartOptions = DEFAULTS) -> ChartView:
    return together_panel(metrics).view(run, SIZE, START, Symbols.BRAILLE, options)


def two(of: Callable[[int], float]) -> Run:
    return run_of({"kl": (STEPS, list(map(of, STEPS))), "train/entropy": (STEPS, [3.0 - step / 100 for step in STEPS])})


def test_metrics_of_different_units_are_drawn_from_their_lowest_to_their_highest_value() -> None:
    view = chart(two(lambda step: step / 1000), "kl", "train/entropy")
    assert (view.y, view.headline) == (Axis(0.0, 1.0, kind="extent"), ())
    assert [line.entry for line in view.lines] == ["kl 0 to 0.1000", "train/entropy 2 to 3"]
    rising, falling = (line.envelope for line in view.lines)
    assert (np.nanmin(rising.low), np.nanmax(rising.high)) == (0.0, 1.0)
    assert np.nanargmin(falling.low) > np.nanargmax(falling.high)
    assert "each from its lowest to its highest value" in view.note


def test_a_line_is_logarithmic_from_its_lowest_positive_to_its_highest_value() -> None:
    run = two(lambda step: 10.0 ** (step / 25 - 4) if step else 0.0)
    view = chart(run, "kl", "train/entropy", options=ChartOptions(y_scale="log"))
    rising = view.lines[0].envelope
    heights = rising.low[np.isfinite(rising.low)]
    assert heights[0] == 0.0, "a value without a logarithm"
    assert np.allclose(heights[1:], np.linspace(0.0, 1.0, 100), atol=1e-9), "a straight line of 99 equal parts"
    assert "on its own log scale" in view.note
    assert [line.entry for line in view.lines] == ["kl 0 to 1", "train/entropy 2 to 3"]


def test_the_robust_range_leaves_an_outlier_outside_of_the_chart() -> None:
    run = two(lambda step: 1000.0 if step == 50 else math.sin(step))
    view = chart(run, "kl", "train/entropy", options=ChartOptions(y_range="robust"))
    assert view.y == Axis(0.0, 1.0, kind="extent")
    assert "each from its lowest to its highest value without outliers" in view.note
    heights = view.lines[0].envelope.high
    assert 0.4 < np.nanmedian(heights) < 1.0 < np.nanmax(heights)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_range_is_that_of_the_values_and_their_average(scale: str) -> None:
    options = ChartOptions(window=Window(40.0, 60.0), smoothing=0.9, y_scale=scale)
    view = chart(two(lambda step: math.exp(-step / 10)), "kl", "train/entropy", options=options)
    values, average = (line for line in view.lines if line.metric == "kl")
    roles = dict(zip(SERIES_ROLES, DIM_ROLES, strict=True))
    assert (values.behind, values.role) == (True, roles[average.role])
    assert np.nanmin(values.envelope.low) == pytest.approx(0.0)
    assert np.nanmax(values.envelope.high) < np.nanmax(average.envelope.high) == pytest.approx(1.0), "it lags behind"
    assert average.entry.startswith("kl 0.00248 to ")
    assert float(average.entry.rpartition(" ")[2]) > 0.1353, "the range of the values"
    assert "raw values dim" in view.note


def test_values_and_their_average_have_the_marker_of_their_metric() -> None:
    view = chart(two(math.sin), "kl", "train/entropy", options=ChartOptions(smoothing=0.9, fullscreen=True))
    assert [row[0][0][0] for row in view.table[1:3]] == [line.glyph for line in view.lines[-2:]]
    markers = {(line.metric, line.glyph) for line in view.lines}
    assert len(view.lines) == 4
    assert len(markers) == len({glyph for _, glyph in markers}) == 2


def test_the_axis_of_lines_with_ranges_of_their_own_has_no_numbers() -> None:
    view = chart(two(math.sin), "kl", "train/entropy")
    gutter = {"".join(text for text, _ in row)[:GUTTER].strip(" │┤└") for row in render(view, SIZE)}
    assert gutter - {""} == {"together", "highest", "lowest"}


def test_the_range_is_that_of_the_window() -> None:
    view = chart(two(lambda step: step / 1000), "kl", "train/entropy", options=ChartOptions(window=Window(50.0, 100.0)))
    assert view.lines[0].entry == "kl 0.0500 to 0.1000"


@pytest.mark.parametrize("of", [lambda step: 2.0, lambda step: math.nan, lambda step: 1e308 * (-1) ** step])
def test_a_line_without_a_range_or_with_an_extreme_one_stays_in_the_chart(of: Callable[[int], float]) -> None:
    for line in chart(two(of), "kl", "train/entropy").lines:
        values = line.envelope.low[np.isfinite(line.envelope.low)]
        assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize("names", [("critic/rewards/min", "critic/rewards/max"), ("train/reward", "eval/reward")])
def test_metrics_of_one_quantity_share_the_axis(names: tuple[str, str]) -> None:
    view = chart(run_of({names[0]: (STEPS, [0.0] * 101), names[1]: (STEPS, [5.0] * 101)}), *names)
    assert view.y.high >= 5
    assert [line.label for line in view.lines] == list(names)


def test_the_legend_names_both_lines() -> None:
    names = [f"{split}/completions/mean_length" for split in ("train", "eval")]
    limits = {f"train/completions/{kind}_length": (STEPS, [value] * 101) for kind, value in (("min", 0), ("max", 16))}
    run = run_of({names[0]: (STEPS, [14.0] * 101), names[1]: (STEPS, [15.5] * 101), **limits})
    view = chart(run, *names, options=ChartOptions(fullscreen=True))
    assert not any(line.filled for line in view.lines)
    assert view.y.low > 10
    rows = ["".join(part for part, _ in row) for row in render(view, Size(72, 20))]
    for name, short in zip(names, ("train/…/mean_length", "eval/…/mean_length"), strict=True):
        assert short in rows[0]
        assert any(name in row for row in rows[-4:])


def test_a_metric_that_the_run_lacks_is_left_out() -> None:
    assert [line.metric for line in chart(two(float), "kl", "missing").lines] == ["kl"]
    assert chart(two(float), "missing").lines == ()
