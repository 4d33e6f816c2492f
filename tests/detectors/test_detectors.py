"""Detectors and Checker applied to stores."""

from __future__ import annotations

import math
import re

import numpy as np
from support.stores import add_run, store_of

from tuimon.detectors import Checker, Detector, Rule, all_detectors, settings_of
from tuimon.model.events import Columns

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


def test_healthy_run_has_no_alerts() -> None:
    assert check(store_of({"loss": [1.0, 0.5], "grad_norm": [1.0, 1.0]}).snapshot().runs[0]) == ()


def test_gradient_norm_that_stays_nan() -> None:
    (alert,) = Checker().check(
        store_of({"grad_norm": [1.0, 1.0, math.nan, math.nan], "loss": [1.0] * 4}).snapshot().runs[0]
    )
    assert (alert.rule, alert.severity, alert.metric, alert.step) == ("nonfinite", "critical", "grad_norm", 30)
    assert (alert.what, alert.count, alert.points) == ("nan", 2, 4)
    assert "checkpoint" in alert.hint


def test_single_infinity_is_a_warning() -> None:
    (alert,) = Checker().check(store_of({"train/loss": [1.0, math.inf, 1.0, math.nan, 1.0]}).snapshot().runs[0])
    assert alert.severity == "warning"
    assert alert.step == 20
    assert (alert.what, alert.count, alert.points) == ("some infinite", 2, 5)
    assert alert.active, "two finite values do not resolve it"
    assert alert.hint == "a bad batch or reward: look at step 20"


def test_weights_are_not_called_nan_if_finite_losses_follow() -> None:
    def hint(*values: float) -> str:
        (alert,) = Checker().check(store_of({"loss": list(values)}).snapshot().runs[0])
        assert alert.severity == "warning"
        return alert.hint

    assert hint(1.0, 0.5, math.nan, 0.0, 0.25) == "a bad batch or reward: look at step 30"
    assert hint(1.0, 0.5, math.nan, 0.0, 0.0).startswith("the weights are NaN"), "0 is logged in place of NaN"


def test_incident_is_resolved_when_values_are_finite_again() -> None:
    values = [1.0] * 4 + [math.nan, math.nan] + [1.0] * 12 + [math.inf] + [1.0] * 3
    active, resolved = Checker().check(store_of({"loss": values}).snapshot().runs[0])
    assert (active.step, active.until) == (190, None)
    assert (resolved.step, resolved.until) == (50, 60)
    assert (resolved.what, resolved.count, resolved.points) == ("some nan", 2, 22)
    assert resolved.hint == "a bad batch or reward: look at step 50"
    store = store_of({"loss": values})
    store.set_alerts((active, resolved))
    assert (store.snapshot().alerts, store.snapshot().resolved) == ((active,), (resolved,))


def test_initial_nan_of_a_reward_is_ignored() -> None:
    assert check(store_of({"rollout/ep_rew_mean": [math.nan, math.nan, 3.0, 4.0]}).snapshot().runs[0]) == ()


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
