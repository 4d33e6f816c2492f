"""summarise(): a metric in numbers, and its trend in words."""

from __future__ import annotations

import numpy as np
import pytest
from support.stores import store_of

from tuimon.exports.summary import summarise

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "direction", "text", "brief"),
    [
        (np.linspace(1, 10, 60), "rising", "rising +8.237", "↑ 8.237"),
        (np.where(np.arange(60) < 15, 10.0, 1.0), "falling", "falling -9", "↓ 9"),
        (np.tile([0.01, -0.01, 0.0], 20), "flat", "flat", "flat"),
        (np.linspace(1, 10, 4), "unknown", "", ""),
    ],
)
def test_trend(values: list[float], direction: str, text: str, brief: str) -> None:
    trend = summarise(store_of({"loss": list(values)}).snapshot().runs[0], "loss").trend
    assert (trend.direction, trend.text(), trend.text(brief=True)) == (direction, text, brief)


def test_what_is_not_finite_is_counted_and_named() -> None:
    metric = summarise(store_of({"loss": [3.0, NAN, NAN, INF, 1.0]}).snapshot().runs[0], "loss")
    assert (metric.points, metric.nan, metric.infinite, metric.mean) == (5, 2, 1, 2.0)
    assert metric.remarks == "2 NaN at 20 and 30, 1 infinite at 40"
    assert (metric.best.step, metric.best.value) == (50, 1.0)
