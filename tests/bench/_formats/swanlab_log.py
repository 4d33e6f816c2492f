"""SwanLab's local logs, beside one json.loads a line. The folder is the metric's name, as before 0.3.12."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

from tests.bench._formats import NAMES, WALL, Case, Collected, Series, table


def write(folder: Path, steps: int) -> None:
    values = table(steps).T.tolist()
    for name, column in zip(NAMES, values, strict=True):
        directory = folder / "run-20261121_010101-abcdefgh" / "logs" / quote(name, safe="")
        directory.mkdir(parents=True)
        for first in range(0, steps, 1000):
            rows = [
                {
                    "index": step,
                    "data": column[step],
                    "create_time": datetime.fromtimestamp(WALL + step, UTC).isoformat(),
                }
                for step in range(first, min(first + 1000, steps))
            ]
            (directory / f"{first + 1000}.log").write_text("".join(json.dumps(row) + "\n" for row in rows))


def json_loads(folder: Path) -> Series:
    series = Collected()
    for path in sorted(folder.glob("*/logs/*/*.log"), key=lambda path: int(path.stem)):
        name = unquote(path.parent.name)
        for line in path.read_text().splitlines():
            row = json.loads(line)
            series.row(row["index"], [(name, row["data"])])
    return series


CASE = Case("SwanLab local logs", write, {"json.loads a line": json_loads})
