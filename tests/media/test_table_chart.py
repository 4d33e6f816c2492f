"""Test the charts of tables: the columns of each chart of wandb.plot, and tables that cannot be drawn."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tuimon.draw.rows import row_width
from tuimon.media.table_chart import LEAST, chart_rows
from tuimon.media.tables import Table
from tuimon.model.views import Row, Size, Symbols

SIZE = Size(80, 16)


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


def test_lines_and_matrix_of_swanlab() -> None:
    text = drawn(table("series,FPR,TPR", ("TPR", 0.0, 0.2), ("TPR", 1.0, 1.0), ("", 0.0, 0.0), ("", 1.0, 1.0)))
    assert text[0].split()[:3] == ["TPR", "●", "TPR"]
    matrix = drawn(table("Ground truth,Prediction,Confusion Matrix", ("no", "no", 0.75), ("no", "yes", 0.25)))
    assert [line.split() for line in matrix[1:]] == [["no", "yes"], ["no", "0.75", "0.25"], ["yes", "0", "0"]]


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


def test_bars_and_histogram() -> None:
    bars = drawn(table("label,value", ("cat", 3.5), ("a\x1b[31mdog", 7), ("bird", math.nan)))
    assert [line.split()[:2] for line in bars] == [["value"], ["cat", "3.5"], ["a␛[31mdog", "7"], ["bird", "NaN"]]
    assert [line.count("█") for line in bars[1:]] == [bars[2].count("█") // 2, bars[2].count("█"), 0]
    counts = drawn(table("score", *((x / 10,) for x in range(100))))
    assert counts[0].strip() == "score, 100 values"
    assert sum(int(line.split()[3]) for line in counts[1:]) == 100
    assert "█" not in "".join(drawn(table("label,value", ("cat", 3.5)), symbols=Symbols.ASCII))


def test_confusion_matrix() -> None:
    rows = [("neg", "neg", 13.0), ("neg", "pos", 7.0), ("pos", "neg", 9.0), ("pos", "other", 2.0)]
    text = drawn(table("Actual,Predicted,nPredictions", *rows))
    assert [line.split() for line in text[1:]] == [
        ["neg", "pos", "other"],
        ["neg", "13", "7", "0"],
        ["pos", "9", "0", "2"],
        ["other", "0", "0", "0"],
    ]


@pytest.mark.parametrize(
    "source",
    [
        table("prompt,response,reward", ("a", "b", 1.0)),
        table("text", ("a",)),
        table("x,y"),
        table("label,value", *((str(x), x) for x in range(100))),
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
        table("label,value", *((f"a long name {x}", 10.0**x) for x in range(20))),
        table("score", *((1e300 * x,) for x in range(9))),
        table("Actual,Predicted,nPredictions", *((str(x), str(x), x) for x in range(90))),
    )
    for source in sources:
        assert bool(drawn(source, Size(width, height))) == (width >= LEAST.width and height >= LEAST.height)
