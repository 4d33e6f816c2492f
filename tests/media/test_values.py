"""Charts of SwanLab as tables: see support.value_cases for the words of the table."""

from __future__ import annotations

from typing import Any

from support.value_cases import values_of

from tuimon.media.echarts import columns_and_rows

test_values = values_of(globals())


def echart(document: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    names, points = columns_and_rows(document)
    return [name.replace(" ", "_") for name in names], points
