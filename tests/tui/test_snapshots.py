"""Compare whole screens with pictures that were checked by eye. After `pytest tests/tui/test_snapshots.py
--snapshot-update` look at the new pictures. Texts and values are tested elsewhere."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from support.dashboard import text
from textual.pilot import Pilot

from tuimon.config import Settings
from tuimon.monitor.process import ReaderProcess
from tuimon.tui.app import TuimonApp

Compare = Callable[..., bool]
START = 1_795_000_000.0
STEPS = 60
PHASES = {"generate": 40.0, "old_log_probs": 9.0, "ref_log_probs": 8.0, "train_step": 30.0, "model_update": 4.0}


def row(step: int, seed: int) -> dict[str, float]:
    """Return metrics that are computed by formulas."""
    wave, slow = math.sin(step * (1.1 + seed)), 1 - math.exp(-step / 25)
    values = {
        "critic/score/mean": 0.9 * slow + 0.04 * wave - 0.05 * seed,
        "actor/total_loss": 0.05 * wave * (1 - 0.5 * slow),
        "actor/kl_loss": 0.02 * step**0.5 + 0.004 * wave,
        "critic/entropy/mean": 2.4 - 1.3 * slow,
        "actor/grad_norm": 0.5 + 0.2 * abs(wave) + (3.0 if step == 40 else 0.0),
        "tokens/response_length/mean": 320 + 90 * slow + 12 * wave,
        "actor/lr": 1e-6 * min(1.0, step / 10),
    }
    values |= {f"time/step_{name}": took * (1 + 0.1 * wave + 0.4 * slow) for name, took in PHASES.items()}
    for device in range(4):
        for operation, base in (("train_step", 0.62), ("generate", 0.41), ("compute_log_probs", 0.2)):
            for kind, part in (("max_reserved_frac", 1.0), ("max_allocated_frac", 0.9)):
                name = f"memory/{operation}/end/onload/{kind}/{device}"
                values[name] = (base + 0.03 * device + 0.02 * slow) * part
    return values


def write(directory: Path, seed: int) -> None:
    directory.mkdir(parents=True)
    log = directory / "metrics.jsonl"
    lines = [
        json.dumps({"step": step, "timestamp": START + 97 * step, **row(step, seed)}) for step in range(1, STEPS + 1)
    ]
    log.write_text("\n".join(lines) + "\n")
    console = directory / "train.log"
    console.write_text(f"pipeline step {STEPS} finished\npipeline complete!\n")
    for path in (log, console):  # long ago: nothing grows, and no machine is looked at
        os.utime(path, (START + 97 * STEPS,) * 2)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed in range(3):
        write(tmp_path / "sweep" / f"seed{seed}", seed)
    return tmp_path / "sweep"


async def settle(pilot: Pilot[None], app: TuimonApp) -> None:
    """Wait until the boxes are drawn and the screen stays the same for half a second."""
    shown, calm = "", 0
    while calm < 10:
        await pilot.pause(0.05)
        before, shown = shown, text(app)
        calm = 0 if app.board.drawing or shown != before else calm + 1


@pytest.fixture
def shown(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Path, tuple[int, int], Sequence[str], str], bool]]:
    monitors = []
    monkeypatch.setattr(time, "time", lambda: START + 97 * STEPS + 31.0)

    def compare(path: Path, size: tuple[int, int], keys: Sequence[str] = (), theme: str = "dark") -> bool:
        monitor = ReaderProcess([str(path)], interval=0.2)
        monitor.start()
        monitors.append(monitor)
        app = TuimonApp(monitor, Settings(theme=theme, symbols="braille"), views=None)

        async def ready(pilot: Pilot[None]) -> None:
            while not (app.snapshot.progress and app.snapshot.progress.caught_up):
                await pilot.pause(0.05)
            await settle(pilot, app)
            for key in keys:
                await pilot.press(key)
                await settle(pilot, app)

        return snap_compare(app, terminal_size=size, run_before=ready)

    yield compare
    for monitor in monitors:
        monitor.close()


@pytest.mark.parametrize(
    ("size", "theme"), [((80, 24), "dark"), ((120, 40), "dark"), ((200, 50), "ansi")], ids=["80", "120", "200"]
)
def test_the_dashboard(runs: Path, shown: Compare, size: tuple[int, int], theme: str) -> None:
    assert shown(runs / "seed0", size, (), theme)


def test_a_zoomed_chart_with_its_cursor(runs: Path, shown: Compare) -> None:
    assert shown(runs / "seed0", (100, 30), ("enter", "}", "c", "<"))


def test_the_list_of_runs(runs: Path, shown: Compare) -> None:
    assert shown(runs, (100, 16), ("r",))
