"""The state of the machine: samples of this one, conversion of NVML's readings, transport, panel and alerts."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec import to_builtins
from msgspec.structs import replace
from support.made_run import START, store_of

from tuimon import draw, wire
from tuimon.detectors import Checker
from tuimon.errors import WireError
from tuimon.model.events import MachineSeen
from tuimon.model.machine import Disk, Gpu, GpuProcess, Machine
from tuimon.model.views import Role, Size, Symbols, TextView
from tuimon.monitor.local import LocalMonitor
from tuimon.panels import all_panels
from tuimon.probes import Probe
from tuimon.probes.nvml import Nvml, gpu_of
from tuimon.reader.machine import MachineWatch, is_similar
from tuimon.store import Run

GIB = 1 << 30
READ: dict[str, Any] = {
    "index": 3,
    "name": b"NVIDIA H100 80GB HBM3",
    "used": 77_309_411_328,
    "total": 85_899_345_920,
    "percent": 97,
    "milliwatts": 612_345,
    "celsius": 61,
    "processes": [(4711, 70_000_000_000), (4712, None), (4713, 1_000_000_000)],
}
"""Readings as NVML returns them."""
CHANGES = {"memory_used": 60 * GIB, "utilisation": 0.5, "watts": None, "celsius": 80.0, "processes": ()}


# ---------------------------------------------------------------- probes


def test_this_machine_as_reported_by_its_own_tools(tmp_path: Path) -> None:
    probe = Probe()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # one core of it at work
        pass
    seen = probe.sample([str(tmp_path), str(tmp_path / "not there")])
    assert seen.cores == os.cpu_count()
    assert seen.cpu is not None
    assert 0 < seen.cpu <= 1
    assert seen.memory_total == psutil.virtual_memory().total
    assert seen.memory_used == pytest.approx(psutil.virtual_memory().used, rel=0.5, abs=GIB)
    assert [disk.path for disk in seen.disks] == [str(tmp_path)]
    usage = shutil.disk_usage(tmp_path)
    assert seen.disks[0].total == usage.total
    assert 0 <= seen.disks[0].free <= usage.total
    assert abs(seen.time - time.time()) < 60
    remote = probe.sample([str(tmp_path)], local=False)
    assert (remote.cpu, remote.memory_used, remote.gpus) == (None, None, ())
    assert len(remote.disks) == 1


def test_gpus_equal_those_of_the_driver() -> None:
    """As many GPUs as NVIDIA's driver lists; none, without an error, if there is no driver."""
    listed = Path("/proc/driver/nvidia/gpus")
    assert len(Nvml().gpus()) == (len(list(listed.iterdir())) if listed.is_dir() else 0)


def test_readings_of_nvml_are_converted_to_plain_numbers() -> None:
    gpu = gpu_of(READ, {4711: "python"}.get)
    assert (gpu.index, gpu.name, gpu.memory_total) == (3, "NVIDIA H100 80GB HBM3", 80 * GIB)
    assert gpu.memory_used == 72 * GIB
    assert (gpu.utilisation, gpu.watts, gpu.celsius) == pytest.approx((0.97, 612.345, 61.0))
    assert [(process.pid, process.name) for process in gpu.processes] == [(4711, "python"), (4713, None), (4712, None)]
    silent = {**READ, "percent": None, "milliwatts": None, "celsius": None, "processes": []}
    bare = gpu_of(silent, str)
    assert (bare.utilisation, bare.watts, bare.celsius, bare.processes) == (None, None, None, ())


def test_noise_is_not_a_change() -> None:
    """Small noise of the counters is neither sent nor drawn."""
    idle = machine()
    gpu = idle.gpus[0]
    noise = replace(gpu, memory_used=gpu.memory_used + 2**20, utilisation=0.93, watts=618.0, celsius=63.0)
    assert is_similar(replace(idle, time=START + 200, cpu=0.38, gpus=(noise,)), idle)
    assert is_similar(None, None)
    busier = [
        replace(idle, cpu=0.6),
        replace(idle, memory_used=300 * GIB),
        replace(idle, disks=(Disk("/logs", 1000 * GIB, 3500 * GIB),)),
        replace(idle, gpus=()),
        *(replace(idle, gpus=(replace(gpu, **{name: value}),)) for name, value in CHANGES.items()),
        None,
    ]
    assert not any(is_similar(other, idle) or is_similar(idle, other) for other in busier)


# ---------------------------------------------------------------- through the pipe


def machine(**changes: Any) -> Machine:
    gpu = Gpu(0, "NVIDIA H100 80GB HBM3", 71 * GIB, 80 * GIB, 0.95, 610.0, 62.0, (GpuProcess(7, "python", None),))
    seen = Machine(START + 100, 0.35, 64, 212 * GIB, 503 * GIB, (Disk("/logs", 1200 * GIB, 3500 * GIB),), (gpu,))
    return replace(seen, **changes)


def test_a_machine_survives_encoding() -> None:
    for seen in (machine(), machine(cpu=None, memory_used=None, gpus=(), disks=()), None):
        (event,) = wire.FrameDecoder().feed(wire.encode(MachineSeen(seen)))
        assert event == MachineSeen(seen)


@pytest.mark.parametrize("broken", [{}, {"time": "x"}, {"disks": 3}, {"gpus": [{"index": 0}]}, {"cpu": []}])
def test_invalid_machines_are_rejected(broken: dict[str, Any]) -> None:
    values = to_builtins(machine()) | broken if broken else broken
    with pytest.raises(WireError):
        wire.decode(json.dumps({"kind": "machine", "machine": values}).encode(), b"")


def test_the_machine_is_sampled_while_a_log_grows(tmp_path: Path) -> None:
    newest = [time.time()]
    others = set(threading.enumerate())  # of tests before this one
    watch = MachineWatch([str(tmp_path)], lambda: newest[0], every=0.05)
    try:
        event = None
        end = time.monotonic() + 60
        while event is None and time.monotonic() < end:
            event = watch.poll()
            time.sleep(0.02)
        assert event is not None
        assert event.machine is not None
        assert event.machine.disk_of(str(tmp_path / "run")) == event.machine.disks[0]
        newest[0] = time.time() - 7200
        gone = None
        while gone is None or gone.machine is not None:
            assert time.monotonic() < end
            gone = watch.poll() or gone
            time.sleep(0.02)
    finally:
        watch.close()
    for thread in set(threading.enumerate()) - others:
        thread.join(timeout=60)
        assert not thread.is_alive()
    old = MachineWatch([str(tmp_path)], lambda: time.time() - 7200, every=0.01)
    assert old.poll() is None
    assert set(threading.enumerate()) <= others


# ---------------------------------------------------------------- the panel

PANEL = next(panel for panel in all_panels() if panel.id == "machine")


def run_on(seen: Machine | None) -> Run:
    store = store_of({"loss": (range(100), [1.0] * 100)})
    before = store.version
    store.apply(MachineSeen(seen))
    assert store.version > before
    return store.snapshot().runs[0]


def rows(run: Run, width: int = 120, height: int = 10) -> list[str]:
    view = PANEL.view(run, Size(width, height), START, Symbols.BRAILLE)
    assert isinstance(view, TextView)
    return ["".join(text for text, _ in row).rstrip() for row in view.rows]


def test_the_panel_lists_each_gpu_and_the_host() -> None:
    gpu, host = rows(run_on(machine()))
    assert gpu == "0  █████████░  71.0/80.0 GiB  95 %  610 W  62 °C  python 7"
    assert host == "CPU 35 % of 64  RAM 212/503 GiB  disk 1.2 TiB of 3.4 TiB left"
    narrow, _ = rows(run_on(machine()), 40)
    assert narrow == "0  █████████░  71.0/80.0 GiB  95 %", "what is to the right gives way"
    view = PANEL.view(run_on(machine()), Size(80, 9), START, Symbols.BRAILLE)
    assert "".join(text for text, _ in view.headline) == "95 % busy  H100 80GB HBM3"


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ([{"utilisation": load} for load in (0.97, 0.0, 0.95, 0.99)], ["0 %"]),
        ([{"utilisation": 0.0}] * 4, []),  # none works: nothing is odd
        ([{"celsius": 90.0}], ["90 °C", "2.0 GiB of 3.4 TiB left"]),
    ],
)
def test_what_is_odd_is_highlighted(changes: list[dict[str, float]], warned: list[str]) -> None:
    gpus = tuple(replace(machine().gpus[0], index=index, **change) for index, change in enumerate(changes))
    free = 2 if len(gpus) == 1 else 1200
    run = run_on(machine(gpus=gpus, disks=(Disk("/logs", free * GIB, 3500 * GIB),)))
    view = PANEL.view(run, Size(120, 10), START, Symbols.BRAILLE)
    assert isinstance(view, TextView)
    assert [text.strip() for row in view.rows for text, role in row if role is Role.WARNING] == warned


def test_a_change_of_the_machine_keeps_the_run_object() -> None:
    """So that nothing derived from its logs is computed again."""
    store = store_of({"loss": (range(100), [1.0] * 100)})
    before = store.snapshot().runs[0]
    store.apply(MachineSeen(machine()))
    after = store.snapshot().runs[0]
    assert after is before
    assert after.machine == machine()


@pytest.mark.parametrize(
    ("seen", "shown"),
    [
        (machine(), True),
        (None, False),
        (machine(gpus=()), False),
        (machine(gpus=(), disks=(Disk("/logs", 2 * GIB, 3500 * GIB),)), True),
        (machine(gpus=(), disks=(Disk("/other", 2 * GIB, 3500 * GIB),)), False),
        (machine(gpus=(), disks=(Disk("/logs", 100 * GIB, 3500 * GIB),)), False),
        (machine(gpus=(), memory_used=500 * GIB), True),
        (machine(time=START + 10**6), False),
    ],
    ids=["GPUs", "unseen", "all well", "disk full", "another disk", "3 % of much", "memory short", "the run is over"],
)
def test_the_panel_is_shown_if_it_has_content(seen: Machine | None, shown: bool) -> None:
    assert PANEL.relevant(run_on(seen)) == shown


def test_a_full_disk_raises_an_alert_while_it_is_full() -> None:
    def alerts(free: int) -> list[str]:
        run = run_on(machine(gpus=(), disks=(Disk("/logs", free, 3500 * GIB),)))
        return [alert.message for alert in Checker().check(run, START + 100) if alert.rule == "disk_full"]

    assert alerts(3 * GIB) == ["3.0 GiB (0.1 %) are left on the disk of the run"]
    assert alerts(100 * GIB) == []
    ended = run_on(machine(disks=(Disk("/logs", 3 * GIB, 3500 * GIB),)))
    assert not any(alert.rule == "disk_full" for alert in Checker().check(ended, START + 10**6))
    assert not any(alert.rule == "disk_full" for alert in Checker().check(run_on(None), START + 100))


def test_commands_examine_the_disk_of_a_log_that_grows(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(f'{{"step": {step}, "time": {time.time()}, "loss": 1.5}}\n' for step in range(10)))
    always = Checker({"disk_full": {"part": 2.0, "gibibytes": 1e12}})
    monitor = LocalMonitor([tmp_path], always)
    assert monitor.update()
    assert "disk_full" in [alert.rule for alert in monitor.snapshot().alerts]
    os.utime(log, (START, START))
    ended = LocalMonitor([tmp_path], always)
    ended.update()
    assert "disk_full" not in [alert.rule for alert in ended.snapshot().alerts]


@pytest.mark.parametrize("gpus", [0, 1, 8, 16])
@pytest.mark.parametrize("size", [Size(1, 1), Size(20, 4), Size(60, 8), Size(200, 50)])
def test_at_any_size(gpus: int, size: Size) -> None:
    odd = Gpu(0, "\x1b[2JX" * 9, 0, 0, None, None, None, (GpuProcess(1, "名" * 40, None),))
    many = tuple(replace(odd, index=index) for index in range(gpus))
    run = run_on(machine(gpus=many))
    for symbols in Symbols:
        drawn = draw.render(PANEL.view(run, size, START, symbols), size, symbols)
        assert len(drawn) == size.height
        assert "\x1b" not in str(drawn)
    if gpus == 16 and size.height == 8:
        assert rows(run, 60, 8)[-2] == "+11 more"
