"""Which panels the board has, and in what order: the dashboard, all metrics, those of a filter, those of a list."""

from __future__ import annotations

from tuimon.panels import Panel, arrange, metric_panel, metric_panel_of
from tuimon.store import Run
from tuimon.tui.filtering import matching
from tuimon.tui.sections import ordered, sectioned
from tuimon.tui.state import ViewState


def panels_of(run: Run | None, state: ViewState) -> tuple[Panel, ...]:
    """As a person wants them."""
    if run is None:
        return ()
    if state.query:
        return tuple(metric_panel(name) for name in matching(ordered(run.metrics, state.order), state.query))
    if state.chosen:
        return tuple(metric_panel(name) for name in state.chosen)
    if state.all_metrics:
        return sectioned(run.metrics, state.order, state.folded, state.turned)
    return _pinned_first(arrange(run), run, state.look.pins)


def _pinned_first(panels: tuple[Panel, ...], run: Run, pins: tuple[str, ...]) -> tuple[Panel, ...]:
    """Pinned panels in the order in which they were pinned; a pinned metric that has no panel here gets one."""
    known = {panel.id: panel for panel in panels}
    pinned = [known.get(id) or metric_panel_of(id, run) for id in pins]
    first = tuple(panel for panel in pinned if panel is not None)
    return (*first, *(panel for panel in panels if panel not in first)) if first else panels
