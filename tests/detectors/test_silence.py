"""The limit of the user for the time without a point."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from support.made_run import START, run_of
from support.programs import run

from tuimon.detectors import Checker
from tuimon.detectors.rules import silence_rule
from tuimon.model.points import Fact

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
