"""The memory of the device that a metric is a part of, and the units that a log prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import run_of

from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.printed_units import meaning_of, seconds_of
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.store import Run

STEPS = range(30)


def test_the_size_that_is_printed_with_the_values_is_preferred() -> None:
    facts = [Fact("units", {"gpu_mem": {"unit": "GB", "whole": 40.0}})]
    run = run_of({"gpu_mem": (STEPS, [30.0] * 30), "gpu_mem_total_gb": (STEPS, [80.0] * 30)}, facts)
    device = device_memory(run, "gpu_mem")
    assert (device.logged, device.unit, device.size) == (40.0, "GB", 40.0)


@pytest.mark.parametrize(
    ("given", "metric", "expected"),
    [
        ("80 GB", "perf/max_memory_allocated_gb", (80.0, "GB", 80.0)),
        ("24GiB", "gpu_memory_used_mib", (24.0, "GiB", 24_576.0)),
        ("80 GB", "gpu_mem_used", None),
        ("80 apples", "perf/max_memory_allocated_gb", None),
    ],
)
def test_the_size_that_a_project_file_gives(
    tmp_path: Path, given: str, metric: str, expected: tuple[float, str, float] | None
) -> None:
    (tmp_path / ".tuimon.toml").write_text(f'[runs]\ngpu_memory = "{given}"\n')
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {s}, "{metric}": 9.5}}\n' for s in range(9)))
    [run] = open_run(tmp_path).runs
    device = device_memory(run, metric)
    assert (device and (device.logged, device.unit, device.size)) == expected


def run_at(path: Path) -> Run:
    [run] = open_run(path).runs
    return run


def console(rows: str, count: int = 30) -> str:
    return "".join(f"step {step}/30 loss: 0.{step + 10}, {rows}\n" for step in range(1, count + 1))


def test_printed_units_replace_those_of_the_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(console("step_time: 160ms, throughput: 1,060 img/s, gpu_mem: 2.40GB, acc: 8%"))
    run = run_at(tmp_path)
    units = {name: meaning_of(run, name).unit for name in run.metrics}
    assert units == {"loss": "1", "step_time": "ms", "throughput": "img/s", "gpu_mem": "GB", "acc": "pct"}
    assert seconds_of(run, "step_time") == 1e-3
    assert seconds_of(run, "loss") == 1.0
    assert meaning_of(run, "step_time").logged_unit == "ms"


def test_a_throughput_is_of_tokens_only_if_the_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(console("throughput: 1060"))
    assert meaning_of(run_at(tmp_path), "throughput").unit == "1"
    (tmp_path / "train.log").write_text(console("throughput: 1060, total_tokens: 5120"))
    assert meaning_of(run_at(tmp_path), "throughput").unit == "tokens/s"


def test_units_belong_to_the_source_that_prints_them(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(console("step_time: 160ms"))
    rows = "".join(f'{{"step": {step}, "loss": 0.{step + 10}, "step_time": 0.16}}\n' for step in range(1, 31))
    (tmp_path / "metrics.jsonl").write_text(rows)
    run = run_at(tmp_path)
    assert run.provenance("step_time")[0][0] != run.provenance("step_time")[-1][0]
    assert meaning_of(run, "step_time").unit == "s"
