from __future__ import annotations

from typing import Any

import pytest

from tuimon.media.echarts import columns_and_rows

_AXES = {"xAxis": [{"name": "Prediction", "data": ["a", "b"]}], "yAxis": [{"name": "Ground truth", "data": ["c"]}]}


@pytest.mark.parametrize(
    ("document", "columns", "rows"),
    [
        ({"series": [{"name": "n", "data": [3, None]}], "xAxis": [{"data": ["a"]}]}, "x n", [["a", 3], [1, None]]),
        (
            {"series": [{"name": "n", "data": [1]}, {"data": [[0.5, 2]]}], "xAxis": {}},
            "series x y",
            [["n", 0, 1], ["", 0.5, 2]],
        ),
        (
            {"series": [{"type": "heatmap", "name": "h", "data": [["p", "g", 0.5]]}], **_AXES},
            "Ground_truth Prediction h",
            [["g", "p", 0.5]],
        ),
        ({"series": [{"name": "pie", "data": [{"name": "a", "value": 3}]}]}, "x pie", [["a", 3]]),
        ({"series": [{"type": "radar", "data": [{"value": [1, 2]}, {}]}]}, "x y", [[1, 2], [None]]),
        ({"series": []}, "", []),
        ({"series": "x", "xAxis": [3]}, "", []),
        ({"_swanLab": "table", "colDefs": [{"field": "a"}, 3], "rowData": [{"a": 1}, 4, {}]}, "a", [[1], [None]]),
    ],
)
def test_columns_and_rows(document: dict[str, Any], columns: str, rows: list[list[Any]]) -> None:
    names, points = columns_and_rows(document)
    assert ([name.replace(" ", "_") for name in names], points) == (columns.split(), rows)
