"""The verdict about many ranks on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import rank_jobs as jobs
from tuimon.commands import main


def test_summary_and_check_name_the_rank_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.torchrun_job(tmp_path)
    jobs.torchrun_error(tmp_path, 13, 60, jobs.MEMORY)
    assert main(["summary", "--json", str(tmp_path)]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["ranks"]["count"], run["ranks"]["root_cause"]["rank"]) for run in runs] == [(16, 13)]
    assert main(["summary", "--ranks", str(tmp_path)]) == 0
    assert "rank 13 (node02" in capsys.readouterr().out
    assert main(["check", str(tmp_path)]) == 4
    assert "rank 13 (node02" in capsys.readouterr().out


def test_line_names_the_alert_about_a_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.torchrun_job(tmp_path)
    jobs.torchrun_error(tmp_path, 13, 60, jobs.MEMORY)
    assert main(["line", "--width", "120", str(tmp_path)]) == 0
    assert "rank_failure" in capsys.readouterr().out


def test_loss_that_is_nan_on_one_rank_is_an_alert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.torchrun_job(tmp_path)
    row = {"step": 23, "rank": 6, "loss": float("nan"), "compute_time": 0.31}
    jobs.write(tmp_path / "rank_metrics/rank_006.jsonl", json.dumps(row) + "\n")
    assert main(["check", str(tmp_path)]) == 4
    text = capsys.readouterr().out
    assert "rank 6: loss or gradient norm is not a number since step 23, not on the other ranks" in text


def test_check_reports_no_rank_of_a_job_in_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.torchrun_job(tmp_path)
    main(["check", str(tmp_path), "--json"])
    assert "rank" not in json.dumps([alert["rule"] for alert in json.loads(capsys.readouterr().out)["alerts"]])
