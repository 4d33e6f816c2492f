"""Console text in which the step has a line of its own, and other lines whose step was misread or not read."""

from __future__ import annotations

import pytest
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder


def read(text: str, ended: bool = False) -> dict[str, list[tuple[int, float]]]:
    decoder = ConsoleDecoder()
    items = [*feed(decoder, text.encode()), *(decoder.end() if ended else ())]
    return {name: [(step, float(value)) for step, value in points] for name, points in series(items).items()}


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        ("step=30 loss=0.25 acc=0.71", {"loss": 0.25, "acc": 0.71}),
        ("step=30 loss=0.25 acc=0.7", {"loss": 0.25}),
        ("step=30 loss=0.25 ac", {"loss": 0.25}),
        ("step=30 loss=0.2", {}),
        ("step=3", {}),
    ],
)
def test_number_that_is_cut_at_the_end_of_a_log_is_no_point(last: str, wanted: dict[str, float]) -> None:
    points = read(f"step=29 loss=0.26 acc=0.70\n{last}", ended=True)
    assert {name: values[1:] for name, values in points.items() if values[1:]} == {
        name: [(30, value)] for name, value in wanted.items()
    }
