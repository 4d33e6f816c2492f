"""Test the rows of the table of ranks."""

from __future__ import annotations

import pytest
from support.tables import table_rows

from tuimon.model.ranks import RankRow
from tuimon.panels.lists.rank_rows import COLUMNS


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("[2026-11-22 19:32:10,767][node02][rank11] INFO training finished", "training finished"),
        ("2026-11-22 19:32:10,767 - INFO - step 3", "step 3"),
        ("[rank3]: Traceback (most recent", "Traceback (most recent"),
        ("[E1122 03:14:02.844503000 ProcessGroupNCCL.cpp:683] [Rank 0] Watchdog caught", "Watchdog caught"),
        ("step [1/5] loss 3", "step [1/5] loss 3"),
        ("[INFO]", "[INFO]"),
    ],
)
def test_the_last_line_begins_with_its_message(line: str, shown: str) -> None:
    row = RankRow("", 11, "node02", 3, "run", 0.0, line=line)
    text = "".join(span[0] for span in table_rows(COLUMNS, [row], 90)[1])
    assert text.rstrip().endswith("  " + shown)


@pytest.mark.parametrize(
    ("written", "shown"), [("3.404520E+00", " 3.405 "), ("2.35871", " 2.35871 "), ("nan", " nan ")]
)
def test_quantities_have_units_and_a_long_loss_is_rounded(written: str, shown: str) -> None:
    row = RankRow("", 5, "node01", 5, "run", 0.0, own=0.314, wait=0.25, memory=0.58, loss=written)
    head, cells = ("".join(text for text, _ in part) for part in table_rows(COLUMNS, [row], 100))
    assert shown in cells
    assert "E+" not in cells
    for quantity, value in (("own s", ".314"), ("wait s", ".250"), ("mem", "58%")):
        assert head.index(quantity) + len(quantity) == cells.index(value) + len(value)


def test_a_column_that_does_not_fit_is_left_out() -> None:
    row = RankRow("", 11, "node02", 3, "slow", 0.0, step=40, own=0.476, wait=0.055, loss="1.9354")
    head, cells = ("".join(text for text, _ in part) for part in table_rows(COLUMNS, [row], 45))
    assert head.split() == ["rank", "node", "gpu", "state", "step", "own", "s"]
    assert cells.split() == ["11", "node02", "3", "SLOW", "40", ".476"]
