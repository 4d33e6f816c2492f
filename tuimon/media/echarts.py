"""Tables and charts of SwanLab as columns and rows (swanlab 0.10, sdk/internal/run/transforms/echarts).

swanlab.echarts.Table   {"_swanLab": "table", "colDefs": [{"field": NAME}, ...], "rowData": [{NAME: VALUE}, ...]}
other charts            options of ECharts: {"series": [{"type", "name", "data": [POINT, ...]}, ...],
                        "xAxis": [{"name", "data": [LABEL, ...]}], "yAxis": ...}

A point is a number, which belongs to the label at its place, a list of coordinates, or {"name": ..., "value": point}.
"""

from __future__ import annotations

from typing import Any

SERIES = "series"
"""Name of the column with the names of the series."""


def columns_and_rows(document: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and the rows of a table or a chart; both are empty if it has no data. A chart of
    several series has a first column with their names, and a heat map the vertical coordinate before the horizontal
    one."""
    if document.get("_swanLab") == "table":
        fields = [str(column.get("field")) for column in _objects(document.get("colDefs"))]
        return fields, [[row.get(field) for field in fields] for row in _objects(document.get("rowData"))]
    series = _objects(document.get("series"))
    across, up = (_axis(document.get(name)) for name in ("xAxis", "yAxis"))
    labels = _list(across.get("data")) or _list(up.get("data"))
    x, y = str(across.get("name") or "x"), str(up.get("name") or "")
    if len(series) == 1 and series[0].get("type") == "heatmap":
        points = [_point(value, place, labels) for place, value in enumerate(_list(series[0].get("data")))]
        return [y or "y", x, _name(series[0])], [[*reversed(row[:2]), *row[2:]] for row in points]
    rows = [
        [_name(each), *_point(value, place, labels)]
        for each in series
        for place, value in enumerate(_list(each.get("data")))
    ]
    if not rows:
        return [], []
    if len(series) > 1:
        return [SERIES, x, y or "y"], rows
    return [x, y or _name(series[0]) or "y"], [row[1:] for row in rows]


def _point(value: Any, place: int, labels: list[Any]) -> list[Any]:
    if isinstance(value, dict):
        name, inner = value.get("name"), value.get("value")
        coordinates = inner if isinstance(inner, list) else [inner]
        return coordinates if name is None else [name, *coordinates]
    if isinstance(value, list):
        return value
    return [labels[place] if place < len(labels) else place, value]


def _name(series: dict[str, Any]) -> str:
    return str(series.get("name") or "")


def _axis(value: Any) -> dict[str, Any]:
    """Return the first axis of a direction, {} if there is none."""
    return next(iter(_objects(value if isinstance(value, list) else [value])), {})


def _objects(value: Any) -> list[dict[str, Any]]:
    return [element for element in _list(value) if isinstance(element, dict)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
