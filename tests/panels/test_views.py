"""Made runs, the views of their panels and their lists: a row of a table for each.

support.view_cases and support.list_cases have the words of the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import list_cases, view_cases

HERE = Path(__file__).parent
VIEWS = [case for table in sorted((HERE / "views").glob("*.toml")) for case in view_cases.cases_of(table)]


@pytest.mark.parametrize("case", VIEWS)
def test_the_views_of_a_made_run(case: Mapping[str, Any]) -> None:
    for found, expected in view_cases.compared(case):
        assert found == expected


@pytest.mark.parametrize("case", view_cases.cases_of(HERE / "lists.toml"))
def test_the_list_of_made_runs(case: Mapping[str, Any]) -> None:
    for found, expected in list_cases.compared(case):
        assert found == expected
