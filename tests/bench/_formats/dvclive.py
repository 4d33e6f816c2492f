"""DVCLive's tables, one metric a file, beside csv and pandas."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.bench._formats import NAMES, Case, Collected, Series, table

PLACE = Path("dvclive", "plots", "metrics")


def write(folder: Path, steps: int) -> None:
    for name, column in zip(NAMES, table(steps).T.tolist(), strict=True):
        path = folder / PLACE / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{step}\t{value!r}\n" for step, value in enumerate(column))
        path.write_text(f"step\t{path.stem}\n{rows}")


def csv_reader(folder: Path) -> Series:
    series = Collected()
    for path in (folder / PLACE).rglob("*.tsv"):
        name = str(path.relative_to(folder / PLACE).with_suffix(""))
        with path.open(newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                series.row(int(row["step"]), [(name, float(row[path.stem]))])
    return series


def pandas_read_csv(folder: Path) -> Series:
    import pandas

    series = {}
    for path in (folder / PLACE).rglob("*.tsv"):
        frame = pandas.read_csv(path, sep="\t", float_precision="round_trip")
        series[str(path.relative_to(folder / PLACE).with_suffix(""))] = (frame["step"], frame[path.stem])
    return series


CASE = Case("DVCLive tables", write, {"pandas.read_csv": pandas_read_csv, "csv.DictReader": csv_reader})
