"""Detectors on real stores."""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np

from tuimon.detectors import Checker, Detector, all_detectors, check, check_all
from tuimon.model.events import Columns, MetricsFound, RunFound, StreamFound
from tuimon.store import Store


def store_of(series: dict[str, list[float]], run: int = 0) -> Store:
    """A store with one run; the points of each metric at steps 10, 20, 30 …"""
    store = Store()
    add_run(store, series, run)
    return store


def add_run(store: Store, series: dict[str, list[float]], run: int) -> None:
    store.apply(RunFound(run, f"run {run}", f"/logs/{run}"))
    store.apply(StreamFound(run, run, "log", f"/logs/{run}/log.jsonl", "jsonl", 30, "", 0))
    store.apply(MetricsFound(run, 0, tuple(series)))
    counts = np.array([len(values) for values in series.values()], np.uint32)
    steps = np.concatenate([np.arange(1, n + 1, dtype=np.int64) * 10 for n in counts.tolist()])
    values = np.array([v for values in series.values() for v in values])
    store.apply(Columns(run, np.arange(len(series), dtype=np.uint32), counts, steps, values, steps.astype(np.float64)))


def test_every_detector_keeps_to_the_protocol() -> None:
    detectors = all_detectors()
    assert "nonfinite" in {detector.id for detector in detectors}
    assert all(isinstance(detector, Detector) and detector.title for detector in detectors)
    assert len({detector.id for detector in detectors}) == len(detectors)
    for detector in detectors:
        told = inspect.getdoc(sys.modules[type(detector).__module__]) or ""
        assert "Rule" in told or "Rules" in told, detector.id
        assert "Source:" in told, detector.id


def test_nothing_is_said_of_a_healthy_run() -> None:
    assert check(store_of({"loss": [1.0, 0.5], "grad_norm": [1.0, 1.0]}).snapshot().runs[0]) == ()


def test_a_gradient_that_stays_nan() -> None:
    (alert,) = check(store_of({"grad_norm": [1.0, 1.0, math.nan, math.nan], "loss": [1.0] * 4}).snapshot().runs[0])
    assert (alert.rule, alert.severity, alert.metric, alert.step) == ("nonfinite", "critical", "grad_norm", 30)
    assert alert.message == "grad_norm is NaN since step 30 (2 NaN of 4 points)"
    assert "checkpoint" in alert.hint


def test_one_infinity_that_passed_is_a_warning_with_both_counts() -> None:
    (alert,) = check(store_of({"train/loss": [1.0, math.inf, 1.0, math.nan, 1.0]}).snapshot().runs[0])
    assert alert.severity == "warning"
    assert alert.step == 20
    assert alert.message == "train/loss was Inf first at step 20 (1 NaN, 1 Inf of 5 points)"
    assert alert.standing, "two finite values do not make it over"


def test_what_is_finite_again_is_past() -> None:
    values = [1.0] * 4 + [math.nan, math.nan] + [1.0] * 12 + [math.inf] + [1.0] * 3
    standing, past = check(store_of({"loss": values}).snapshot().runs[0])
    assert (standing.step, standing.until) == (190, None)
    assert (past.step, past.until) == (50, 60)
    assert past.message == "loss was NaN at step 50 (2 NaN of 22 points), finite again since step 70"
    store = store_of({"loss": values})
    store.set_alerts((standing, past))
    assert (store.snapshot().alerts, store.snapshot().past) == ((standing,), (past,))


def test_a_reward_that_is_not_known_yet_is_no_incident() -> None:
    assert check(store_of({"rollout/ep_rew_mean": [math.nan, math.nan, 3.0, 4.0]}).snapshot().runs[0]) == ()


def test_one_alert_a_metric_and_none_for_what_does_not_matter() -> None:
    nan = [math.nan]
    series = {"loss": nan, "reward": nan, "_runtime": nan, "__swanlab__.cpu.pct": nan, "epoch": nan, "my/number": nan}
    alerts = check(store_of(series).snapshot().runs[0])
    assert sorted(alert.metric for alert in alerts) == ["loss", "reward"]


def test_the_gravest_of_all_runs_come_first() -> None:
    store = store_of({"loss": [math.nan, 1.0]})
    add_run(store, {"loss": [1.0, math.nan]}, 1)
    alerts = check_all(store.snapshot())
    assert [(alert.run, alert.severity) for alert in alerts] == [(1, "critical"), (0, "warning")]
    store.set_alerts(alerts)
    assert store.snapshot().alerts == alerts


def test_an_alert_follows_its_run() -> None:
    store = store_of({"loss": [1.0, 1.0]})
    assert check_all(store.snapshot()) == ()
    step, value = np.array([30], np.int64), np.array([math.nan])
    store.apply(Columns(0, np.array([0], np.uint32), np.array([1], np.uint32), step, value, np.array([30.0])))
    assert [alert.step for alert in check_all(store.snapshot())] == [30]


def test_many_runs_are_looked_at_in_turns_and_what_was_found_stands() -> None:
    store = store_of({"loss": [math.nan] * 2})
    for run in (1, 2):
        add_run(store, {"loss": [math.nan] * (2 + run)}, run)  # each grew later than the one before
    checker, snapshot = Checker(), store.snapshot()
    found = [checker.check_within(snapshot, 1e9, 0.0) for _ in range(3)]
    assert [sorted(alert.run for alert in alerts) for alerts, _ in found] == [[2], [1, 2], [0, 1, 2]]
    assert [whole for _, whole in found] == [False, False, True]
    assert found[-1][0] == Checker().check_all(snapshot, 1e9)

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


def test_a_run_that_grows_all_the_time_keeps_no_other_from_its_turn() -> None:
    store = store_of({"loss": [1.0] * 3})
    for run in (1, 2):
        add_run(store, {"loss": [1.0] * 3}, run)
    checker = Checker()
    while not checker.check_within(store.snapshot(), 1e9, 0.0)[1]:
        pass
    for turn in range(3):  # all three have grown again before each look, and there is time for one
        for run in range(3):
            step = np.array([50 + turn], np.int64)
            nan = np.array([math.nan])
            wall = np.array([1e3 + run])
            store.apply(Columns(run, np.array([0], np.uint32), np.array([1], np.uint32), step, nan, wall))
        alerts, whole = checker.check_within(store.snapshot(), 1e9, 0.0)
        assert not whole
        assert len({alert.run for alert in alerts}) == turn + 1
