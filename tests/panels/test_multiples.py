"""Test small multiples: which runs and limits they have, and how a page is divided."""

from __future__ import annotations

import pytest
from support.made_run import runs_of

from tuimon.draw.window import Window
from tuimon.model.views import Size, Symbols
from tuimon.panels.lists.multiples import (
    LEAST,
    Limits,
    chart,
    common_limits,
    common_metrics,
    comparable,
    first_metric,
    grid,
    name_in,
    with_metric,
)
from tuimon.panels.lists.runs import Listing


def test_metrics_and_limits_of_runs_that_spell_them_in_another_way() -> None:
    logged = {
        "a": {"train/loss": [3.0, 1.0], "train/reward": [0.0, 1.0]},
        "b": {"loss": [-2.0, 0.5], "reward": [float("nan"), 4.0]},
        "c": {"accuracy": [0.1, 0.2]},
    }
    series = ({key: (range(2), values) for key, values in metrics.items()} for metrics in logged.values())
    runs = runs_of(*series, names=list(logged))
    assert [name_in(run, "train/loss") for run in runs] == ["train/loss", "loss", ""]
    assert with_metric(runs, "train/loss") == runs[:2]
    assert common_limits(runs, "train/loss").y == (-2.0, 3.0)
    assert common_limits(runs, "train/reward").y == (0.0, 4.0)
    assert common_limits(runs, "elsewhere") == Limits()
    assert common_metrics(runs)[-1] == "accuracy", "that of one run comes last"
    assert len(common_metrics(runs)) == 3
    assert first_metric(runs[2:], runs[2]) == "accuracy"
    assert first_metric(runs, runs[2]) in ("train/reward", "reward"), "that of most runs"
    assert first_metric(runs, None) in ("train/reward", "reward")
    assert first_metric(runs, runs[1], "best(loss)") == "loss", "as the selected run spells it"
    assert first_metric(runs, runs[2], "accuracy") == "accuracy"
    assert first_metric(runs, None, "elsewhere") in ("train/reward", "reward")


def test_charts_have_common_steps_and_values_with_units() -> None:
    runs = runs_of(
        *(
            {"response_length/mean": (steps, [150.0 - step / 10 for step in steps])}
            for steps in (range(120), range(100, 159))
        )
    )
    limits = common_limits(runs, "response_length/mean")
    assert limits.x == Window(160.0, 160.0), "steps 0 to 158, their end rounded up to an eighth"
    listing = Listing(0.0, Symbols.BRAILLE)
    for width, trend in ((40, False), (80, True)):
        rows_of = [chart(run, "response_length/mean", limits, listing, Size(width, 8)) for run in runs]
        heads = ["".join(text for text, _ in rows[0]) for rows in rows_of]
        assert "138.7 tokens" in heads[0], "mean of the last 12 points"
        assert "134.4 tokens" in heads[1], "mean of the last 6 points"
        assert all(("↓" in head) == trend for head in heads), "a change without room for its value means nothing"
        ticks = ["".join(text for text, _ in rows[-1]).split() for rows in rows_of]
        assert ticks[0] == ticks[1]


@pytest.mark.parametrize("count", [1, 2, 5, 12, 2000])
@pytest.mark.parametrize("size", [Size(40, 8), Size(80, 22), Size(200, 48), Size(300, 76)])
def test_a_page_has_room_for_its_charts(count: int, size: Size) -> None:
    columns, rows, chart = grid(size, count)
    assert columns * chart.width <= size.width
    assert rows * chart.height <= size.height
    assert chart.width >= min(LEAST.width, size.width)
    assert chart.height >= LEAST.height
    assert columns * (rows - 1) < count, "no empty row"
    assert columns * rows < count or rows * (chart.height + 1) > size.height, "few charts use all rows"
    assert columns * rows >= count or rows == size.height // LEAST.height, "a page is filled before there is another"


def test_limits_are_shared_if_most_charts_use_them() -> None:
    shapes = ((40, 1.0), (50, 0.5), (40, 300.0), (9000, 0.5))
    steps = {count: range(0, count, max(count // 40, 1)) for count, _ in shapes}
    runs = runs_of(
        *({"reward": (steps[count], [top * step / count for step in steps[count]])} for count, top in shapes)
    )
    assert comparable(runs[:2], "reward")
    assert comparable([*runs[:2], *runs[:2], runs[2]], "reward") is False, "four of five would be flat lines"
    assert comparable([runs[0], runs[3], runs[1]], "reward") is False, "two of three would be points"
    assert comparable([runs[2], runs[2], runs[0]], "reward"), "two of three fill their charts"
    assert comparable(runs, "elsewhere")
