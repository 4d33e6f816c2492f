"""`tuimon summary`: goldens of the whole text, and numbers computed from the logs."""

from __future__ import annotations

import json
import math
import re
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA
from support.programs import run, same_number, write_rows

from tuimon.draw.table import TextColumn, TextTable
from tuimon.exports.documents import plain
from tuimon.exports.summary import summary_of
from tuimon.exports.summary_text import as_text, runs_table
from tuimon.exports.table import table_text
from tuimon.monitor.local import open_run

EXPORTS = DATA / "exports"


def text_of(*paths: Path, width: int | None = None, full: bool = False) -> list[str]:
    return list(as_text(open_run(*paths), time.time(), width=width, full=full))


@pytest.mark.parametrize(("name", "width"), [("qwen3vl_grpo", 110), ("qwen3vl_lora", 110), ("qwen3vl_grpo", 80)])
def test_the_whole_text(name: str, width: int) -> None:
    golden = (EXPORTS / f"summary_{name}_{width}.expected").read_text().splitlines()
    lines = text_of(EXPORTS / name, width=width)
    assert all(len(line) <= width for line in lines[1:])
    stable = [line for line in lines[1:] if not line.startswith("  state")]  # that depends on the clock
    assert stable == golden


def test_units_of_the_logged_values(tmp_path: Path) -> None:
    """The values are as logged, and so is their unit, even if the screen converts them."""
    logged = {"perf/throughput": 1060.0, "gpu_mem_mb": 2048.0, "elapsed time per iteration (ms)": 9.0}
    rows = [{"step": step, "loss": 1 / step, **logged} for step in range(1, 20)]
    write_rows(tmp_path, rows)
    (tmp_path / "train.log").write_text("".join(f"step {n} loss: 0.5, forward: {n}ms, acc: 8%\n" for n in range(1, 20)))
    lines = text_of(tmp_path)
    [head] = [line for line in lines if line.startswith("  Training")]
    column = slice(head.index("unit"), head.index("unit") + len("tokens/s/gpu"))
    units = {line.split()[0]: line[column].strip() for line in lines[lines.index(head) + 1 :]}
    expected = {"perf/throughput": "tokens/s/gpu", "gpu_mem_mb": "MB", "elapsed": "ms", "forward": "ms", "acc": "%"}
    assert units == {"loss": "", **expected}
    assert "unit" not in "".join(text_of(EXPORTS / "qwen3vl_lora"))


@pytest.mark.parametrize("width", [80, 120, None])
@pytest.mark.parametrize("name", ["exports/qwen3vl_grpo_nan", "tensorboard", "console/grpo_nan"])
def test_tables_of_80_columns_have_the_important_columns(name: str, width: int | None) -> None:
    """Best, mean, deviation, trend and remarks are shown; columns without room are named."""
    snapshot = open_run(DATA / name)
    lines = list(as_text(snapshot, time.time(), width=width, full=True))
    heads = [line.split() for line in lines if re.match(r"  (Training|Validation) ", line)]
    assert heads
    for head in heads:
        assert head[-3:] == ["mean", "deviation", "trend"]
        assert {"last", "best"} <= set(head)
    text = "\n".join(lines)
    assert ("no room for" in text) == any("points" not in head or head.count("step") < 2 for head in heads)
    counts = [found.curve(metric).nan_count for found in snapshot.runs for metric in found.metrics]
    assert all(f"{count} NaN" in text for count in counts if count)


def test_what_is_odd_of_a_metric_stands_below_it_where_there_is_no_room_beside() -> None:
    columns = TextColumn("best", ["0.5", "0.25"], need=1), TextColumn("step", ["10", "20"], need=9)
    made = TextTable("Training", ["reward", "a/long/name/of/a/loss"], columns, remarks=["", "40 superseded"])
    wide = list(table_text(made, 80))
    assert wide[-1].split() == ["a/long/name/of/a/loss", "0.25", "20", "40", "superseded"]
    narrow = list(table_text(made, 32))
    assert [line.split() for line in narrow[-2:]] == [["a/long/name/of/a/loss", "0.25"], ["40", "superseded"]]


def logged(name: str) -> dict[str, list[tuple[int, float]]]:
    """The points of a training_log.json, by name as tuimon has them."""
    document = json.loads((EXPORTS / name / "training_log.json").read_text())
    points: dict[str, list[tuple[int, float]]] = {}
    for section in ("train_history", "val_history"):
        for row in document[section]:
            for key, value in row.items():
                if key != "step":
                    points.setdefault(f"{section}/{key}", []).append((row["step"], value))
    return points


@pytest.mark.parametrize("name", ["qwen3vl_grpo", "qwen3vl_dpo", "qwen3vl_grpo_nan", "qwen3vl_lora"])
def test_the_numbers_are_those_of_the_log(name: str) -> None:
    document = plain(summary_of(open_run(EXPORTS / name), time.time()))
    metrics: dict[str, Any] = {metric["name"]: metric for metric in document["runs"][0]["metrics"]}
    truth = logged(name)
    assert metrics.keys() == truth.keys()
    for key, points in truth.items():
        ours = metrics[key]
        finite = [value for _, value in points if math.isfinite(value)]
        assert ours["points"] == len(points)
        assert ours["nan"] == len(points) - len(finite)
        assert (ours["last_step"], ours["last"]) == points[-1]
        assert ours["mean"] == pytest.approx(statistics.fmean(finite), rel=1e-12)
        assert ours["median"] == pytest.approx(statistics.median(finite), rel=1e-12)
        if len(finite) > 1:
            assert ours["variance"] == pytest.approx(statistics.variance(finite), rel=1e-9, abs=1e-30)
            assert ours["deviation"] == pytest.approx(statistics.stdev(finite), rel=1e-9, abs=1e-30)
        if ours["best"]:
            pick = max if ours["concept"].startswith(("reward", "accuracy")) else min
            if ours["concept"].startswith(("reward", "loss")):
                assert ours["best"]["value"] == pick(finite)
    trends = {key: metrics[key]["trend"]["direction"] for key in metrics}
    if name == "qwen3vl_grpo":
        assert trends["train_history/reward"] == "rising"
        assert trends["train_history/loss"] == "falling"
        assert trends["train_history/lr"] == "flat"
        trend = metrics["train_history/reward"]["trend"]
        assert trend["change"] == pytest.approx(trend["after"] - trend["before"])


def test_the_given_directory_is_named_as_a_source() -> None:
    for name, sources in (
        ("store_purge", "1 source: store_purge (2 files)"),
        ("tensorboard/hf", "1 source: events.out.tfevents.1795224084.vm.7011.0"),
    ):
        (line,) = [line for line in text_of(DATA / name) if line.startswith("  logged ")]
        assert line.endswith(sources)


def test_several_runs_are_one_table() -> None:
    lines = text_of(EXPORTS)
    assert lines[0].split()[:4] == ["4", "runs", "state", "step"]
    rows = {line.split()[0]: line for line in lines[1:5]}
    assert sorted(rows) == ["qwen3vl_dpo", "qwen3vl_grpo", "qwen3vl_grpo_nan", "qwen3vl_lora"]
    for name, row in rows.items():
        last = next(point[1] for point in reversed(logged(name)["train_history/loss"]))
        assert any(same_number(word, f"{last:.4f}") for word in row.split())
    assert any("train_history/loss has NaN values since step 30" in line for line in lines)
    expanded = run("summary", str(EXPORTS / "*" / "training_log.json")).stdout  # a pattern that no shell expanded
    assert expanded.splitlines()[0].split()[:4] == lines[0].split()[:4]
    full = text_of(EXPORTS, full=True)
    assert full[:5] == lines[:5]
    assert sum(line.startswith("  Configuration") for line in full) == 4


def test_columns_of_equal_headings_have_the_names_of_the_metrics(tmp_path: Path) -> None:
    runs = [("Acc/train", "train/acc"), ("acc", "train/acc"), ("Acc/train", "train/acc")]
    for index, names in enumerate(runs):
        rows = [{"step": step, **dict.fromkeys(names, step / 9)} for step in range(9)]
        write_rows(tmp_path / f"r{index}", rows)
    head = next(line for line in as_text(open_run(tmp_path), 0.0) if " level" in line)
    columns = re.findall(r"(\S+) level", head)
    assert len(columns) == len(set(columns)), head


def test_a_reward_comes_first_also_if_most_runs_have_none(tmp_path: Path) -> None:
    for number in range(8):
        metrics = ("reward", "kl") if number < 3 else ("loss", "val_loss", "grad_norm", "lr")
        write_rows(tmp_path / f"run{number}", ({"step": s, **dict.fromkeys(metrics, 0.1 + s)} for s in range(9)))
    heads = [column.head for column in runs_table(open_run(tmp_path), 1.8e9).columns if column.head.endswith("level")]
    assert heads[:2] == ["reward level", "loss level"]
