"""The report about the ranks of a job, from lines of their logs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import rank_jobs as jobs
from tuimon.model.ranks import JobRanks, RankRow, RootCause, all_well
from tuimon.ranks import lines
from tuimon.ranks.evidence import Evidence, LogFile
from tuimon.ranks.file_reading import FileReading
from tuimon.ranks.hardware import read_buses
from tuimon.ranks.report import report_of
from tuimon.ranks.verdict import Verdict, judge


def _evidence(texts: dict[str, str]) -> Evidence:
    evidence = Evidence()
    for path, text in texts.items():
        reading = FileReading(evidence, LogFile(path, is_launcher=True, year=2026))
        for number, line in enumerate(text.splitlines(), 1):
            reading.feed(number, line)
    return evidence


def _report(evidence: Evidence) -> JobRanks:
    return report_of(evidence, judge(evidence), "/job")


def _rows(factors: np.ndarray, steps: int = 80, nodes: int = 4) -> str:
    """Return rows of own times. factors: float64 (steps, ranks) or (ranks,), relative to 0.3 s."""
    times = 0.3 * np.broadcast_to(factors, (steps, np.shape(factors)[-1]))
    noise = np.random.default_rng(1).normal(1, 0.005, times.shape)
    ranks = times.shape[1]
    rows = []
    for step in range(steps):
        for rank in range(ranks):
            place = f"[node{rank * nodes // ranks}][rank{rank}]"
            own = times[step, rank] * noise[step, rank]
            rows.append(f"[{jobs.stamp(step)}]{place} INFO step: {step} loss: 2.0 compute: {own:.4f}s")
    return "\n".join(rows)


def test_node_is_blamed_before_its_ranks() -> None:
    factors = np.ones(32)
    factors[8:16] = 1.3
    report = _report(_evidence({"all.log": _rows(factors)}))
    assert [problem.rule for problem in report.problems] == ["straggler"]
    assert report.verdict.startswith("node1: 8 of 8 ranks compute 30% longer than the others")
    assert report.short == "node1 slow"
    assert {row.rank for row in report.rows[:8]} == set(range(8, 16))


def test_spans_of_structured_logs_name_the_slow_rank_and_its_node() -> None:
    texts = {}
    for rank in range(8):
        rows = []
        for step in range(60):
            row = {"rank": rank, "local_rank": rank % 4, "host_name": f"gpu-{rank // 4}", "step": step}
            row["time_us"] = int((jobs.START + step) * 1e6)
            milliseconds = 480.0 if rank == 6 and step >= 20 else 300.0 + rank
            rows.append(json.dumps({**row, "log_type_name": "fwd_bwd_start", "value": None}))
            rows.append(json.dumps({**row, "log_type_name": "fwd_bwd_end", "value": milliseconds}))
            rows.append(json.dumps({**row, "log_type_name": "optim_end", "value": 20.0}))
        texts[f"trainer.global_rank_{rank}.jsonl"] = "\n".join(rows)
    report = _report(_evidence(texts))
    first = report.rows[0]
    assert (first.rank, first.node, first.gpu, first.state, first.step) == (6, "gpu-1", 2, "slow", 59)
    assert report.stragglers[0].own == 0.48
    assert report.stragglers[0].since == 20


def test_own_time_is_what_was_computed_even_if_the_time_of_the_data_comes_first() -> None:
    line = '{"step": 3, "rank": 1, "data_time": 0.01, "compute_time": 0.31, "comm_time": 0.2}'
    assert lines.own_time_of(line) == 0.31
    assert lines.own_time_of('{"step": 3, "rank": 1, "data_time": 0.01}') == 0.01
    assert lines.wait_of(line) == 0.2


def test_loss_of_a_rank_is_its_own_not_that_of_all_ranks() -> None:
    text = "".join(
        f"[{jobs.stamp(step)}][rank{rank}] step {step} loss 0.{rank}5\n" for step in range(9) for rank in range(4)
    )
    report = _report(_evidence({"job.log": f"{text}[{jobs.stamp(9)}][rank0] step 8 global_loss 0.9\n"}))
    assert [row.loss for row in report.rows] == ["0.05", "0.15", "0.25", "0.35"]
    assert lines.loss_of("step 8 loss 0.25 global_loss 0.9") == lines.loss_of("global_loss 0.9 loss 0.25") == "0.25"
    assert lines.loss_of("train_loss=0.25") == lines.loss_of("lm loss: 0.25") == "0.25"


def test_step_of_an_iteration_whose_line_has_other_words_with_step() -> None:
    assert lines.step_of(" iteration 120/ 500 | lm loss: 3.4 | skipped steps: 0") == (120, True)
    assert lines.step_of("stepwise/train.py STEP 7 begins") == (7, False)
    assert lines.step_of("stepped over") is None


def test_a_failed_rank_has_its_time_and_the_line_of_its_error() -> None:
    text = _rows(np.ones(8), steps=5)
    stamped = f"[{jobs.stamp(7)}][node1][rank2] ERROR\n"
    end = "[rank2]: ValueError: no tokens\n[rank2]: the profiler has written its trace\n"
    report = _report(_evidence({"job.log": f"{text}\n{stamped}{end}"}))
    assert report.verdict.startswith("rank 2 (node1) after 10:00:07: ValueError: no tokens")
    assert report.short == "rank 2 failed"
    assert report.rows[0].state == "failed"
    shown = {row.rank: row.line for row in report.rows}
    assert shown[2] == "ValueError: no tokens"
    assert "INFO step: 4" in shown[3]


@pytest.mark.parametrize(
    ("rank", "rule", "text", "short"),
    [
        (3, "desync report", "rank 3 finished collective #9, but didn't join collective #10", "rank 3 hangs"),
        (3, "stuck watchdog", "perhaps rank 3: its NCCL watchdog made no progress for 480 s", "rank 3 hangs"),
        (3, "exception", "rank 3: RuntimeError: the thread was joined twice", "rank 3 failed"),
        (None, "", "cannot tell: 4 of 8 ranks timed out", "cause unknown"),
        (None, "exception", "an unknown rank: ValueError", "an unknown rank: ValueError"),
    ],
)
def test_a_cause_in_few_words(rank: int | None, rule: str, text: str, short: str) -> None:
    verdict = Verdict(8, RootCause(rank, "", text, rule=rule), [], [], [])
    assert report_of(Evidence(), verdict, "job").short == short


def test_a_job_that_goes_on_without_the_ranks_of_a_lost_node(tmp_path: Path) -> None:
    jobs.torchrun_job(tmp_path, steps=24)
    for rank in (2, 10, 14):  # processes outlive the launcher of their node
        jobs.torchrun_error(tmp_path, rank, 50, jobs.PEER)
    lost = "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection has failed."
    jobs.write(tmp_path / "node01.log", f"[default0]:[{jobs.stamp(0)}][node01][rank0] INFO world size 16\n")
    warning = f"W{jobs.stamp(51, '%m%d %H:%M:%S')}.5 9 torch/distributed/elastic/api.py:1346] heartbeat"
    jobs.write(tmp_path / "node01.log", f"{warning}\n{lost}\n")
    jobs.write(tmp_path / "node02.log", f"[default0]:[{jobs.stamp(0)}][node02][rank8] INFO world size 16\n")
    for rank in range(8):
        text = "".join(
            f"[{jobs.stamp(80 + step)}][node03][rank{rank}] INFO step: {step}  loss: 2.5\n" for step in range(21, 41)
        )
        jobs.write(tmp_path / f"torchrun_logs/run9_mm55nn66/attempt_0/{rank}/stderr.log", text)
    report = jobs.read_ranks(tmp_path)
    assert report is not None
    assert report.verdict == (
        "failed once: perhaps node02 was lost at step 24; the job went on; 16 ranks before, 8 on node03 since then; "
        "lost: ranks 8 to 15"
    )
    assert {row.rank for row in report.rows if row.state == "lost"} == set(range(8, 16))
    assert [(problem.rule, problem.severity) for problem in report.problems] == [("rank_failure", "warning")]
    assert report.root_cause is not None
    assert "did not answer any more (node01.log:3)" in report.root_cause.text


@pytest.mark.parametrize(("own", "said"), [(1.0, True), (None, False)])
def test_stragglers_are_excluded_only_where_compute_times_are_logged(own: float | None, said: bool) -> None:
    rows = [RankRow("", rank, "", None, "run", 0.0, 5, own) for rank in range(2)]
    assert ("no straggler" in all_well(rows)) == said


@pytest.mark.parametrize(
    "text", ["", "\n", "index\n1", "{", "a\0b\n1", "{head}", "{head}\n1, 2", "{head}\n,,,,,", "{rows}"]
)
def test_bus_of_a_gpu_in_rows_that_may_be_damaged(text: str) -> None:
    evidence, head = Evidence(), "timestamp, index, pci.bus_id, temperature.gpu, clocks.current.sm [MHz]"
    rows = "".join(f"\n2026/03/05 10:00:0{n}.1, 1, 00000000:C1:00.0, 5{n}, {1980 - n} MHz" for n in range(3))
    read_buses(text.replace("{head}", head).replace("{rows}", head + rows), "node02", evidence)
    assert evidence.buses == ({("node02", "c1:00"): 1} if "rows" in text else {})
