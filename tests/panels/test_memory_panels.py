"""GPU memory: stages of an operation, peak over the run, amounts of a device."""

from __future__ import annotations

import numpy as np
import pytest
from support.made_run import START, panel_of, run_of

from tuimon.draw import render
from tuimon.model.points import Fact
from tuimon.model.views import HEAT_ROLES, ChartView, HeatView, Role, Size, Symbols
from tuimon.panels import arrange
from tuimon.store import Run

CARD = 80.0


def view_of(run: Run, id: str, width: int = 120) -> HeatView | ChartView:
    panel = panel_of(id)
    assert panel.relevant(run)
    return panel.view(run, Size(width, 20), START, Symbols.BRAILLE)


def filling(count: int, slope: float, noise: float = 0.004, start: float = 0.6) -> np.ndarray:
    random = np.random.default_rng(11)
    return start + slope * np.arange(count) + random.normal(0, noise, count)


def of_devices(values: dict[int, np.ndarray], facts: tuple[Fact, ...] = ()) -> Run:
    count = len(next(iter(values.values())))
    return run_of(
        {
            f"memory/actor_train/train_step/end/onload/max_reserved_frac/{device}": (range(count), one.tolist())
            for device, one in values.items()
        },
        facts,
    )


# ---------------------------------------------------------------- moments


def moments(
    device: int, infix: str, numbers: dict[str, tuple[float, float, float]]
) -> dict[str, tuple[range, list[float]]]:
    """numbers: moment -> (allocated, reserved, peak of both) in GiB."""
    series = {}
    for moment, (allocated, reserved, peak) in numbers.items():
        for kind, value in (
            ("allocated", allocated),
            ("reserved", reserved),
            ("max_allocated", peak),
            ("max_reserved", peak),
        ):
            series[f"memory/{infix}/{moment}/{kind}/{device}"] = (range(3), [value] * 3)
    for kind in ("allocated", "reserved"):
        peak = numbers["end/onload"][2] / CARD
        series[f"memory/{infix}/end/onload/max_{kind}_frac/{device}"] = (range(3), [peak] * 3)
    return series


TRAIN = {
    "start/offload": (1.0, 2.0, 1.0),
    "start/onload": (30.0, 31.0, 30.0),
    "end/onload": (32.0, 60.0, 64.0),
    "end/offload": (1.5, 3.0, 64.0),
}
ROLLOUT = {moment: tuple(number / 2 for number in numbers) for moment, numbers in TRAIN.items()}


def test_the_timeline_has_fractions_of_the_fullest_device() -> None:
    series = moments(0, "actor_infer/generate", ROLLOUT) | moments(1, "actor_infer/generate", ROLLOUT)
    series |= moments(0, "actor_train/train_step", ROLLOUT) | moments(1, "actor_train/train_step", TRAIN)
    view = view_of(run_of(series), "gpu_moments")
    assert view.rows == ("actor_infer.generate", "actor_train.train_step")
    assert view.columns == ("before", "loaded", "peak", "done", "left")
    np.testing.assert_allclose(view.cells[1], np.array([2, 31, 64, 60, 3]) / CARD)
    np.testing.assert_allclose(view.second[1], np.array([1, 30, 64, 32, 1.5]) / CARD)
    np.testing.assert_allclose(view.cells[0], np.array([2, 31, 64, 60, 3]) / CARD / 2)
    assert view.peak == (1, 2)
    assert view.headline[0] == ("64 GiB", Role.VALUE)
    assert "80 GiB" in view.note


def test_without_fractions_values_are_relative_to_the_maximum() -> None:
    series = {name: points for name, points in moments(0, "train_step", TRAIN).items() if not name.endswith("_frac/0")}
    view = view_of(run_of(series), "gpu_moments")
    np.testing.assert_allclose(view.cells[0], np.array([2, 31, 64, 60, 3]) / 64)
    assert "64 GiB" in view.note


# ---------------------------------------------------------------- the peak over the run


def test_the_peak_is_a_line_for_the_fullest_device_of_each_phase() -> None:
    series = {
        f"memory/{phase}/end/onload/max_reserved_frac/{device}": (range(30), [base + 0.01 * device] * 30)
        for base, phase in ((0.3, "actor_infer/generate"), (0.6, "actor_train/train_step"))
        for device in range(8)
    }
    view = view_of(run_of(series), "gpu_peak")
    assert [line.label for line in view.lines] == ["actor_train.train_step 7", "actor_infer.generate 7"]
    assert [np.nanmax(line.envelope.high) for line in view.lines] == pytest.approx([0.67, 0.37])
    verl = view_of(run_of({"perf/max_memory_reserved_gb": (range(30), [70.0] * 30)}), "gpu_peak")
    assert [line.label for line in verl.lines] == ["whole step"]


@pytest.mark.parametrize("width", [39, 120])
def test_phases_have_their_logged_names_at_every_width(width: int) -> None:
    phases = ("actor_infer/generate", "actor_train/train_step")
    kinds = ("max_reserved_frac", "reserved")
    series = {f"memory/{p}/end/onload/{k}/{d}": (range(30), [0.5] * 30) for p in phases for k in kinds for d in (0, 1)}
    series |= {name.replace("/end/", "/start/"): values for name, values in series.items()}
    for panel in ("gpu_memory", "gpu_moments"):
        view = view_of(run_of(series), panel, width)
        assert view.rows == ("actor_infer.generate", "actor_train.train_step")
    headline = view_of(run_of(series), "gpu_memory", width).headline
    assert " in actor_infer.generate" in "".join(text for text, _ in headline)


@pytest.mark.parametrize("names", [["memory(GiB)"], ["perf/max_memory_allocated_gb", "perf/max_memory_reserved_gb"]])
def test_the_panel_asks_for_the_rows_that_it_fills(names: list[str]) -> None:
    steps = range(10)
    run = run_of({name: (steps, [62.0] * 10) for name in ["loss", *names]})
    panel = next(panel for panel in arrange(run) if panel.id == "gpu_memory")
    view = panel.view(run, Size(120, 20), START, Symbols.BRAILLE)
    rows = render(view, Size(120, 20), Symbols.BRAILLE)
    filled = sum(bool("".join(text for text, _ in row).strip()) for row in rows)
    assert filled <= panel.rows <= filled + 2
    roles = {role for row in view.rows for text, role in row if "62" in text}
    assert roles <= set(HEAT_ROLES[:3]), "the highest value is not shown like a full device"


def test_the_panel_of_many_devices_keeps_its_rows() -> None:
    devices = of_devices({device: filling(20, 0.0) for device in range(8)})
    panel = next(panel for panel in arrange(devices) if panel.id == "gpu_memory")
    assert 6 <= panel.rows <= 12


# ---------------------------------------------------------------- amounts of a device with a known size


def amounts_of(run: Run) -> tuple[str, list[str], str]:
    """Return headline, rows and note of the panel."""
    panel = next(panel for panel in arrange(run) if panel.id == "gpu_memory")
    view = panel.view(run, Size(120, 20), START, Symbols.BRAILLE)
    rows = [" ".join("".join(text for text, _ in row).split()) for row in view.rows]
    return "".join(text for text, _ in view.headline), rows, view.note


def test_amounts_beside_the_size_of_the_device() -> None:
    """The size has no chart of its own."""
    used = [40 + 0.06 * step for step in range(401)]
    run = run_of({"loss": (range(401), used), "gpu/memory_allocated_gb": (range(401), used),
                  "gpu/memory_total_gb": ([0], [80])})  # fmt: skip
    assert amounts_of(run) == (
        "64 of 80 GB allocated, 80 %",
        ["allocated 64 GB 80 % " + "█" * 32],
        "",
    )
    panels = arrange(run)
    assert not any("total" in name for panel in panels for name in getattr(panel, "metrics", ()))
    assert [panel.title for panel in panels if panel.id in ("gpu_memory", "gpu_peak")] == [
        "GPU memory", "GPU memory allocated"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("gpu_memory_allocated_gb", "GPU memory allocated"),
        ("gpu_memory_reserved_gb", "GPU memory reserved"),
        ("gpu_memory_used_gb", "GPU memory in use"),
        ("perf/max_memory_reserved_gb", "GPU memory peak"),
        ("mem_gb", "memory in use"),
        ("peak_mem", "memory peak"),
    ],
)
def test_the_chart_is_titled_by_what_it_draws(name: str, title: str) -> None:
    assert view_of(run_of({name: (range(30), [20.0] * 30)}), "gpu_peak").title == title


def test_amounts_in_another_unit_than_the_size() -> None:
    steps = range(30)
    run = run_of({"loss": (steps, [0.5] * 30), "gpu_memory_used_mib": (steps, [61_440.0] * 30),
                  "gpu_memory_total_gib": (steps, [80.0] * 30)})  # fmt: skip
    assert amounts_of(run)[:2] == ("61440 MiB of 80 GiB in use, 75 %", ["in use 61440 MiB 75 % " + "█" * 30])


def test_a_size_for_several_devices() -> None:
    steps = range(30)
    series = {f"gpu{device}_mem_used_gb": (steps, [20.0 + device] * 30) for device in range(4)}
    run = run_of({"loss": (steps, [0.5] * 30), **series, "gpu_mem_total_gb": (steps, [24.0] * 30)})
    parts = {device: (20 + device) / 24 for device in range(4)}
    full = [f"in use {device} {20 + device} GB {part:.0%} ".replace("%", " %") + "█" * round(part * 40)
            for device, part in parts.items()]  # fmt: skip
    assert amounts_of(run)[:2] == ("23 of 24 GB in use, 96 %", full)


def test_a_metric_per_device_is_a_row_with_a_bar_and_no_chart_of_its_own() -> None:
    steps = range(30)
    series = {f"perf/gpu{device}/max_memory_allocated_gb": (steps, [40.0 + device] * 30) for device in range(8)}
    run = run_of({"loss": (steps, [0.5] * 30), **series})
    assert not {panel.id for panel in arrange(run)} & set(series)
    panel = next(panel for panel in arrange(run) if panel.id == "gpu_memory")
    assert panel.rows == 11
    view = panel.view(run, Size(39, 8), START, Symbols.BRAILLE)
    rows = ["".join(text for text, _ in row) for row in view.rows]
    numbers = [["max", "allocated", str(device), str(40 + device)] for device in (3, 4, 5, 6, 7)]
    assert [row.split()[:4] for row in rows] == [*numbers, ["+3", "more"]]
    assert rows[4].count("█") > rows[0].count("█") > 5


def test_memory_without_a_unit_or_a_device_is_drawn_but_not_compared_with_a_device() -> None:
    """It may be that of a replay."""
    steps = range(30)
    run = run_of({"loss": (steps, [0.5] * 30), "memory": (steps, [5000.0] * 30)})
    assert [panel.title for panel in arrange(run) if panel.id in ("gpu_memory", "gpu_peak")] == ["memory in use"]
