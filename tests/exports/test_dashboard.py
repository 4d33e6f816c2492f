"""The first page of the dashboard as text."""

from __future__ import annotations

import math

from support.made_run import START, snapshot_of

from tuimon.exports.dashboard import dashboard
from tuimon.model.views import Symbols


def test_axes_of_a_row_are_aligned_beside_a_chart_with_a_note() -> None:
    steps = range(20)
    series = {
        "reward": (steps, [0.5] * 20),
        "loss": (steps, [1.0] * 18 + [math.nan, 1.0]),
        "entropy": (steps, [1.0] * 20),
    }
    lines = list(dashboard(snapshot_of(series), 120, 20, START, Symbols.BRAILLE))
    assert any("1 NaN" in line for line in lines)
    assert [line.count("└") for line in lines if "└" in line] == [3]
