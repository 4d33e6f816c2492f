"""verl's console log, one line a step, beside what a script does: each line, one search for `name:number`."""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench._formats import NAMES, Case, Collected, Series, table

KEYS = [name.replace(" ", "_") for name in NAMES]


def write(folder: Path, steps: int) -> None:
    lines = []
    for step, row in enumerate(table(steps).tolist(), 1):
        values = " - ".join(f"{key}:np.float64({value!r})" for key, value in zip(KEYS, row, strict=True))
        lines.append(f"(TaskRunner pid=31337) step:{step} - {values}\n")
    (folder / "train.log").write_text("".join(lines))


def one_expression(folder: Path) -> Series:
    pair, series = re.compile(r"([\w/@.]+):(?:np\.float64\()?(-?\d[\d.e+-]*)"), Collected()
    for line in (folder / "train.log").read_text().splitlines():
        (_, step), *pairs = pair.findall(line)
        series.row(int(step), ((name, float(value)) for name, value in pairs))
    return series


CASE = Case("verl's console log", write, {"re.findall a line": one_expression})
