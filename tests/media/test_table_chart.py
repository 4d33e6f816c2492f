"""Test the charts of tables: the columns of each chart of wandb.plot, and tables that cannot be drawn."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.value_cases import values_of

from tuimon.draw.rows import row_width
from tuimon.media.echarts import columns_and_rows
from tuimon.media.table_chart import LEAST, chart_rows
from tuimon.media.tables import Table
from tuimon.model.views import Row, Size, Symbols

SIZE = Size(80, 16)
test_values = values_of(globals())


def echart(document: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of a chart of SwanLab."""
    names, points = columns_and_rows(document)
    return [name.replace(" ", "_") for name in names], points


def table(columns: str, *rows: tuple[Any, ...]) -> Table:
    return Table(tuple(columns.split(",")), rows, len(rows))


def drawn(source: Table, size: Size = SIZE, symbols: Symbols = Symbols.BRAILLE) -> list[str]:
    rows: list[Row] = chart_rows(source, size, symbols)
    assert len(rows) <= size.height
    assert all(row_width(row) <= size.width for row in rows)
    return ["".join(text for text, _ in row) for row in rows]


def test_a_line_for_each_key() -> None:
    rows = [(step, key, step * slope) for key, slope in (("a", 1), ("b", -1)) for step in range(4)]
    text = drawn(table("step,lineKey,lineVal", *rows))
    assert text[0].split() == ["lineVal", "●", "a", "●", "b"]
    assert sum(line.count("●") for line in text[1:]) == 7, "both lines begin at 0"
    assert any(line.rstrip().endswith("step ─ 3") for line in text), "the axis has its name and limits"


@pytest.mark.parametrize(
    ("columns", "title", "axis"), [("class,fpr,tpr", "tpr", "fpr"), ("class,precision,recall", "precision", "recall")]
)
def test_curves_of_classes(columns: str, title: str, axis: str) -> None:
    text = drawn(table(columns, ("pos", 0.0, 1.0), ("pos", 1.0, 0.5), ("neg", 0.0, 0.0), ("neg", 0.5, 1.0)))
    assert text[0].split() == [title, "●", "pos", "●", "neg"]
    assert any(axis in line for line in text[-3:])


@pytest.mark.parametrize("way", [1, -1])
def test_recall_of_rising_thresholds_is_joined(way: int) -> None:
    """Recall falls while the threshold rises."""
    points = [("pos", recall / 8, 1 - recall / 16) for recall in range(9)][::way]
    assert drawn(table("class,recall,precision", *points)) == drawn(table("class,recall,precision", *points[::-1]))
    text = "".join(drawn(table("class,recall,precision", *points)))
    assert any("\u2800" < character < "\u2900" for character in text), "the points are joined"


def test_lines_of_swanlab() -> None:
    text = drawn(table("series,FPR,TPR", ("TPR", 0.0, 0.2), ("TPR", 1.0, 1.0), ("", 0.0, 0.0), ("", 1.0, 1.0)))
    assert text[0].split()[:3] == ["TPR", "●", "TPR"]


def test_two_columns_of_numbers() -> None:
    line = drawn(table("x,height", *((x, math.sin(x / 20)) for x in range(200))))
    assert line[0].strip() == "height"
    assert "●" not in "".join(line), "a long line is not marked"
    scatter = drawn(table("u,v", *((math.cos(x), math.sin(x)) for x in range(30))))
    assert 20 < "".join(scatter).count("●") <= 30, "points are not joined"
    part = Table(("x", "y"), ((1, 1), (2, 2)), 700)
    assert "the first 2 of 700 rows" in "".join(drawn(part))
    assert drawn(table("x,y", (1, None), (2, math.nan))) == []
    assert drawn(table("x,y", (1, 2), (1, 2))), "a single place"


@pytest.mark.parametrize(
    "source",
    [
        table("prompt,response,reward", ("a", "b", 1.0)),
        table("text", ("a",)),
        table("x,y"),
        table("label,value", *((str(x), x) for x in range(10))),
        table("score", *((x,) for x in range(10))),
        table("class,fpr,tpr", ("pos", "a", "b")),
    ],
)
def test_other_tables_have_no_chart(source: Table) -> None:
    assert drawn(source) == []


@pytest.mark.parametrize("width", [LEAST.width - 1, LEAST.width, 200])
@pytest.mark.parametrize("height", [LEAST.height - 1, LEAST.height, 60])
def test_any_size(width: int, height: int) -> None:
    sources = (
        table("x,y", *((x, -x) for x in range(9))),
        table("step,lineKey,lineVal", *((x, f"a long name {x}", 1e300 * x) for x in range(9))),
    )
    for source in sources:
        assert bool(drawn(source, Size(width, height))) == (width >= LEAST.width and height >= LEAST.height)
