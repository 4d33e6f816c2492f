"""Test the view of the ranks of a job, on logs as launchers write them."""

from __future__ import annotations

import json
from pathlib import Path

from support import rank_jobs as jobs
from support.dashboard import opened, text, until

from tests.tui.test_every_action import Tour, ids
from tuimon.model.ranks import JobRanks, RankRow
from tuimon.panels.lists.rank_rows import with_end
from tuimon.tui.screens.log_view import LogScreen
from tuimon.tui.screens.ranks import RanksScreen


def _failed_job(tmp_path: Path) -> Path:
    jobs.torchrun_job(tmp_path / "job")
    jobs.torchrun_error(tmp_path / "job", 10, 60, "ValueError: sequence 71 has no tokens")
    log = min((tmp_path / "job").rglob("stderr.log"))
    log.write_text("[2026-03-05 10:00:00,000][node01][rank0] INFO saved checkpoint step_20 in 3 s\n" + log.read_text())
    return tmp_path / "job"


async def test_every_key_of_the_view(tmp_path: Path) -> None:
    async with opened(_failed_job(tmp_path), (100, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "rank 10 failed" in s)
        t = Tour(app, pilot)
        await t.press("ranks")
        screen = await t.on(RanksScreen)
        pane = screen.table
        await t.until(lambda: pane.selected is not None and pane.selected.rank == 10)
        await until(app, pilot, lambda s: "FAILED" in s and "sequence 71 has no tokens" in s)
        assert "last checkpoint at step 20 (saved 2026-03-05 10:00), 2 steps lost" in text(app)
        assert pane.job is not None
        assert text(app).count(pane.job.verdict[:40]) == 1, "the evidence does not repeat the verdict"
        await t.press("down")
        assert pane.selected is not None
        assert pane.selected.rank != 10
        await t.press("up", "scroll", "page_up", "last")
        assert pane.cursor == 15
        await t.press("first", "right", "left")
        assert pane.selected.rank == 10
        await t.press("next", "previous")
        assert pane.selected.strangeness > 0
        await t.press("tab")
        assert pane.is_map
        await until(app, pilot, lambda s: "X failed" in s and "gpu 7" in s)
        await t.press("tab")
        await until(app, pilot, lambda s: "own time: median" in s)
        await t.press("tab_back")
        await until(app, pilot, lambda s: "X failed" in s)
        await t.press("view", "find")
        await t.type("10")
        assert not pane.is_map
        assert pane.selected.rank == 10
        written: list[str] = []
        app.write = written.append  # type: ignore[method-assign]
        await t.press("copy", "open")
        assert "]52;" in "".join(written)
        log = await t.on(LogScreen)
        await t.until(lambda: log.page.line is not None and "sequence 71" in log.page.line.text)
        await pilot.press("escape")
        await t.on(RanksScreen)
        await t.press("ranks")
        assert len(app.screen_stack) == 1
        assert ids("ranks") <= t.done


async def test_new_lines_change_the_view(tmp_path: Path) -> None:
    job = jobs.torchrun_job(tmp_path / "job")
    async with opened(job, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "step 22" in s)
        t = Tour(app, pilot)
        await t.until(lambda: app.run_shown is not None and app.run_shown.ranks is not None)
        await t.press("ranks")
        await until(app, pilot, lambda s: "no failure and no straggler" in s)
        jobs.torchrun_error(job, 3, 60, "ValueError: a bad batch")
        await until(app, pilot, lambda s: "FAILED" in s and "a bad batch" in s)


def _cells(screen: str, row: str) -> str:
    """Return the cells of 20 nodes in a row of the map."""
    return next((line[9:29] for line in screen.splitlines() if row in line), "")


async def test_many_nodes_are_a_map(tmp_path: Path) -> None:
    for rank in range(160):
        rows = "".join(
            json.dumps({"step": s, "rank": rank, "loss": 2.0, "compute_time": 0.6 if rank == 77 else 0.3 + s % 3 / 1e3})
            + "\n"
            for s in range(60)
        )
        head = (
            f"> initializing torch distributed on rank {rank} of 160 (node{rank // 8:02}, local rank {rank % 8}) ...\n"
        )
        jobs.write(tmp_path / f"job/logs/out_{rank}.log", head)
        jobs.write(tmp_path / f"job/rank_{rank:03}.jsonl", rows)
    async with opened(tmp_path / "job", (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "rank 77 99% slow" in s)
        t = Tour(app, pilot)
        await t.press("ranks")
        screen = await t.on(RanksScreen)
        cells = ".........#.........."
        await until(app, pilot, lambda s: "160 ranks  20 nodes" in s and _cells(s, "gpu 5 ") == cells)
        await t.press("tab")
        await until(app, pilot, lambda s: "own time: median 0.301 s" in s and ".........X" in s)
        await t.press("right")
        await until(app, pilot, lambda _: screen.table.selected is not None and screen.table.selected.rank == 85)


async def test_the_log_of_a_failed_job_opens_at_the_evidence(tmp_path: Path) -> None:
    async with opened(_failed_job(tmp_path), (100, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "rank 10 failed" in s)
        await pilot.press("L")
        await until(app, pilot, lambda s: "▌" in s and "sequence 71" in s)
        assert isinstance(app.screen, LogScreen)
        assert app.screen.page.line is not None
        assert "sequence 71" in app.screen.page.line.text


async def test_a_restart_is_said_everywhere_and_leads_to_its_evidence(tmp_path: Path) -> None:
    job = tmp_path / "job"
    jobs.torchrun_job(job, 25)
    jobs.torchrun_error(job, 13, 50, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered")
    jobs.torchrun_job(job, 36, begin=21, at=100, attempt=1)
    jobs.write(job / "node01.log", "training finished\n")
    jobs.write_long_ago(job)
    sentence = "rank 13 on node02 failed (ECC) at step 25; the job went on"
    async with opened(job, (130, 40)) as (app, pilot):
        await until(app, pilot, lambda s: "failed once" in s.splitlines()[0])
        await pilot.press("a")
        await until(app, pilot, lambda s: f"failed once: {sentence}" in s)
        await pilot.press("escape", "R")
        shown = await until(app, pilot, lambda s: "▌" in s and "recovered" in s)
        assert f"failed once: {sentence}" in " ".join(shown.split())
        assert "uncorrectable ECC error encountered" in " ".join(shown.split()), "the sentence is not cut"
        assert " 1 recovered, 15 " in shown.splitlines()[0]
        await pilot.press("enter")
        await until(app, pilot, lambda s: isinstance(app.screen, LogScreen) and "ECC error" in s)


async def test_a_notice_longer_than_the_screen_is_wrapped(tmp_path: Path) -> None:
    job = tmp_path / "job"
    jobs.torchrun_job(job, 25)
    jobs.torchrun_error(job, 13, 50, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered")
    jobs.torchrun_job(job, 36, begin=21, at=100, attempt=1)
    async with opened(job, (60, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "failed once" in s)
        await pilot.press("a")
        whole = "failed once: rank 13 on node02 failed (ECC) at step 25; the job went on R shows the ranks"
        await until(app, pilot, lambda s: whole in " ".join(s.split()))


def test_ranks_of_a_run_that_is_over_have_ended() -> None:
    rows = tuple(RankRow("", rank, "n1", rank, "slow" if rank == 1 else "run", 0.0) for rank in range(3))
    job = JobRanks("/job", "", "", rows)
    assert [row.state for row in with_end(job, "finished").rows] == ["ended", "slow", "ended"]
    assert with_end(job, "running") is job
