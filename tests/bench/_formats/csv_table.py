"""A CSV of metrics as Lightning and Stable-Baselines3 write it, beside csv and pandas."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.bench._formats import NAMES, Case, Collected, Series, table


def write(folder: Path, steps: int) -> None:
    rows = (",".join(map(repr, [step, *row])) for step, row in enumerate(table(steps).tolist()))
    (folder / "metrics.csv").write_text("\n".join([",".join(["step", *NAMES]), *rows, ""]))


def csv_reader(folder: Path) -> Series:
    series = Collected()
    with (folder / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            series.row(int(row.pop("step")), ((name, float(value)) for name, value in row.items() if value))
    return series


def pandas_read_csv(folder: Path) -> Series:
    import pandas

    rows = pandas.read_csv(folder / "metrics.csv", float_precision="round_trip").set_index("step")
    return {name: (rows.index, rows[name]) for name in rows}


CASE = Case("CSV table", write, {"pandas.read_csv": pandas_read_csv, "csv.DictReader": csv_reader})
