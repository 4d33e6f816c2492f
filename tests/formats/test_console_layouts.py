"""Texts of public trainers and scripts with the points that they print: console_layouts.json.

program: what printed the text, or what is special in it. points: metric -> (step, value) of each point. whole: whether
no other metric is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder

LAYOUTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("console_layouts.json").read_text())


@pytest.mark.parametrize("layout", LAYOUTS, ids=[layout["program"] for layout in LAYOUTS])
def test_the_printed_points_are_read(layout: dict[str, Any]) -> None:
    decoder = ConsoleDecoder()
    found = series([*feed(decoder, layout["text"].encode()), *decoder.end()])
    wanted = {
        metric: [(step, repr(float(value))) for step, value in points] for metric, points in layout["points"].items()
    }
    assert {metric: points for metric, points in found.items() if layout.get("whole") or metric in wanted} == wanted


def test_words_and_numbers_of_other_programs_give_no_points() -> None:
    text = (
        "Training | Validation\nnot a row | of | numbers\nRead 10M words\nNumber of words:  71290\n"
        "throughput: 12.5 tokens/s, running: 3 reqs\nBest is trial 0 with value: 0.31.\n"
        "Name     Version   Build\nnumpy    2.1       0\n"
    )
    assert series(feed(ConsoleDecoder(), text.encode())) == {}
