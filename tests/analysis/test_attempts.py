"""Where the attempts of a training went on, and what the end of one cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuimon.analysis.attempts import attempts_of, lost_at_restarts, lost_work, restart_name, superseded_steps
from tuimon.exports.documents import plain
from tuimon.exports.summary import summary_of
from tuimon.exports.summary_text import as_text
from tuimon.model.ranks import JobRanks, RootCause
from tuimon.model.views import Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import header_panel
from tuimon.panels.header import clock
from tuimon.store import Run


def lines(steps: range, hour: int) -> str:
    """Return a row per step, logged a second apart."""
    return "".join(
        f"2026-03-05 {hour:02}:{step // 60:02}:{step % 60:02} INFO step={step} loss={5 - step / 1000:.4f}\n"
        for step in steps
    )


def log(path: Path, *parts: str) -> Run:
    (path / "train.log").write_text("".join(parts))
    return open_run(path / "train.log").runs[0]


SAVED = "2026-03-05 08:06:40 INFO saved checkpoint step_400 in 3.1 s\n"


@pytest.mark.parametrize(
    ("sentence", "every", "on_disk", "name"),
    [
        ("Continuing training from global step 400\n", 10, (), "resumed from 400"),
        ("[rank0] resuming from checkpoint step_405\n", 10, (), "resumed from 405"),
        ("Resuming from step 300\n", 10, (), "restart at 410"),
        ("", 10, (), "restart at 410"),
        (SAVED, 10, (), "resumed from 400"),
        ("", 1, (), "resumed from 409"),
        ("", 10, (300, 405, 500), "resumed from 405"),
        ("", 10, (300, 400, 405), "restart at 410"),  # two are possible
    ],
)
def test_a_restart_is_named_by_what_the_log_says_then_by_what_is_certain(
    tmp_path: Path, sentence: str, every: int, on_disk: tuple[int, ...], name: str
) -> None:
    first = lines(range(10, 431, every), 8)
    run = log(tmp_path, first, sentence, lines(range(410, 601, every), 9))
    run.checkpoints = on_disk
    assert restart_name(run, 410) == name
    assert restart_name(run, 410, "step") == name.replace("from", "from step").replace(" at", " at step")


def test_the_steps_and_the_time_that_a_resumed_run_lost(tmp_path: Path) -> None:
    run = log(tmp_path, lines(range(1, 401), 8), SAVED, lines(range(401, 430), 8), lines(range(401, 500), 9))
    work = lost_work(run, False)
    assert (work.last_step, work.checkpoint, work.steps, work.seconds) == (429, 400, 29, 3600 - 28)
    lost = (
        "resumed from step 400 (saved 2026-03-05 08:06), went on at 2026-03-05 09:06:41, 29 steps lost,"
        " 59 m 32 s without a point before it went on"
    )
    assert work.text("step") == lost
    summary = " ".join(" ".join(as_text(open_run(tmp_path), 0.0)).split())
    assert lost in summary
    facts = header_panel().view(run, Size(160, 2), work.resumed + 3600, Symbols.BRAILLE).rows[1]
    assert f"resumed from 400 at {clock(work.resumed, work.resumed)}" in "".join(part for part, _ in facts)


def test_each_restart_has_its_lost_steps(tmp_path: Path) -> None:
    first = lines(range(1, 401), 8), SAVED, lines(range(401, 430), 8)
    run = log(tmp_path, *first, lines(range(401, 450), 9), lines(range(441, 460), 10))
    assert [(work.first_step, work.checkpoint, work.steps, work.seconds) for work in lost_at_restarts(run)] == [
        (401, 400, 29, 3600 - 28),
        (441, 440, 9, 3600 - 8),
    ]
    snapshot = open_run(tmp_path)
    resumed = [line.split(",")[0].split() for line in as_text(snapshot, 0.0) if line.startswith("  resumed ")]
    assert [words[:4] for words in resumed] == [["resumed", "from", "step", "400"], ["resumed", "from", "step", "440"]]
    (logged,) = plain(summary_of(snapshot, 0.0))["runs"]
    assert [(restart["resumed_from"], restart["steps_lost"]) for restart in logged["restarts"]] == [(400, 29), (440, 9)]


def test_logged_steps_are_counted_once_beside_the_steps_lost(tmp_path: Path) -> None:
    """A trainer that writes a second row at each evaluation has more points of its epoch than logged steps."""
    for job, steps in ((1001, range(10, 431, 10)), (1002, range(410, 601, 10))):
        rows = []
        for step in steps:
            rows.append(f'{{"step": {step}, "epoch": {step / 100}, "loss": {5 - step / 1000 + job / 1e6}}}\n')
            if step % 100 == 20:
                rows.append(f'{{"step": {step}, "epoch": {step / 100}, "eval_loss": {6 - step / 1000}}}\n')
        (tmp_path / f"log-{job}.jsonl").write_text("".join(rows))
    (run,) = open_run(tmp_path).runs
    run.checkpoints = (400,)
    assert (run.curve("epoch").superseded, superseded_steps(run)) == (4, 3)
    assert [attempt.superseded for attempt in attempts_of(run)] == [3, 0]
    work = lost_work(run, False)
    assert work.text("step") == "resumed from step 400, 30 steps lost (3 logged steps superseded)"


def test_the_steps_after_the_last_checkpoint_of_a_dead_run_are_lost(tmp_path: Path) -> None:
    end = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-05T09:00:00 DUE TO TIME LIMIT ***\n"
    rows = lines(range(1, 401), 8), SAVED, lines(range(401, 430), 8)
    run = log(tmp_path, *rows, end)
    work = lost_work(run, True)
    assert work.text("step") == "last checkpoint at step 400 (saved 2026-03-05 08:06), 29 steps lost"
    assert lost_work(run, False) is None
    run.checkpoints = (300, 410)
    on_disk = lost_work(run, True)
    assert (on_disk.checkpoint, on_disk.steps) == (410, 19), "the log does not name it"
    run.checkpoints = ()
    run.ranks = JobRanks("", "", "", (), root_cause=RootCause(13, "node02", "Xid 79", resolved=True))
    assert lost_work(run, True) is None, "the job went on"
    unknown = lost_work(log(tmp_path, lines(range(1, 430), 8), end), True)
    assert (unknown.steps, unknown.text("step")) == (None, "")


def test_restarts_are_known_beside_a_counter_with_more_points_that_never_falls_back(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(lines(range(10, 431, 10), 8) + lines(range(410, 601, 10), 9))
    rows = "".join(f"{step},{step / 600}\n" for step in range(1, 601))
    (tmp_path / "progress.csv").write_text(f"step,epoch\n{rows}")
    (run,) = open_run(tmp_path).runs
    assert run.busiest_metric == "epoch"
    assert [(work.first_step, work.last_step, work.superseded) for work in lost_at_restarts(run)] == [(410, 430, 3)]
