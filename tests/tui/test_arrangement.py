"""Panels of the board for a view state."""

from __future__ import annotations

from dataclasses import replace

from support.made_run import store_of

from tuimon.model.views import Symbols
from tuimon.tui.arrangement import panels_of
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.state import ViewState


def test_the_validation_of_a_result_has_a_chart_while_runs_are_overlaid() -> None:
    steps = range(20)
    metrics = {name: (steps, [0.1 * step for step in steps]) for name in ("loss", "eval_loss", "lr")}
    run = store_of(metrics).snapshot().runs[0]
    alone = ViewState(Symbols.BRAILLE, "dark")
    ids = [panel.id for panel in panels_of(run, alone)]
    assert "metric:eval_loss" not in ids, "the chart of the loss draws it"
    overlaid = [panel.id for panel in panels_of(run, replace(alone, runs=RunChoice(marked=("/logs/other",))))]
    assert overlaid[overlaid.index("loss") + 1] == "metric:eval_loss"
    assert [panel.id for panel in panels_of(run, replace(alone, runs=RunChoice(marked=("/x",), over=False)))] == ids
