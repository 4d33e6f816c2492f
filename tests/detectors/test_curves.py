"""Rules on the curves of curves.toml, with the fields of their alerts, and on curves in several kinds of logs."""

from __future__ import annotations

import re
import tomllib
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_run import run_of

from tuimon.detectors import Checker, _engine
from tuimon.model.alerts import Alert
from tuimon.model.points import Fact, Floats
from tuimon.monitor.local import open_run

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("curves.toml").read_text("utf-8"))["case"]
NONE: Mapping[str, int] = {}
_PART = re.compile(r"(\S+)(?: (>>?) (\S+))? x(\d+)")
_POINT = re.compile(r"@(\d+)=(\S+)")


def curve(text: str, noise: float = 0.0, scatter: float = 0.0, random: np.random.Generator | None = None) -> Floats:
    """Return the points of a text such as "0.5 x200, 0.5 > 2 x60 @120=4"."""
    parts = []
    for begin, way, end, count in _PART.findall(text):
        made = np.geomspace if way == ">>" else np.linspace
        parts.append(made(float(begin), float(end), int(count)) if way else np.full(int(count), float(begin)))
    values = np.concatenate(parts)
    random = random or np.random.default_rng(1)
    values = values * (1 + noise * random.standard_normal(len(values))) + scatter * random.standard_normal(len(values))
    for row, value in _POINT.findall(text):
        values[int(row)] = float(value)
    return np.asarray(values)


def alerts_of(
    curves: Mapping[str, Floats], every: Mapping[str, int] = NONE, facts: Sequence[Fact] = ()
) -> tuple[Alert, ...]:
    steps = {name: np.arange(len(values)) * every.get(name, 1) for name, values in curves.items()}
    return Checker().check(run_of({name: (steps[name].tolist(), own.tolist()) for name, own in curves.items()}, facts))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_curve(case: dict[str, Any]) -> None:
    random, every = np.random.default_rng(1), case.get("every", {})
    curves = {
        name: curve(text, case.get("noise", 0.0), case.get("scatter", 0.0), random)
        for name, text in case["curves"].items()
    }
    facts = [Fact("progress", {"total": case["total"]})] if "total" in case else []
    found = alerts_of(curves, every, facts)
    absent = case.get("absent", [])
    assert not [alert for alert in found if alert.severity != "info" and (alert.rule in absent or absent == ["*"])]
    if "incidents" in case:
        rule = case.get("rule") or case["alert"]["rule"]
        assert sorted(alert.step or 0 for alert in found if alert.rule == rule) == case["incidents"]
    if "alert" in case:
        wanted: dict[str, Any] = {"until": None, **case["alert"]}
        of_rule = [own for own in found if own.rule == wanted["rule"]]
        [alert] = of_rule if len(of_rule) == 1 else (own for own in of_rule if own.severity != "info")
        values = curves[alert.metric][alert.step or 0 :] if alert.metric not in every else curves[alert.metric]
        for field, value in wanted.items():
            assert_field(field, getattr(alert, field), value, values)
        assert all(getattr(alert, field) is None for field in case.get("unset", ()))
        if "raised" in case:
            counts = case["raised"], case["raised"] + 1
            parts = [{name: values[:count] for name, values in curves.items()} for count in counts]
            seen = [any(own.rule == alert.rule for own in alerts_of(part, every)) for part in parts]
            assert seen == [False, True]
        if case.get("back"):
            again = {name: np.concatenate((values, values[:60])) for name, values in curves.items()}
            [over] = (own for own in alerts_of(again, every) if own.rule == wanted["rule"])
            assert (over.key, over.value) == (alert.key, alert.value)
            last = len(curves[alert.metric]) - 1
            assert over.until is not None
            assert last <= over.until <= last + 4, "a median of nine points is back four points later"


def assert_field(field: str, actual: Any, wanted: Any, values: Floats) -> None:
    """Compare a field of an alert with that of a case; values: points of its metric since its step."""
    if field == "related":
        assert {change.metric: change.what for change in actual} == wanted
    elif field == "hint":
        assert wanted in actual
    elif isinstance(wanted, list):
        assert wanted[0] <= actual <= wanted[1], (field, actual)
    elif wanted in ("last", "max", "min"):
        assert actual == {"last": values[-1], "max": np.nanmax(values), "min": np.nanmin(values)}[wanted], field
    elif isinstance(wanted, int | float):
        assert actual == pytest.approx(wanted), field
    else:
        assert actual == wanted, field


def test_kl_that_jumps_grows_and_passes_the_limit_is_one_incident() -> None:
    kl = curve("0.01 x600, 0.12 x60, 0.12 >> 20 x300", noise=0.02)
    found = [alerts_of({"kl": kl[:end]}) for end in range(620, len(kl) + 1, 20)]
    assert len({alert.key for alerts in found for alert in alerts if alert.rule == "kl_runaway"}) == 1


def test_many_points_are_examined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = curve("0.5 x700, 1.5 x300 @120=4", noise=0.02)
    whole = alerts_of({"loss": loss, "grad_norm": loss[::-1]})
    assert whole
    monkeypatch.setattr(_engine, "_AT_ONCE", 50)
    assert alerts_of({"loss": loss, "grad_norm": loss[::-1]}) == whole
    monkeypatch.undo()
    tracemalloc.start()
    alerts_of({"loss": curve("0.5 x300000", noise=0.02)})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 << 20


@pytest.mark.parametrize(
    ("name", "factor", "unit"),
    [
        ("gpu_memory_allocated_gb", 1, "GB"),
        ("perf/max_memory_allocated_gb", 1, "GB"),
        ("train/gpu_mem_gb", 1, "GB"),
        ("gpu_mem_mb", 1024, "MB"),
        ("memory/max_mem_active(GiB)", 1, "GiB"),
        ("memory/max_active(GiB)", 1, "GiB"),
        ("memory(GiB)", 1, "GiB"),
        ("system/gpu.0.memoryAllocated", 1, "% of the device"),
        ("perf/cpu_memory_used_gb", 1, "GB"),
        ("gpu_mem", 1, ""),
        ("VRAM", 1, ""),
        ("system/peak GPU memory", 1, ""),
        ("max_memory_allocated", 1, ""),
    ],
)
def test_memory_leak_that_begins_late(name: str, factor: int, unit: str) -> None:
    held = factor * curve("18 x150, 18 > 30.5 x250", scatter=0.05)
    [alert] = alerts_of({name: held})
    assert alert.step is not None
    assert abs(alert.step - 150) <= 8
    logged = "grows", held[alert.step], held[-1], unit
    assert (alert.what, alert.usual, alert.value, alert.unit) == logged


@pytest.mark.parametrize(
    ("printed", "name", "unit"),
    [
        ("VRAM {:.1f}/32.0GB", "VRAM", "GB"),
        ("gpu_mem: {:.1f}GB", "gpu_mem", "GB"),
        ("mem {:.2f} GiB", "mem", "GiB"),
        ("max mem: {:.0f}MiB", "max mem", "MiB"),
        ("memory: {:.1f}", "memory", None),
        ("memory: {:.1f}%", "memory", None),
    ],
)
def test_memory_leak_with_the_unit_that_a_script_prints(
    printed: str, name: str, unit: str | None, tmp_path: Path
) -> None:
    held = curve("18 x151, 18.05 > 30.45 x249")
    rows = [f"step {row + 1} loss: 0.5 {printed.format(value)} lr: 1e-4\n" for row, value in enumerate(held)]
    (tmp_path / "train.log").write_text("".join(rows))
    [run] = open_run(tmp_path).runs
    assert name in run.metrics
    alerts = [alert for alert in Checker().check(run) if alert.rule == "memory_creep"]
    if unit is None:
        assert alerts == []
    else:
        [alert] = alerts
        assert (alert.metric, alert.what, alert.unit) == (name, "grows", unit)
        assert (alert.reached_in is not None) == ("/32.0GB" in printed)
        if alert.reached_in is not None:
            assert 30 <= alert.reached_in <= 39, "32 GB are full 32 steps after 30.45 GB"
