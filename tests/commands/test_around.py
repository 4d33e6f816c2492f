"""`tuimon summary --step`: all metrics around one step."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA
from support.programs import run, write_rows

from tuimon.exports.around import Around, around, as_text, first_unusual, run_around
from tuimon.monitor.local import open_run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """loss alternates between 1 and 1.1, jumps to 9 at step 30 and is NaN at 40; val comes every tenth step."""
    losses = [1 + step % 2 / 10 for step in range(50)]
    losses[30], losses[40] = 9.0, math.nan
    rows = [{"step": step, "loss": loss, "lr": 0.5, "rss_gb": 2.5} for step, loss in enumerate(losses)]
    for step in range(0, 50, 10):
        rows[step]["val/loss"] = step / 10
    return write_rows(tmp_path, rows)


def entries_of(path: Path, step: int) -> dict[str, Around]:
    (run,) = open_run(path).runs
    return {entry.name: entry for entry in around(run, step)}


def test_each_metric_has_its_last_point_at_or_before_the_step(log: Path) -> None:
    entries = entries_of(log, 34)
    assert set(entries) == {"loss", "lr", "rss_gb", "val/loss"}
    loss, val = entries["loss"], entries["val/loss"]
    assert (loss.step, loss.before, loss.value, loss.after) == (34, 1.1, 1.0, 1.1)
    assert (val.step, val.value, val.after) == (30, 3.0, 4.0)
    assert not any(entry.unusual for entry in entries.values())
    last = entries_of(log, 10**9)["loss"]
    assert (last.step, last.after) == (49, None)
    (run,) = open_run(log).runs
    assert around(run, -1) == ()
    seen: list[str] = []
    assert len(around(run, 34, stop=lambda: len(seen) == 2 or seen.append("") is not None)) == 2


def test_what_is_unusual(tmp_path: Path) -> None:
    """The 64 points before the jump of `falls` include a descent, whose spread hides it; `rate` has no noise."""
    falls = 0.9 + 1.6 * np.exp(-np.arange(60) / 12) + np.random.default_rng(1).normal(0, 0.02, 60)
    falls[34] += 2.5
    rate = np.minimum(np.arange(60) / 40, 2 - np.arange(60) / 40)
    often = [-0.1 - 0.05 * (step % 4) if step % 12 == 7 else 0.004 + 0.001 * (step % 3) for step in range(200)]
    often[151], often[180] = often[7], 1.5
    huge = [1.7e308 * (-1) ** step for step in range(40)]
    onset = [1.0 + 0.01 * (step % 3) for step in range(60)] + [9.0] * 20
    series = {"falls": falls, "rate": rate, "often": often, "huge": huge, "onset": onset}
    write_rows(tmp_path, ({"step": s} | {name: v[s] for name, v in series.items() if s < len(v)} for s in range(200)))
    (run,) = open_run(tmp_path).runs
    at = [{entry.name: entry for entry in around(run, step)} for step in range(200)]
    assert [step for step in range(60) if at[step]["falls"].unusual] == [34]
    assert not any(at[step]["rate"].unusual for step in range(60))
    assert at[34]["falls"].usual == np.median(falls[25:34])
    assert (at[151]["often"].unusual, at[180]["often"].unusual) == (False, True)
    assert math.isfinite(at[39]["huge"].distance)
    assert not at[39]["huge"].unusual
    first = [first_unusual(run, "onset", step) for step in (60, 57, 52, 51, 200)]
    assert first == [60, 60, 60, 51, 200], "at most eight points after an onset"


@pytest.mark.parametrize(("first", "distance"), [(9, 16.0), (8, math.inf)])
def test_a_value_is_compared_with_the_third_largest_distance(tmp_path: Path, first: int, distance: float) -> None:
    """Three points are not 1; the nearest of them by 0.5. The first nine have no distance."""
    losses = [{first: 3.0, 12: 2.5, 14: 1.5}.get(step, 1.0) for step in range(20)] + [9.0]
    write_rows(tmp_path, ({"step": step, "loss": loss} for step, loss in enumerate(losses)))
    assert entries_of(tmp_path, 20)["loss"].distance == distance
    write_rows(tmp_path, ({"step": step, "loss": loss} for step, loss in enumerate(losses[1:])))
    late = entries_of(tmp_path, 19)["loss"]
    assert (late.value, late.distance, late.unusual) == (9.0, None, False), "nineteen points before are too few"


def test_unusual_values_are_marked(log: Path) -> None:
    jump = entries_of(log, 30)["loss"]
    assert jump.usual == 1.1
    assert jump.distance > 50
    for step in (30, 40):
        assert [entry.name for entry in entries_of(log, step).values() if entry.unusual] == ["loss"]
    text = run("summary", str(log), "--step", "30", "--unusual").stdout
    assert "usual distances from 1.1" in text
    assert "lr" not in text.split()


def test_json_and_text_of_a_step(log: Path) -> None:
    document = json.loads(run("summary", str(log), "--step", "40", "--json").stdout)
    metrics = {metric["name"]: metric for metric in document["runs"][0]["metrics"]}
    assert metrics["loss"] == {
        "name": "loss",
        "unit": "1",
        "step": 40,
        "value": "NaN",
        "before": 1.1,
        "after": 1.1,
        "superseded": None,
        "distance": None,
        "usual": 1.1,
        "unusual": True,
    }
    assert metrics["rss_gb"]["unit"] == "GB"
    text = run("summary", str(log), "--step", "40").stdout
    assert "not finite" in text
    assert ["rss_gb", "40", "2.5", "2.5", "2.5", "GB"] in [line.split() for line in text.splitlines()]
    assert run("summary", str(DATA / "exports"), "--step", "20").stdout.count("around step 20") == 4


def test_metrics_at_a_step_are_chosen_and_have_every_digit(tmp_path: Path) -> None:
    values = [0.1, 1 / 3, 12345678.123456789]
    write_rows(tmp_path, ({"step": s, "loss": v, "rss_gb": 1.0, "val/loss": v} for s, v in enumerate(values)))
    chosen = ("summary", str(tmp_path), "--step", "1", "--metric", "*loss")
    (document,) = json.loads(run(*chosen, "--json").stdout)["runs"]
    assert [metric["name"] for metric in document["metrics"]] == ["loss", "val/loss"]
    rows = {line.split()[0]: line for line in run(*chosen).stdout.splitlines() if line.strip()}
    assert rows.keys() & {"loss", "val/loss", "rss_gb"} == {"loss", "val/loss"}
    assert all(repr(value) in rows["loss"] for value in values)


def test_the_value_of_a_superseded_attempt_has_a_column(tmp_path: Path) -> None:
    steps = [*range(1, 31), *range(11, 41)]
    rows = [{"step": step, "loss": 1 + row / 1000} for row, step in enumerate(steps)]
    write_rows(tmp_path, rows)
    (run,) = open_run(tmp_path).runs
    entries = [around(run, step)[0] for step in (10, 20, 35)]
    assert [(entry.value, entry.superseded) for entry in entries] == [(1.009, None), (1.039, 1.019), (1.054, None)]
    table = [re.split(r"  +", text.strip()) for text in as_text(run, run_around(run, 20), 20)][1:3]
    assert table[0][:5] == ["metric", "step", "before", "value", "superseded"]
    assert table[1][:5] == ["loss", "20", "1.038", "1.039", "1.019"]
    assert all("superseded" not in text for text in list(as_text(run, run_around(run, 35), 35))[1:])
