"""The memory of the device that a metric of memory is a part of, from the sizes in the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import run_of

from tuimon.analysis.device_memory import device_memory
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run

STEPS = range(30)


@pytest.mark.parametrize(
    ("metric", "used", "sizes", "size"),
    [
        ("gpu/memory_allocated_gb", 64.0, {"gpu/memory_total_gb": 80.0}, 80.0),
        ("gpu_mem_used", 61.0, {"gpu_mem_total": 80.0}, 80.0),
        ("system/gpu.0.memory_used", 61.0, {"system/gpu.0.memory_total": 80.0}, 80.0),
        ("vram_gb", 9.8, {"vram_total_gb": 15.9}, 15.9),
        ("memory", 61.0, {"memory/capacity": 80.0}, 80.0),
        ("gpu_memory_mb", 61_000.0, {"gpu_memory_total_gb": 80.0}, 80_000.0),
        ("gpu_memory_used_mib", 61_440.0, {"gpu_memory_total_gib": 80.0}, 81_920.0),
        ("gpu_memory_used_gib", 60.0, {"gpu_mem_total_bytes": 80.0 * 1024**3}, 80.0),
        ("gpu_memory_used_bytes", 6e10, {"gpu_memory_total_gb": 80.0}, 8e10),
        ("memory.used [MiB]", 6150.0, {"memory.total [MiB]": 81_559.0}, 81_559.0),
        ("gpu1_mem_used_gb", 20.0, {"gpu0_mem_total_gb": 80.0, "gpu1_mem_total_gb": 24.0}, 24.0),
        ("gpu1_mem_used_gb", 20.0, {"gpu_mem_total_gb": 24.0}, 24.0),
        ("perf/max_memory_allocated_gb", 20.0, {"gpu0_mem_total_gb": 24.0, "gpu1_mem_total_gb": 24.0}, 24.0),
        ("perf/max_memory_allocated_gb", 20.0, {"gpu0_mem_total_gb": 80.0, "gpu1_mem_total_gb": 24.0}, None),
        ("gpu_memory_used_gb", 61.0, {"gpu_mem_total": 80.0}, None),
        ("gpu_memory_used_gb", 61.0, {"gpu_mem_total_gb": 24.0}, None),
        ("gpu_memory_used_gb", 61.0, {"gpu_mem_total_gb": 0.0}, None),
        ("mem_gb", 61.0, {"mem_total_gb": 80.0}, 80.0),
        ("mem_gb", 61.0, {"gpu_mem_total_gb": 80.0}, None),
        ("perf/cpu_memory_used_gb", 61.0, {"gpu_mem_total_gb": 80.0}, None),
        ("loss", 0.5, {"gpu_mem_total": 80.0}, None),
    ],
)
def test_the_memory_of_a_device(metric: str, used: float, sizes: dict[str, float], size: float | None) -> None:
    """The sizes are logged only once, at the beginning."""
    run = run_of({metric: (STEPS, [used] * 30), **{name: ([0], [value]) for name, value in sizes.items()}})
    device = device_memory(run, metric)
    assert (device and device.size) == (size and pytest.approx(size))
    assert device is None or device.logged in sizes.values()


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
