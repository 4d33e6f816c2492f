"""Duration of phases: the timers of each framework, drifts and history."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_run import START, panel_of, runs_of, view_of

from tuimon import draw
from tuimon.model.views import Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import (
    ChartOptions,
    metric_panel,
    overlay_lines,
    with_run_name,
)
from tuimon.panels.phases import read_timers


def test_phases_whose_console_prints_milliseconds(tmp_path: Path) -> None:
    parts = "loss: 0.5, time/rollout: 120ms, time/train: 80ms, step_time: 200ms"
    (tmp_path / "train.log").write_text("".join(f"step {step}/30 {parts}\n" for step in range(1, 31)))
    [run] = open_run(tmp_path).runs
    timers = read_timers(run)
    _, readings = timers
    shown = {r.timer.metric: (r.now, *r.usual) for r in readings}
    assert shown["time/rollout"] == pytest.approx((0.12, 0.12, 0.12))
    assert shown["time/train"] == pytest.approx((0.08, 0.08, 0.08))
    assert 0.12 <= view_of(run, "phase_history", Size(60, 14)).y.high < 0.2


# ---------------------------------------------------------------- in an overlay


@pytest.mark.parametrize("id", ["phase_latency", "phase_history", "cpu_memory"])
def test_a_panel_of_one_run_in_an_overlay_has_the_name_and_colour_of_the_run(id: str) -> None:
    series = {
        "timing_s/gen": (range(9), [1.0] * 9),
        "timing_s/ref": (range(9), [1.0] * 9),
        "memory/cpu/actor_train/train_step/rss": (range(9), [3.0] * 9),
    }
    first, second = runs_of(series, series)
    panel = panel_of(id)
    options = ChartOptions(overlay=overlay_lines((first, second), (), False))
    line = options.overlay[1]
    for width in (120, 40):
        plain = panel.view(second, Size(width, 14), START, Symbols.BRAILLE, options)
        view = with_run_name(plain, panel, second, width, options)
        title = draw.render(view, Size(width, 14), Symbols.BRAILLE)[0]
        assert (f"{line.marker} {line.label}", line.role) in title
        assert with_run_name(plain, panel, second, width, ChartOptions()) is plain


def test_a_chart_of_all_runs_does_not_name_one() -> None:
    first, second = runs_of({"loss": (range(9), [1.0] * 9)}, {"loss": (range(9), [1.0] * 9)})
    options = ChartOptions(overlay=overlay_lines((first, second), (), False))
    panel = metric_panel("loss")
    view = panel.view(first, Size(80, 14), START, Symbols.BRAILLE, options)
    assert with_run_name(view, panel, first, 80, options) is view
