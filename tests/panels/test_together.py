"""The chart of several metrics: each line goes from its own lowest to its own highest value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from support.made_run import START, run_of

from tuimon.draw.window import Window
from tuimon.model.views import Axis, ChartView, Size, Symbols
from tuimon.panels import DEFAULTS, ChartOptions, TogetherPanel
from tuimon.store import Run

SIZE = Size(100, 20)
STEPS = list(range(101))


def chart(run: Run, *metrics: str, options: ChartOptions = DEFAULTS) -> ChartView:
    return TogetherPanel(metrics).view(run, SIZE, START, Symbols.BRAILLE, options)


def two(of: Callable[[int], float]) -> Run:
    return run_of({"kl": (STEPS, list(map(of, STEPS))), "train/entropy": (STEPS, [3.0 - step / 100 for step in STEPS])})


def test_metrics_of_different_units_are_drawn_from_their_lowest_to_their_highest_value() -> None:
    view = chart(two(lambda step: step / 1000), "kl", "train/entropy")
    assert (view.y, view.headline) == (Axis(0.0, 1.0), ())
    assert [line.label for line in view.lines] == ["kl 0 to 0.1000", "train/entropy 2 to 3"]
    rising, falling = (line.envelope for line in view.lines)
    assert (np.nanmin(rising.low), np.nanmax(rising.high)) == (0.0, 1.0)
    assert np.nanargmin(falling.low) > np.nanargmax(falling.high)
    assert "each from its lowest to its highest value" in view.note


def test_the_range_is_that_of_the_window() -> None:
    view = chart(two(lambda step: step / 1000), "kl", "train/entropy", options=ChartOptions(window=Window(50.0, 100.0)))
    assert view.lines[0].label == "kl 0.0500 to 0.1000"


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


def test_a_metric_that_the_run_lacks_is_left_out() -> None:
    assert [line.metric for line in chart(two(float), "kl", "missing").lines] == ["kl"]
    assert chart(two(float), "missing").lines == ()
