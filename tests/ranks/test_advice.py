"""Advice about ranks: each kind of failure names the log or the node and what to try."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support import rank_jobs as jobs
from tuimon.detectors import Checker
from tuimon.model.ranks import FileLine, RankRow, RootCause
from tuimon.monitor.local import open_run
from tuimon.ranks import advice

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))


def _row(node: str = "n02", evidence: tuple[str, ...] = ()) -> RankRow:
    return RankRow("", 11, node, 3, "slow", 70.0, evidence=evidence)


@pytest.mark.parametrize(("rule", "text", "wanted"), TABLE["failures"])
def test_advice_about_a_failure(rule: str, text: str, wanted: str) -> None:
    cause = RootCause(5, "n01", text, text, FileLine("logs/5.err", 9), rule)
    assert wanted in advice.of_failure(cause, _row())


def test_advice_about_a_slow_rank_names_its_node() -> None:
    assert "if so, drain n02" in advice.of_slow_rank(_row())
    assert "drain its node" in advice.of_slow_rank(None)


def test_alert_about_a_rank_has_the_advice(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    jobs.torchrun_error(tmp_path, 3, 50, jobs.MEMORY)
    snapshot = open_run(tmp_path)
    alert = next(alert for alert in Checker().check(snapshot.runs[0]) if alert.rule == "rank_failure")
    assert "micro-batch" in alert.hint
    assert "stderr.log" in alert.hint
