"""Detectors and Checker applied to stores."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from support.stores import add_run, store_of

from tuimon.detectors import Checker, Detector, Rule, all_detectors, settings_of
from tuimon.errors import UsageError
from tuimon.model.events import Columns, FactFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.store import Store

check, check_all = Checker().check, Checker().check_all


def test_every_detector_implements_the_protocol() -> None:
    detectors = all_detectors()
    assert "nonfinite" in {detector.id for detector in detectors}
    assert all(isinstance(detector, Detector) and detector.title for detector in detectors)
    assert len({detector.id for detector in detectors}) == len(detectors)


def test_the_sentences_of_a_rule_name_settings_that_it_has() -> None:
    for rule in all_detectors():
        assert isinstance(rule, Rule)
        named = set(re.findall(r"`(\w+)`", rule.text))
        assert named <= settings_of(rule).keys(), rule.id
        assert 1 <= len(re.findall(r"[.](?: |$)", rule.text)) <= 3, rule.id


def test_two_incidents_of_a_curve() -> None:
    store = store_of({"loss": [1.0] * 4 + [math.nan] * 2 + [1.0] * 12 + [math.inf] + [1.0] * 3})
    active, resolved = check(store.snapshot().runs[0])
    assert [(own.step, own.until) for own in (active, resolved)] == [(190, None), (50, 60)]
    store.set_alerts((active, resolved))
    assert (store.snapshot().alerts, store.snapshot().resolved) == ((active,), (resolved,))


def test_one_alert_per_metric_of_the_checked_panels() -> None:
    nan = [math.nan]
    series = {"loss": nan, "reward": nan, "_runtime": nan, "__swanlab__.cpu.pct": nan, "epoch": nan, "my/number": nan}
    alerts = Checker().check(store_of(series).snapshot().runs[0])
    assert sorted(alert.metric for alert in alerts) == ["loss", "reward"]


def test_most_severe_alerts_of_all_runs_come_first() -> None:
    store = store_of({"loss": [math.nan, 1.0]})
    add_run(store, {"loss": [1.0, math.nan]}, 1)
    alerts = Checker().check_all(store.snapshot())
    assert [(alert.run, alert.severity) for alert in alerts] == [(1, "critical"), (0, "warning")]
    store.set_alerts(alerts)
    assert store.snapshot().alerts == alerts


def test_alert_is_raised_when_the_run_grows() -> None:
    store = store_of({"loss": [1.0, 1.0]})
    assert check_all(store.snapshot()) == ()
    step, value = np.array([30], np.int64), np.array([math.nan])
    store.apply(Columns(0, np.array([0], np.uint32), np.array([1], np.uint32), step, value, np.array([30.0])))
    assert [alert.step for alert in check_all(store.snapshot())] == [30]


def test_many_runs_are_checked_in_turn_and_results_are_kept() -> None:
    store = store_of({"loss": [math.nan] * 2})
    for run in (1, 2):
        add_run(store, {"loss": [math.nan] * (2 + run)}, run)  # each grew later than the one before
    checker, snapshot = Checker(), store.snapshot()
    results, unchecked = [], []
    for _ in range(3):
        results.append(checker.check_within(snapshot, 1e9, 0.0))
        unchecked.append(checker.unchecked(snapshot))
    assert unchecked == [2, 1, 0]
    assert [sorted(alert.run for alert in alerts) for alerts, _ in results] == [[2], [1, 2], [0, 1, 2]]
    assert [whole for _, whole in results] == [False, False, True]
    assert results[-1][0] == Checker().check_all(snapshot, 1e9)

    steps = np.array([50, 60], np.int64)
    for run in (0, 1):
        values = np.array([1.0, 2.0])
        store.apply(
            Columns(run, np.array([0], np.uint32), np.array([2], np.uint32), steps, values, steps.astype(float))
        )
    alerts, whole = checker.check_within(store.snapshot(), 1e9, 0.0)
    assert not whole
    assert {alert.run: alert.severity for alert in alerts} == {
        0: "critical",
        1: "warning",
        2: "critical",
    }  # 1 waited longer
    alerts, whole = checker.check_within(store.snapshot(), 1e9 + 1, 9.0)
    assert whole
    assert alerts == Checker().check_all(store.snapshot(), 1e9)


def test_growing_run_does_not_delay_other_runs() -> None:
    store = store_of({"loss": [1.0] * 3})
    for run in (1, 2):
        add_run(store, {"loss": [1.0] * 3}, run)
    checker = Checker()
    while not checker.check_within(store.snapshot(), 1e9, 0.0)[1]:
        pass
    for turn in range(3):  # all three grow before each check, which has time for one
        for run in range(3):
            step = np.array([50 + turn], np.int64)
            nan = np.array([math.nan])
            wall = np.array([1e3 + run])
            store.apply(Columns(run, np.array([0], np.uint32), np.array([1], np.uint32), step, nan, wall))
        alerts, whole = checker.check_within(store.snapshot(), 1e9, 0.0)
        assert not whole
        assert len({alert.run for alert in alerts}) == turn + 1


def test_steps_that_take_twice_as_long_are_an_alert_of_a_threshold() -> None:
    """docs/alerts.md gives this as an example."""
    checker = Checker({"step_drift": {"ratio": 2.0}})
    for factor, expected in ((1.7, set()), (2.2, {"step_drift"})):
        run = store_of({"timing_s/step": [10.0] * 80 + [factor * 10.0] * 40}).snapshot().runs[0]
        assert {alert.rule for alert in checker.check(run) if alert.severity != "info"} == expected


def test_stall_depends_on_the_clock() -> None:
    store = store_of({"loss": [1.0 - 0.01 * n for n in range(30)]})  # a point each 10 s
    store.apply(FactFound(0, Fact("config", {"max_steps": 900})))
    run = store.snapshot().runs[0]
    checker = Checker()
    assert checker.check(run) == ()
    assert checker.check(run, 300.0 + 60.0) == ()
    (alert,) = checker.check(run, 300.0 + 600.0)
    assert (alert.rule, alert.severity, alert.step) == ("liveness", "warning", 300)
    assert re.fullmatch(r"silent: last point 10 m ago, usually every 10 s\b.*", alert.message)
    (alert,) = checker.check(run, 300.0 + 90_000.0)
    assert (alert.severity, alert.message.partition(":")[0]) == ("info", "ended early")


def test_crash_in_a_log() -> None:
    store = store_of({"loss": [1.0] * 30})
    store.apply(FactFound(0, Fact("state", {"state": "crashed", "evidence": "CUDA out of memory"})))
    (alert,) = check(store.snapshot().runs[0], 400.0)
    assert (alert.severity, alert.message) == ("critical", "crashed: CUDA out of memory; last point 1 m ago")


def test_thresholds_are_set_and_detectors_disabled() -> None:
    run = store_of({"actor/pg_clipfrac": [0.1] * 40 + [0.6] * 40}).snapshot().runs[0]
    assert Checker({"clip_fraction": False}).check(run) == ()
    assert Checker({"clip_fraction": {"limit": 1}}).check(run) == ()
    assert len(Checker({"clip_fraction": {"limit": 0.55, "points": 3}}).check(run)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nonsense": True}, "no detector 'nonsense'"),
        ({"clip_fraction": {"depth": 3}}, "no threshold 'depth'"),
        ({"clip_fraction": {"limit": "much"}}, "must be a finite number"),
        ({"clip_fraction": {"points": 0}}, "must be a whole number of at least 1"),
        ({"clip_fraction": {"limit": math.nan}}, "must be a finite number"),
        ({"clip_fraction": 3}, "must be true, false or a table"),
        ({"clip_fraction": {"id": "other"}}, "no threshold 'id'"),
    ],
)
def test_invalid_options_are_reported(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Checker(options)


def test_empty_run() -> None:
    store = Store()
    store.apply(RunFound(1, "empty", "/empty"))
    store.apply(StreamFound(7, 1, "log", "/empty/log", "jsonl", 30, "", 0))
    assert [check(run, 1e9) for run in store.snapshot().runs] == [()]
