"""Actions that go from alert to alert of the run that is shown."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui.action import TuimonApp


def alert_places(alerts: Sequence[Alert], run: Run) -> list[Alert]:
    """Return the alerts of a run in the order of their steps: of several on one metric at one step, the most severe."""
    places: dict[tuple[int, str], Alert] = {}
    for alert in sorted(alerts, key=lambda alert: -SEVERITIES.index(alert.severity)):
        if alert.run == run.id and alert.step is not None:
            places.setdefault((alert.step, _chart_of(alert, run)), alert)
    return [places[place] for place in sorted(places)]


def neighbour(places: Sequence[Alert], run: Run, cursor: int | None, metric: str, by: int) -> int:
    """Return the position of the next alert (by = 1) or the previous one (by = -1); after the last comes the first.

    cursor: step of the cursor, or None. metric: metric of the chart that is shown alone, "" without one.
    """
    current = [(alert.step, _chart_of(alert, run)) for alert in places]
    if cursor is not None and (cursor, metric) in current:
        return (current.index((cursor, metric)) + by) % len(places)
    steps = [step for step, _ in current if step is not None]
    if by > 0:
        return next((i for i, step in enumerate(steps) if cursor is None or step > cursor), 0)
    return next((i for i in reversed(range(len(steps))) if cursor is None or steps[i] < cursor), len(steps) - 1)


def _chart_of(alert: Alert, run: Run) -> str:
    """Return the metric whose chart an alert opens; "" for an alert about the run."""
    return alert.metric if alert.metric in run.metrics else ""


def go(app: TuimonApp, by: int) -> None:
    """Show the chart of the next alert (by = 1) or the previous one (-1), with the cursor at its step."""
    run, chosen = app.run_shown, app.state.chosen
    places = [] if run is None else alert_places((*app.snapshot.alerts, *app.snapshot.resolved), run)
    if run is None or not places:
        app.say("No alert of this run has a step; a lists all")
        return
    metric = chosen[0] if len(chosen) == 1 and app.board.zoomed else ""
    place = neighbour(places, run, app.state.options.cursor, metric, by)
    alert = places[place]
    app.show_alert(alert)
    state = "" if alert.active else "resolved: "
    app.say(f"Alert {place + 1} of {len(places)}: {state}{clean(alert.message)}")
