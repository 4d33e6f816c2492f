"""The order in which the keys for the next and the previous alert visit the alerts of a run."""

from __future__ import annotations

import time

from msgspec.structs import replace
from support.made_run import run_of
from support.stores import store_of

from tuimon.analysis.run_states import since_onset
from tuimon.draw.window import Window
from tuimon.model.alerts import Alert
from tuimon.model.events import Progress, RunFound
from tuimon.panels import ChartOptions
from tuimon.store import Store
from tuimon.tui.actions import explore
from tuimon.tui.actions.alerts import alert_places, neighbour
from tuimon.tui.bars import AlertBar, _alert
from tuimon.tui.screens.health import _title, note_entries

RUN = run_of({"loss": (range(100), [1.0] * 100), "kl": (range(100), [0.1] * 100)})


def alert(step: int | None, metric: str, severity: str = "warning", run: int = RUN.id) -> Alert:
    return Alert("rule", severity, run, metric, step, f"{metric} at {step}")


def test_keys_visit_every_alert_by_step_and_metric() -> None:
    alerts = [
        alert(50, "loss"),
        alert(20, "kl", "info"),
        alert(20, "kl", "critical"),
        alert(50, "kl"),
        alert(70, "gone"),
    ]
    alerts += [alert(70, "gone"), alert(None, "loss"), alert(5, "loss", run=RUN.id + 1)]
    places = alert_places(alerts, RUN)
    assert [(place.step, place.metric, place.severity) for place in places] == [
        (20, "kl", "critical"),
        (50, "kl", "warning"),
        (50, "loss", "warning"),
        (70, "gone", "warning"),
    ]
    charts = [(20, "kl"), (50, "kl"), (50, "loss"), (70, "")]
    for place, (step, metric) in enumerate(charts):
        assert neighbour(places, RUN, step, metric, 1) == (place + 1) % 4
        assert neighbour(places, RUN, step, metric, -1) == (place - 1) % 4
    assert [neighbour(places, RUN, cursor, "", 1) for cursor in (None, 30, 99)] == [0, 1, 0]
    assert [neighbour(places, RUN, cursor, "", -1) for cursor in (None, 30, 10)] == [3, 0, 3]


def test_the_window_moves_to_a_cursor_outside_of_it() -> None:
    options = ChartOptions(window=Window(20.0, 60.0))
    assert explore.with_cursor(options, RUN, 50) == ChartOptions(window=Window(20.0, 60.0), cursor=50)
    assert explore.with_cursor(options, RUN, 30).window == Window(20.0, 40.0)
    assert explore.with_cursor(options, RUN, 98).window == Window(20.0, 99.0)
    assert explore.with_cursor(options, RUN, 3).window == Window(20.0, 20.0)
    assert explore.with_cursor(ChartOptions(), RUN, 3) == ChartOptions(cursor=3)


def test_no_alert_is_not_reported_before_all_runs_have_been_checked() -> None:
    store = Store(is_reading=True)
    store.apply(RunFound(0, "run", "/logs/run"))
    for caught_up, unchecked, title, line in (
        (False, 0, "1 run still being read", "none is known before the logs have been read"),
        (True, 1, "No active alerts so far, 1 run still to check", "no active alerts so far"),
        (True, 0, "No active alerts", "no active alerts; [[rules]] in config.toml adds your own"),
    ):
        store.apply(Progress(1, 1, caught_up))
        store.set_alerts((), unchecked)
        assert _title(store.snapshot()) == title
        rows = ["".join(text for text, _ in entry.row).strip() for entry in note_entries(store.snapshot(), None)]
        assert rows[1] == line


def test_information_is_not_called_an_alert() -> None:
    store = store_of({"loss": [1.0] * 30, "kl": [0.1] * 30})
    run = store.snapshot().runs[0]
    infos = [alert(5, name, "info", run.id) for name in ("loss", "kl")]
    for alerts, line, title in (
        (infos, " i 2 info: ", "No active alerts, 2 info"),
        ([*infos, alert(9, "kl", "warning", run.id)], " ! 1 alert: ", "1 active alert in 1 run, 2 info"),
    ):
        store.set_alerts(alerts)
        snapshot = store.snapshot()
        assert AlertBar()._content(snapshot, run)[0][0] == line
        assert _title(snapshot) == title


def test_the_line_says_how_long_ago_an_alert_began_if_there_is_room() -> None:
    begun = Alert("rule", "critical", RUN.id, "loss", 50, what="nan", count=3, points=100)
    at_onset = float(RUN.curve("loss").wall_times[50])
    assert since_onset(RUN, begun, at_onset + 250) == ", 4 m ago"
    assert since_onset(RUN, begun, at_onset + 20) == ""
    assert since_onset(RUN, replace(begun, step=None), at_onset + 250) == ""
    age = since_onset(RUN, begun, time.time())
    assert _alert([begun], 100, RUN)[1][0] == f"loss is NaN since step 50{age}; 3 of 100 points"
    assert _alert([begun], 52, RUN)[1][0].startswith("loss is NaN since step 50;")
    assert _alert([begun], 40, RUN)[1][0].startswith("since step 50: ")
