"""Rules of the user: syntax and incidents, and the limit for the time without a point."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.made_run import START, run_of
from support.programs import run
from support.stores import Log, store_of

from tuimon.detectors import Checker
from tuimon.detectors._user_rules import detector_of, matched_by_pattern
from tuimon.detectors.rules import silence_rule
from tuimon.errors import UsageError
from tuimon.model.alerts import Alert
from tuimon.model.points import Fact

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("user_rules.toml").read_text("utf-8"))


def alerts(rule: object, series: dict[str, list[float]]) -> list[Alert]:
    checker = Checker(rules=[rule])  # type: ignore[list-item]
    return [a for a in checker.check(store_of(series).snapshot().runs[0]) if a.rule == checker.detectors[-1].id]


LOW = [0.5, 0.05, 0.04, 0.05, 0.5, 0.5, 0.05, 0.02, 0.05, 0.05]
"""Values at the steps 10, 20 etc., and at the same seconds."""


@pytest.mark.parametrize(("rule", "spans"), TABLE["incidents"])
def test_incidents_of_a_rule(rule: str, spans: list[list[int]]) -> None:
    sorted_alerts = sorted(alerts(rule, {"reward": LOW}), key=lambda alert: alert.step or 0)
    assert [[alert.step, alert.until or 0] for alert in sorted_alerts] == spans


FALLS = [1.645, 1.272, 1.099, 1.019, 1.042, 1.085]


@pytest.mark.parametrize(
    ("rule", "values", "value", "extreme", "span", "count", "points"),
    [
        ("metric <  0.1 for 4 points", LOW, 0.02, 80, (70, None), 4, 4),
        ("metric < 0.1 for 3 points", [0.5, 0.02, 0.05, 0.05], 0.02, 20, (20, None), 3, 3),
        ("metric < 0.1 for 3 points", [0.5, 0.02, 0.05, 0.05, 0.1], 0.02, None, (20, 40), 3, 3),
        ("metric < 2", FALLS, 1.019, 40, (10, None), 6, 6),
        ("metric > 1.05", FALLS, 1.645, 10, (10, None), 4, 6),  # one incident: fewer than three good points in a row
        ("metric > 1.05", [1.1, 1.02, 1.06, 1.2], 1.2, 40, (10, None), 3, 4),
        ("metric > 0.5", [0.4, 0.6] * 50, 0.6, None, (20, None), 50, None),  # crossing it repeatedly is one incident
    ],
)
def test_fields_of_an_incident(
    rule: str,
    values: list[float],
    value: float,
    extreme: int | None,
    span: tuple[int, int | None],
    count: int,
    points: int | None,
) -> None:
    (alert,) = alerts({"rule": rule, "severity": "critical"}, {"metric": values})
    assert (alert.severity, alert.what, alert.value, alert.count) == ("critical", "condition", value, count)
    assert (alert.step, alert.until) == span
    assert extreme in (None, alert.extreme)
    assert points in (None, alert.points)


def test_a_duration_needs_wall_times() -> None:
    run = Log().add(0, range(10), LOW, metric="reward").run
    assert not Checker(rules=["reward < 0.1 for 0.01 min"]).check(run)


def test_concept_means_its_best_series() -> None:
    series = {"critic/score/mean": LOW, "critic/rewards/mean": [0.0] * 10, "val/score/mean": [0.0] * 10}
    assert {alert.metric for alert in alerts("reward < 0.1 for 2 points", series)} == {"critic/score/mean"}
    assert {alert.metric for alert in alerts("reward (val) < 0.1", series)} == {"val/score/mean"}


def test_metrics_that_match_by_a_pattern_are_known() -> None:
    run = run_of({name: (range(3), [0.1, 0.2, 0.3]) for name in ("train/loss", "val/loss", "GPU/mem")})
    names = {"los": ["train/loss", "val/loss"], "train/loss": [], "gpu/*": ["GPU/mem"], "loss": [], "rewrd": []}
    assert {name: matched_by_pattern(detector_of(f"{name} > 2", "rule"), [run]) for name in names} == names


def test_incidents_of_several_metrics_at_the_same_time_are_one_alert() -> None:
    """The alert has the first metric of those that go on, or else the first; a later incident is an alert again."""
    series = {
        "gpu/a": [0.1, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1],
        "gpu/b": [0.1, 0.7, 0.8, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        "gpu/c": [0.1, 0.1, 0.1, 0.75, 0.75, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        "cpu/d": [0.1, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9],
    }
    rule = {"rule": "gpu/* > 0.6 for 1 steps", "severity": "critical"}

    def spans(rows: int) -> list[tuple[str, str, int | None, int | None]]:
        found = alerts(rule, {name: values[:rows] for name, values in series.items()})
        return sorted((a.severity, a.metric, a.step, a.until) for a in found)

    assert spans(4) == [
        ("critical", "gpu/b", 20, None),
        ("info", "gpu/a", 20, 20),
        ("info", "gpu/c", 40, None),
    ]
    assert spans(11) == [
        ("critical", "gpu/a", 20, 20),
        ("critical", "gpu/a", 80, 80),
        ("info", "gpu/b", 20, 40),
        ("info", "gpu/c", 40, 50),
    ]
    worst = max(alerts(rule, series), key=lambda alert: (alert.severity == "critical", -(alert.step or 0)))
    assert (worst.metric, worst.value, worst.step) == ("gpu/a", 0.7, 20)
    assert [change.metric for change in worst.related] == ["gpu/b", "gpu/c"]


@pytest.mark.parametrize("rule", TABLE["invalid"])
def test_invalid_rules(rule: object) -> None:
    with pytest.raises(UsageError):
        Checker(rules=[rule])  # type: ignore[list-item]


LOSS = {"loss": (range(1, 21), [0.5] * 20)}


LAST = START + 20


def alerts_after(seconds: float, *facts: Fact) -> list[str]:
    checker = Checker(more=[silence_rule(1800.0)])
    return [alert.message for alert in checker.check(run_of(LOSS, facts), LAST + seconds) if alert.rule == "silence"]


def test_a_run_is_silent_after_the_limit_whatever_its_pace_is() -> None:
    assert alerts_after(1800) == []
    (message,) = alerts_after(2460)
    assert message.startswith("no point for 41 m, longer than 30 m; its state is ")


def test_a_run_that_has_finished_is_not_silent() -> None:
    assert alerts_after(2460, Fact("config", {"max_steps": 20})) == []
    assert len(alerts_after(2460, Fact("config", {"max_steps": 40}))) == 1


def test_the_time_of_the_points_counts_and_not_that_of_the_file(tmp_path: Path) -> None:
    now, log = time.time(), tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps({"step": s, "timestamp": now - 3600 + s, "loss": 0.5}) + "\n" for s in range(20)))
    silent = ("check", str(tmp_path), "--only-rules", "--silent-for")
    assert "no point for 59 m, longer than 30 m" in run(*silent, "30m", expect=4).stdout
    assert run(*silent, "2h").stdout == "no active alerts in 1 run\n"


@pytest.mark.parametrize("limit", ["30", "0m", "-5m", "x", "1e3s", ""])
def test_a_limit_needs_a_number_and_a_unit(limit: str) -> None:
    assert "invalid duration" in run("check", f"--silent-for={limit}", expect=2).stderr
