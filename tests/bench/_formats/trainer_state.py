"""Hugging Face's trainer_state.json, beside json.load and a loop, and pandas; and that of a run that diverged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench._formats import NAMES, Case, Collected, Series, table


def writer(diverged: bool) -> Callable[[Path, int], None]:
    def write(folder: Path, steps: int) -> None:
        rows: list[dict[str, Any]] = []
        for step, values in enumerate(table(steps).tolist(), 1):
            if diverged and step > steps // 2:
                values[0] = math.nan
            rows.append({"epoch": step / 1000, **dict(zip(NAMES, values, strict=True)), "step": step})
        state = {"epoch": steps / 1000, "global_step": steps, "log_history": rows, "max_steps": steps}
        directory = folder / f"checkpoint-{steps}"
        directory.mkdir()
        (directory / "trainer_state.json").write_text(json.dumps(state, indent=2, sort_keys=True) + "\n")

    return write


def history(folder: Path) -> list[dict[str, Any]]:
    with next(folder.glob("*/trainer_state.json")).open() as file:
        rows: list[dict[str, Any]] = json.load(file)["log_history"]
    return rows


def loop(folder: Path) -> Series:
    series = Collected()
    for row in history(folder):
        series.row(row.pop("step"), row.items())
    return series


def frame(folder: Path) -> Series:
    import pandas

    rows = pandas.DataFrame(history(folder)).set_index("step")
    return {name: (rows.index, rows[name]) for name in rows}


PEERS = {"json.load and a loop": loop, "json.load and pandas.DataFrame": frame}
CASES = [
    Case("trainer_state.json", writer(False), PEERS),
    Case("trainer_state.json, half of its rows with NaN", writer(True), PEERS),
]
