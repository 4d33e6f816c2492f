"""The change of a metric in summaries."""

from __future__ import annotations

import numpy as np
import pytest
from support.stores import store_of

from tuimon.exports.metrics import summarise
from tuimon.exports.summary import trend_text
from tuimon.model.points import Floats


@pytest.mark.parametrize(
    ("values", "long", "brief"),
    [
        (np.linspace(1, 10, 60), "rising +8.237", "↑ 8.237"),
        (np.where(np.arange(60) < 15, 10.0, 1.0), "falling -9", "↓ 9"),
        (np.tile([0.01, -0.01, 0.0], 20), "flat", "flat"),
        (np.linspace(1, 10, 4), "", ""),
    ],
)
def test_text_of_a_change(values: Floats, long: str, brief: str) -> None:
    metric = summarise(store_of({"loss": values.tolist()}).snapshot().runs[0], "loss")
    assert (trend_text(metric), trend_text(metric, brief=True)) == (long, brief)
