"""JSON lines, beside json.loads and pandas."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench._formats import NAMES, Case, Collected, Series, table


def write(folder: Path, steps: int) -> None:
    rows = ({"step": step, **dict(zip(NAMES, row, strict=True))} for step, row in enumerate(table(steps).tolist()))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def loop(folder: Path) -> Series:
    series = Collected()
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        series.row(row.pop("step"), row.items())
    return series


def pandas_read_json(folder: Path) -> Series:
    import pandas

    rows = pandas.read_json(folder / "metrics.jsonl", lines=True, precise_float=True).set_index("step")
    return {name: (rows.index, rows[name]) for name in rows}


CASE = Case("JSON lines", write, {"json.loads a line": loop, "pandas.read_json": pandas_read_json})
