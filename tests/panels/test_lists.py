"""Made runs and the list of runs: a row of a table for each; see support.list_cases for its words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.list_cases import compared
from support.view_cases import cases_of


@pytest.mark.parametrize("case", cases_of(Path(__file__).parent / "lists.toml"))
def test_the_list_of_made_runs(case: Mapping[str, Any]) -> None:
    for found, expected in compared(case):
        assert found == expected
