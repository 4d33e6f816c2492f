"""The panel of system metrics that trackers store over time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.made_run import START, panel_of, run_of, store_of, text

from tuimon.analysis.system_metrics import system_metrics
from tuimon.draw.ascii import ascii_text
from tuimon.exports.summary_text import facts_of
from tuimon.model.points import Fact
from tuimon.model.views import Role, Size, Symbols
from tuimon.panels import arrange, unshown_metrics
from tuimon.store import Run
from tuimon.text import cell_width, local_time

COUNT = 120
PANEL = panel_of("system_metrics")
SINCE = local_time(START + 600, "%H:%M")
Names = Callable[[int, str], str]

WANDB = {"util": "gpu", "temp": "temp", "power": "powerWatts", "memory": "memoryAllocated", "clock": "smClock"}
SWANLAB = {"util": "ptc", "temp": "temp", "power": "power", "memory": "mem.ptc"}
TRACKIO = {"util": "utilization", "temp": "temp", "power": "power", "clock": "sm_clock", "throttle": "throttle_thermal"}
MLFLOW = {"util": "utilization_percentage", "power": "power_usage_watts", "memory": "memory_usage_percentage"}
TRACKERS: dict[str, tuple[str, dict[str, str], str]] = {
    "wandb": ("system/gpu.{}.{}", WANDB, "system/cpu"),
    "swanlab": ("__swanlab__.gpu.{}.{}", SWANLAB, "__swanlab__.cpu.pct"),
    "trackio": ("gpu/{}/{}", TRACKIO, "cpu/utilization"),
    "mlflow": ("system/gpu_{}_{}", MLFLOW, "system/cpu_utilization_percentage"),
}
BUSY = {"util": 93.0, "temp": 64.0, "power": 412.0, "memory": 71.0, "clock": 1980.0, "throttle": 0.0}


def node(tracker: str, changes: dict[int, dict[str, float]] | None = None, gpus: int = 4) -> Run:
    """Return a run of a tracker with GPUs; `changes` replaces the values of the second half of some."""
    pattern, kinds, cpu = TRACKERS[tracker]
    steps = list(range(0, COUNT * 10, 10))
    series = {cpu: (steps, [37.0] * COUNT), "train/loss": ([0, 1, 2], [3.0, 2.0, 1.0])}
    for gpu in range(gpus):
        for kind, name in kinds.items():
            half = [BUSY[kind]] * (COUNT // 2)
            changed = (changes or {}).get(gpu, {}).get(kind, BUSY[kind])
            series[pattern.format(gpu, name)] = (steps, half + [changed] * (COUNT - len(half)))
    system = {name: {"system": True} for name in series if name != "train/loss"}
    if tracker == "mlflow":
        return run_of(series, [Fact("writer", {"name": "mlflow"})])
    return run_of(series, [Fact("metrics", system)])


def drawn(run: Run, width: int = 120, height: int = 14, symbols: Symbols = Symbols.BRAILLE) -> list[str]:
    assert PANEL.relevant(run)
    view = PANEL.view(run, Size(width, height), START, symbols)
    rows = [text(row) for row in view.rows]
    assert all(cell_width(row) <= width for row in rows) or width < 38, rows  # the renderer cuts them
    assert len(rows) + 1 <= height or height < 4
    return rows


def row_of(rows: list[str], device: str) -> str:
    return next(row for row in rows if row.startswith(device + " "))


@pytest.mark.parametrize("tracker", TRACKERS)
def test_every_tracker_gives_a_strip_for_each_device(tracker: str) -> None:
    run = node(tracker, {2: {"util": 0.0}})
    rows = drawn(run)
    assert rows[0] == f"gpu 2 idle since {SINCE}"
    assert row_of(rows, "gpu 1").count("█") > 60
    idle = row_of(rows, "gpu 2")
    assert idle.count("█") == pytest.approx(idle.count("▁"), abs=1)
    assert " idle" in idle
    assert "93 %" in row_of(rows, "gpu 3")
    assert "37 %" in row_of(rows, "CPU")
    assert all(text in row_of(rows, "gpu 3") for text in ("412 W", *(["64°C"] if tracker != "mlflow" else [])))
    assert unshown_metrics(run) == ()  # no chart of their own


@pytest.mark.parametrize(
    ("tracker", "change", "words"),
    [
        ("wandb", {"temp": 91.0}, f"gpu 1 hot since {SINCE}"),
        ("wandb", {"clock": 1200.0}, f"gpu 1 slow since {SINCE}"),
        ("trackio", {"throttle": 1.0}, f"gpu 1 throttled since {SINCE}"),
        ("swanlab", {"temp": 86.0}, f"gpu 1 hot since {SINCE}"),
    ],
)
def test_the_throttling_gpu_stands_out_and_the_idle_one_is_counted(
    tracker: str, change: dict[str, float], words: str
) -> None:
    run = node(tracker, {1: change, 3: {"util": 1.0}})
    view = PANEL.view(run, Size(100, 14), START, Symbols.BRAILLE)
    assert view.rows[0][0] == (words, Role.CRITICAL)
    assert f"; gpu 3 idle since {SINCE}" in text(view.rows[0])
    assert PANEL.view(node(tracker), Size(100, 14), START, Symbols.BRAILLE).rows[0][0][1] is Role.MUTED  # the axis


def test_summary_names_the_gpus_that_stand_out() -> None:
    facts = dict(facts_of(node("wandb", {1: {"util": 0.0}, 3: {"temp": 91.0}}), START))
    assert facts["GPUs"] == f"gpu 3 hot since {SINCE}; gpu 1 idle since {SINCE}"
    many = {3: {"temp": 91.0}, **{gpu: {"util": 0.0} for gpu in range(3)}}
    facts = dict(facts_of(node("wandb", many, gpus=8), START))
    named = [f"gpu {state} since {SINCE}" for state in ("3 hot", "0 idle", "1 idle")]
    assert facts["GPUs"] == "; ".join([*named, "1 more"])
    assert "GPUs" not in dict(facts_of(node("wandb"), START))


def test_gpus_that_are_all_idle_or_waited_briefly_are_no_finding() -> None:
    rows = drawn(node("wandb", {gpu: {"util": 0.0} for gpu in range(4)}))
    assert not any(" idle" in row for row in rows)


def test_metrics_that_the_training_logs_below_system_are_not_those_of_a_tracker() -> None:
    series = {name: ([0, 1, 2], [0.1, 0.2, 0.3]) for name in ("system/tps", "system/gpu_0_utilization_percentage", "r")}
    run = run_of(series)
    assert system_metrics(run) == frozenset()
    assert not PANEL.relevant(run)
    assert "system/gpu_0_utilization_percentage" in unshown_metrics(run)


@pytest.mark.parametrize("size", [(38, 8), (78, 20), (20, 3), (1, 1), (0, 0)])
def test_narrow_panels_keep_the_devices_that_stand_out(size: tuple[int, int]) -> None:
    width, height = size
    rows = drawn(node("wandb", {13: {"util": 0.0}, 12: {"temp": 91.0}}, gpus=16), width, height, Symbols.ASCII)
    if width >= 38:
        assert " idle" in row_of(rows, "gpu 13")
        assert all(ascii_text(row).isascii() for row in rows)
        assert row_of(rows, "gpu 0").count("█") >= 12


def test_devices_without_room_are_counted_at_every_height() -> None:
    run = node("wandb", {1: {"util": 0.0}}, gpus=16)
    for height in range(3, 26):
        view = PANEL.view(run, Size(80, height), START, Symbols.BRAILLE)
        shown = [text(row) for row in view.rows]
        assert len(shown) < height
        devices = sum(row.startswith(("gpu ", "CPU ")) for row in shown) - 1  # without the sentence
        counted = [int(word[1:]) for word in f"{shown[-1]} {text(view.headline)}".split() if word.startswith("+")]
        assert devices + sum(counted) == 17, height
    fitted = PANEL.fitted(run).rows  # type: ignore[attr-defined]
    rows = [text(row) for row in PANEL.view(run, Size(80, fitted), START, Symbols.BRAILLE).rows]  # type: ignore[union-attr]
    assert row_of(rows, "CPU")


def test_counters_become_rates_and_begin_again_after_a_restart() -> None:
    steps = list(range(0, 100, 10))
    counted = [value * 1e6 for value in (0, 20, 40, 60, 0, 20, 40, 60, 80, 100)]
    series = {"system/network.recv": (steps, counted), "system/network.sent": (steps, [0.0] * 10)}
    run = run_of(series, [Fact("metrics", {name: {"system": True} for name in series})])
    rows = drawn(run)
    assert "█ 1.9 MiB/s" in row_of(rows, "net in")
    assert arrange(run)[-1].id == "system_metrics"  # without a GPU after everything else


def test_a_value_of_two_nodes_is_not_mixed() -> None:
    steps = list(range(0, 100, 10))
    series = {f"system/gpu.0.gpu/l:{name}": (steps, [load] * 10) for name, load in (("a", 90.0), ("b", 10.0))}
    rows = drawn(run_of(series, [Fact("metrics", {name: {"system": True} for name in series})]))
    assert "90 %" in row_of(rows, "a gpu 0")
    assert "10 %" in row_of(rows, "b gpu 0")


def test_times_of_a_minute_have_seconds() -> None:
    names = ["system/cpu", "system/memory_percent"]
    for seconds, length in ((1.0, 8), (60.0, 5)):
        store = store_of(
            {name: (range(20), [50.0] * 20) for name in names},
            [Fact("metrics", {name: {"system": True} for name in names})],
            seconds,
        )
        axis = drawn(store.snapshot().runs[0])[0].split()
        assert [len(time) for time in axis] == [length, length]
        assert axis[0] != axis[1]


@pytest.mark.parametrize(
    ("bits", "reason"),
    [(0x20, "thermal"), (0x41, "thermal"), (0x80, "power brake"), (0x8, "hardware"), (0x4, ""), (0x1, "")],
)
def test_reasons_for_a_lower_clock(bits: int, reason: str) -> None:
    """The power limit and an idle GPU lower the clock in normal operation."""
    steps = range(0, 600, 10)
    series = {
        f"system/gpu.{gpu}.{what}": (steps, [before] * 20 + [after if gpu == 1 else before] * 40)
        for gpu in range(3)
        for what, before, after in (("utilization.gpu", 97.0, 97.0), ("clocks_event_reasons.active", 0.0, float(bits)))
    }
    training = {"loss": (range(600), [1.0] * 600)}
    run = run_of({**series, **training}, [Fact("metrics", {name: {"system": True} for name in series})])
    sentence = text(PANEL.view(run, Size(100, 14), START, Symbols.BRAILLE).rows[0])
    since = local_time(START + 200, "%H:%M")
    assert sentence == f"gpu 1 throttled since {since} (step 200)" if reason else "throttled" not in sentence


def test_high_utilisation_is_no_alarm() -> None:
    view = PANEL.view(node("wandb"), Size(100, 14), START, Symbols.BRAILLE)
    assert {role for row in view.rows for _, role in row} <= {Role.MUTED, Role.SERIES_0, Role.VALUE, Role.TEXT}
