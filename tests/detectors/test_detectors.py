"""Detectors and Checker applied to stores."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
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


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("name", "values", "severity", "step", "until", "what", "count", "hint"),
    [
        ("grad_norm", [1, 1, NAN, NAN], "critical", 30, None, "nan", 2, "an earlier checkpoint"),
        ("train/loss", [1, INF, 1, NAN, 1], "warning", 20, None, "some infinite", 2, "look at step 20"),
        ("loss", [1, 0.5, NAN, 0, 0.25], "warning", 30, None, "some nan", 1, "look at step 30"),
        ("loss", [1, 0.5, NAN, 0, 0], "warning", 30, None, "some nan", 1, "the weights are NaN"),
        ("loss", [1] * 4 + [NAN, NAN] + [1] * 12, "warning", 50, 60, "some nan", 2, "look at step 50"),
        ("loss", [NAN, 1], "warning", 10, None, "some nan", 1, "look at step 10"),
    ],
    ids=["stays", "two finite values do not resolve it", "0 between", "0 in place of NaN", "over", "at the start"],
)
def test_values_that_are_not_finite(
    name: str, values: list[float], severity: str, step: int, until: int | None, what: str, count: int, hint: str
) -> None:
    (alert,) = check(store_of({name: values, "reward": [1.0] * len(values)}).snapshot().runs[0])
    assert (alert.rule, alert.metric, alert.points) == ("nonfinite", name, len(values))
    assert (alert.severity, alert.step, alert.until, alert.what, alert.count) == (severity, step, until, what, count)
    assert hint in alert.hint


@pytest.mark.parametrize(
    "series", [{"loss": [1.0, 0.5], "grad_norm": [1, 1]}, {"rollout/ep_rew_mean": [NAN, NAN, 3, 4]}]
)
def test_healthy_runs_and_rewards_before_the_first_episode_ends(series: dict[str, list[float]]) -> None:
    assert check(store_of(series).snapshot().runs[0]) == ()


def test_two_incidents_of_a_curve() -> None:
    store = store_of({"loss": [1.0] * 4 + [NAN, NAN] + [1.0] * 12 + [INF] + [1.0] * 3})
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
