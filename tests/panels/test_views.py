"""Made runs and the views of their panels: a row of a table for each; see support.view_cases for its words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.view_cases import cases_of, compared

TABLES = sorted((Path(__file__).parent / "views").glob("*.toml"))


@pytest.mark.parametrize("case", [case for table in TABLES for case in cases_of(table)])
def test_the_views_of_a_made_run(case: Mapping[str, Any]) -> None:
    for found, expected in compared(case):
        assert found == expected
