"""Test the rows of the table of ranks."""

from __future__ import annotations

import pytest

from tuimon.model.ranks import RankRow
from tuimon.panels.lists.rank_rows import table_head, table_row


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("[2026-11-22 19:32:10,767][node02][rank11] INFO training finished", "training finished"),
        ("2026-11-22 19:32:10,767 - INFO - step 3", "step 3"),
        ("[rank3]: Traceback (most recent", "Traceback (most recent"),
        ("step [1/5] loss 3", "step [1/5] loss 3"),
        ("[INFO]", "[INFO]"),
    ],
)
def test_the_last_line_begins_with_its_message(line: str, shown: str) -> None:
    row = RankRow("", 11, "node02", 3, "run", 0.0, line=line)
    text = "".join(span[0] for span in table_row(row, [row], selected=False, width=90))
    assert text.rstrip().endswith("  " + shown)


@pytest.mark.parametrize(
    ("written", "shown"), [("3.404520E+00", " 3.405 "), ("2.35871", " 2.35871 "), ("nan", " nan ")]
)
def test_quantities_have_units_and_a_long_loss_is_rounded(written: str, shown: str) -> None:
    row = RankRow("", 5, "node01", 5, "run", 0.0, own=0.314, wait=0.25, temperature=58.0, loss=written)
    head = "".join(text for text, _ in table_head([row], 100))
    cells = "".join(text for text, _ in table_row(row, [row], selected=False, width=100))
    assert shown in cells
    assert "E+" not in cells
    for quantity, value in (("own s", ".314"), ("wait s", ".250"), ("°C", "58")):
        assert head.index(quantity) + len(quantity) == cells.index(value) + len(value)
