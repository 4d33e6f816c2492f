"""System metrics are found by words for what their names abbreviate."""

from __future__ import annotations

import pytest

from tuimon.analysis.metric_filter import matching

NAMES = (
    *("__swanlab__.gpu.0.pct", "__swanlab__.gpu.0.mem.pct", "__swanlab__.gpu.0.temp", "__swanlab__.gpu.0.power"),
    *("__swanlab__.cpu.pct", "system.gpu.0.gpu", "system.gpu.0.memoryAllocated", "system.gpu.0.temp", "train/loss"),
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("gpu util", ["__swanlab__.gpu.0.pct", "system.gpu.0.gpu"]),
        ("utilisation", ["__swanlab__.gpu.0.pct", "__swanlab__.cpu.pct", "system.gpu.0.gpu"]),
        ("temperature", ["__swanlab__.gpu.0.temp", "system.gpu.0.temp"]),
        ("swanlab gpu power", ["__swanlab__.gpu.0.power"]),
        ("gpu percent", ["__swanlab__.gpu.0.pct", "__swanlab__.gpu.0.mem.pct"]),
    ],
)
def test_words_find_system_metrics(query: str, found: list[str]) -> None:
    assert matching(NAMES, query) == found
