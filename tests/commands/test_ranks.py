"""The verdict about many ranks on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from support.programs import run

from tests.support import rank_jobs as jobs
from tuimon.exports.ranks import rank_table
from tuimon.model.ranks import JobRanks, RankRow


def slurm_job(path: Path) -> None:
    """Write a job whose only points are in console text; rank 11 has no memory, and the others wait for it."""
    jobs.slurm_job(path)
    rows = "".join(f"iteration {step}/ 500 | lm loss: 2.{step:03} | grad norm: 1.0 |\n" for step in range(1, 40))
    jobs.write(jobs.slurm_log(path, 15, "out"), rows)
    jobs.write(jobs.slurm_log(path, 11), f"[rank11]: {jobs.MEMORY}\n")
    for rank in set(range(16)) - {11}:
        jobs.write(jobs.slurm_log(path, rank), jobs.watchdog(rank, 700, 93))
    jobs.write(path / "slurm-77001.out", "srun: error: n01: tasks 0-7: Aborted (core dumped)\n")


def test_every_command_names_the_rank_that_failed(tmp_path: Path) -> None:
    job, page = str(tmp_path / "job"), tmp_path / "report.html"
    jobs.torchrun_job(tmp_path / "job")
    sound = json.loads(run("check", job, "--json").stdout)["alerts"]
    assert "rank" not in json.dumps([alert["rule"] for alert in sound])
    jobs.torchrun_error(tmp_path / "job", 13, 60, jobs.MEMORY)
    (document,) = json.loads(run("summary", "--json", job).stdout)["runs"]
    assert (document["ranks"]["count"], document["ranks"]["root_cause"]["rank"]) == (16, 13)
    assert "rank 13 (node02" in run("summary", "--ranks", job).stdout
    assert "rank 13 (node02" in run("check", job, expect=4).stdout
    assert "crashed  rank 13 " in run("line", "--width", "120", job).stdout
    run("report", job, "-o", str(page))
    assert "<h2>Ranks</h2>" in page.read_text()
    assert page.read_text().count('<th scope="row">13</th><td>node02</td>') == 1
    assert '<th scope="col" class="n">own s</th>' in page.read_text()


def test_the_report_has_the_digits_of_short_times_and_long_losses() -> None:
    row = RankRow("", 5, "node01", 5, "run", 0.0, own=3e-4, wait=0.25, loss="3.404520E+00")
    table = rank_table(JobRanks("", "", "", (row,)))
    cells = {column.head: column.cells for column in table.columns}
    assert [cells[head] for head in ("own s", "wait s", "loss")] == [["3.00e-04 s"], ["0.2500 s"], ["3.404520E+00"]]


def test_loss_that_is_nan_on_one_rank_is_an_alert(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path)
    row = {"step": 23, "rank": 6, "loss": float("nan"), "compute_time": 0.31}
    jobs.write(tmp_path / "rank_metrics/rank_006.jsonl", json.dumps(row) + "\n")
    text = run("check", str(tmp_path), expect=4).stdout
    assert "rank 6: loss or gradient norm is not a number since step 23, not on the other ranks" in text


def test_crash_is_one_alert_that_names_the_cause_and_not_the_loudest_consequence(tmp_path: Path) -> None:
    slurm_job(tmp_path / "slurm")
    [alert] = json.loads(run("check", "--json", str(tmp_path), expect=4).stdout)["alerts"]
    assert alert["rule"] == "rank_failure"
    text = run("summary", str(tmp_path)).stdout
    state = next(line for line in text.splitlines() if line.startswith("  state"))
    assert "crashed, 1 critical alert: rank 11 (n02, local rank 3): torch.OutOfMemoryError: CUDA out of memory" in state
    assert state.endswith("15 ranks followed: 15 × NCCL timeout; 15 ranks waited 10 m (2.5 GPU hours)")
    jobs.torchrun_job(tmp_path / "torchrun")
    lines = run("summary", "--ranks", str(tmp_path)).stdout.splitlines()
    assert [line.split(",")[0] for line in lines if line[0] != " "] == ["slurm: 16 ranks", "torchrun: 16 ranks"]
    assert any("rank 11 (n02" in line for line in lines)
