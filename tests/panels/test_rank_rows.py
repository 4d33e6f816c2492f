"""Test the rows of the table of ranks."""

from __future__ import annotations

import pytest
from support.tables import table_rows

from tuimon.model.ranks import RankRow
from tuimon.panels.lists.rank_rows import rank_columns


@pytest.mark.parametrize(
    ("written", "shown"), [("3.404520E+00", " 3.405 "), ("2.35871", " 2.35871 "), ("nan", " nan ")]
)
def test_quantities_have_units_and_a_long_loss_is_rounded(written: str, shown: str) -> None:
    row = RankRow("", 5, "node01", 5, "run", 0.0, own=0.314, wait=0.25, memory=0.58, loss=written)
    head, cells = ("".join(text for text, _ in part) for part in table_rows(rank_columns(), [row], 100))
    assert shown in cells
    assert "E+" not in cells
    for quantity, value in (("own s", ".314"), ("wait s", ".250"), ("mem", "58%")):
        assert head.index(quantity) + len(quantity) == cells.index(value) + len(value)


def test_a_column_that_does_not_fit_is_left_out() -> None:
    row = RankRow("", 11, "node02", 3, "slow", 0.0, step=40, own=0.476, wait=0.055, loss="1.9354")
    head, cells = ("".join(text for text, _ in part) for part in table_rows(rank_columns(), [row], 45))
    assert head.split() == ["rank", "node", "gpu", "state", "step", "own", "s"]
    assert cells.split() == ["11", "node02", "3", "SLOW", "40", ".476"]
