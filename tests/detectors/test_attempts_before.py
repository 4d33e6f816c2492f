"""Alerts about points that a restart has superseded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tuimon.detectors import Checker
from tuimon.exports.line import line
from tuimon.model.alerts import Alert
from tuimon.model.events import Columns, MetricsFound, RunFound, SegmentStarted, StreamFound
from tuimon.model.views import Role
from tuimon.store import Run, Store
from tuimon.tui.bars import AlertBar


def run_of(*attempts: tuple[int, Sequence[float]]) -> Run:
    """Build a run from (first step, rewards) of each attempt."""
    return store_of(*attempts).snapshot().runs[0]


def store_of(*attempts: tuple[int, Sequence[float]]) -> Store:
    store = Store()
    store.apply(RunFound(0, "run", "/logs/0"))
    store.apply(StreamFound(0, 0, "log", "/logs/0/log.jsonl", "jsonl", 30, "", 0))
    store.apply(MetricsFound(0, 0, ("reward",)))
    for number, (first, values) in enumerate(attempts):
        if number:
            store.apply(SegmentStarted(0, None, False))
        steps = np.arange(first, first + len(values))
        counts = np.array([len(values)], np.uint32)
        times = 1e9 + 1000.0 * number + steps
        store.apply(Columns(0, np.zeros(1, np.uint32), counts, steps, np.array(values), times))
    return store


def rewards(count: int, collapse: int | None = None) -> list[float]:
    values = 0.6 * (1 + 0.05 * np.random.default_rng(count).standard_normal(count))
    if collapse is not None:
        values[collapse:] = 0.02
    return values.tolist()


COLLAPSED = (1, rewards(110, 79))  # from step 80 on


@pytest.mark.parametrize(
    ("later", "last"),
    [
        ([(51, rewards(100))], 110),
        ([(105, [0.02] * 30), (70, rewards(100))], 134),
        ([(51, rewards(10)), (40, rewards(100))], None),  # the attempt before the last one was healthy
        ([(111, rewards(40))], None),  # nothing is superseded
    ],
)
def test_an_incident_of_the_attempt_before_the_last_restart_is_a_resolved_alert(
    later: list[tuple[int, list[float]]], last: int | None
) -> None:
    checker = Checker()
    [before] = [alert for alert in checker.check(run_of(COLLAPSED)) if alert.rule == "reward_drop"]
    assert before.active
    assert before.step == pytest.approx(80, abs=8)
    after = [alert for alert in checker.check(run_of(COLLAPSED, *later)) if alert.is_superseded]
    fresh = [alert for alert in Checker().check(run_of(COLLAPSED, *later)) if alert.is_superseded]
    assert after == fresh, "a program that is started after the resume has the same alerts"
    if last is None:
        assert not after
        return
    [alert] = after
    assert (alert.key, alert.until, alert.severity) == (before.key, last, "critical")
    assert (alert.what, alert.usual, alert.value) == (before.what, before.usual, before.value)


def test_an_incident_that_both_attempts_share_is_listed_once() -> None:
    alerts: Sequence[Alert] = Checker().check(run_of(COLLAPSED, (100, [0.02] * 60)))
    assert [alert.active for alert in alerts if alert.rule == "reward_drop"] == [True]


def test_the_line_and_the_bar_have_a_quiet_sentence_about_a_superseded_incident() -> None:
    store = store_of(COLLAPSED, (51, rewards(100)))
    store.set_alerts(Checker().check_all(store.snapshot()))
    snapshot = store.snapshot()
    assert not snapshot.alerts
    sentence = "in an earlier attempt: reward fell from"
    text = line(snapshot, 2e9, 200)
    assert sentence in text
    assert not text.startswith(("!", "✗"))
    row = AlertBar()._content(snapshot, snapshot.runs[0], 200)
    assert row[1][0].startswith(sentence)
    assert row[1][1] is Role.MUTED
    active = Alert("kl_high", "warning", 0, "kl", 140, "kl is above 10")
    store.set_alerts((active, *snapshot.resolved))
    assert sentence not in line(store.snapshot(), 2e9, 300)
    assert "kl is above 10" in AlertBar()._content(store.snapshot(), snapshot.runs[0], 200)[1][0]


def test_alerts_of_runs_that_are_gone_are_not_kept() -> None:
    checker, snapshot = Checker(), store_of(COLLAPSED, (51, rewards(100))).snapshot()
    assert checker.check_within(snapshot, 1e9, 9.0)[1]
    assert list(checker._before_restart) == ["/logs/0"]
    checker.check_within(Store().snapshot(), 1e9 + 60, 9.0)
    assert not checker._before_restart
