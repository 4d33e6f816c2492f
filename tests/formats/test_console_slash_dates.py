"""Dates in console text whose order of month and day is to be found out."""

from __future__ import annotations

import math
from datetime import datetime

from support.json_points import feed

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Points


def times(stamps: list[str], then: list[str] | None = None) -> tuple[list[float], str]:
    """Return the wall times of a line for each stamp, `then` fed afterwards, and the remark."""
    decoder, result = ConsoleDecoder(), list[float]()
    lines = [
        f"{stamp} - INFO - __main__ - step {step}: loss 0.{step}5" for step, stamp in enumerate(stamps + (then or []))
    ]
    for part in (lines[: len(stamps)], lines[len(stamps) :]):
        for item in feed(decoder, "".join(f"{line}\n" for line in part).encode()):
            if isinstance(item, Points):
                result += [float(time) for time in item.wall_times]
    return result, decoder.remark


def test_date_that_may_be_either_is_not_read_until_another_decides() -> None:
    ambiguous = ["03/04/2026 10:00:00", "03/04/2026 10:00:01"]
    result, remark = times(ambiguous, ["03/25/2026 10:00:00", "04/05/2026 10:00:00"])
    assert [math.isnan(time) for time in result] == [True, True, False, False]
    assert result[3] == datetime(2026, 4, 5, 10).timestamp()
    assert remark == "2 times are not read, as month or day may be first: 03/04/2026"
