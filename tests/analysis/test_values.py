"""Words, groups, sizes and totals: see support.value_cases for the words of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.made_run import run_of
from support.stores import Log
from support.value_cases import values_of

from tuimon.analysis import comparing
from tuimon.analysis.alert_words import message_of
from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.alerts import Alert, Change

START = 1.7e9
test_values = values_of(globals())


def message_with(fields: dict[str, Any]) -> str:
    """Return the message of an alert with these fields and others, such as kl at step 36."""
    given = {"metric": "kl", "step": 36} | fields
    given["related"] = tuple(Change(**change) for change in given.get("related", ()))
    return message_of(Alert("rule", "warning", 0, **given))


def seed_groups(runs: list[tuple[str, dict[str, Any]]]) -> tuple[tuple[int, ...], ...]:
    """Return the groups of runs with these names and settings."""
    return comparing.seed_groups([comparing.seedless(name, config) for name, config in runs])


def device_size(metric: str, used: float, sizes: dict[str, float]) -> float | None:
    """Return the memory of the device of a metric. The sizes are logged only once, at the beginning."""
    run = run_of({metric: (range(30), [used] * 30), **{name: ([0], [value]) for name, value in sizes.items()}})
    device = device_memory(run, metric)
    assert device is None or device.logged in sizes.values()
    return device and device.size


def total_of(config: dict[str, Any]) -> int | None:
    steps = np.arange(1, 31)
    log = Log().stream(0, "wandb", 50).add(0, steps, 0.5, START + 5.0 * steps).fact(0, "config", config)
    progress = progress_of(log.run, START + 151)
    assert (progress.step, progress.state) == (30, "running")
    return progress.total
