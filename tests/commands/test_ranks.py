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
    assert "crashed  rank 13 " in capsys.readouterr().out


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


def test_crash_is_one_alert_that_names_the_cause_and_not_the_loudest_consequence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.slurm_job(tmp_path)
    rows = "".join(f"iteration {step}/ 500 | lm loss: 2.{step:03} | grad norm: 1.0 |\n" for step in range(1, 40))
    jobs.write(jobs.slurm_log(tmp_path, 15, "out"), rows)
    jobs.write(jobs.slurm_log(tmp_path, 11), f"[rank11]: {jobs.MEMORY}\n")
    for rank in set(range(16)) - {11}:
        jobs.write(jobs.slurm_log(tmp_path, rank), jobs.watchdog(rank, 700, 93))
    jobs.write(tmp_path / "slurm-77001.out", "srun: error: n01: tasks 0-7: Aborted (core dumped)\n")
    assert main(["check", "--json", str(tmp_path)]) == 4
    [alert] = json.loads(capsys.readouterr().out)["alerts"]
    assert alert["rule"] == "rank_failure"
    assert main(["summary", str(tmp_path)]) == 0
    state = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  state"))
    assert "crashed, 1 critical alert: rank 11 (n02, local rank 3): torch.OutOfMemoryError: CUDA out of memory" in state
    assert state.endswith("15 ranks followed: 15 × NCCL timeout; 15 ranks waited 10 m (2.5 GPU hours)")


def test_report_has_the_verdict_and_a_row_for_each_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.torchrun_job(tmp_path / "job")
    jobs.torchrun_error(tmp_path / "job", 13, 60, jobs.MEMORY)
    assert main(["report", str(tmp_path / "job"), "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Ranks</h2>" in page
    assert page.count('<th scope="row">13</th><td>node02</td>') == 1
    assert '<th scope="col" class="n">own time</th>' in page


def test_summary_ranks_lists_jobs_whose_only_points_are_in_console_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.torchrun_job(tmp_path / "torchrun")
    jobs.slurm_job(tmp_path / "slurm")
    rows = "".join(f"iteration {step}/ 500 | lm loss: 2.{step:03} | grad norm: 1.0 |\n" for step in range(1, 40))
    jobs.write(jobs.slurm_log(tmp_path / "slurm", 15, "out"), rows)
    jobs.write(jobs.slurm_log(tmp_path / "slurm", 11), f"[rank11]: {jobs.MEMORY}\n")
    assert main(["summary", "--ranks", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines if line[0] != " "] == ["slurm: 16 ranks", "torchrun: 16 ranks"]
    assert any("rank 11 (n02" in line for line in lines)
