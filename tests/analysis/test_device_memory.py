"""The memory of the device that a metric of memory is a part of, from the sizes in the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import run_of

from tuimon.analysis.device_memory import device_memory
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run

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
