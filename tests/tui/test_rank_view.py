"""Test the view of the ranks of a job, on logs as launchers write them."""

from __future__ import annotations

from pathlib import Path

from support import rank_jobs as jobs
from support.dashboard import opened, until

from tuimon.model.ranks import JobRanks, RankRow
from tuimon.panels.lists.rank_rows import with_end


async def test_new_lines_change_the_view(tmp_path: Path) -> None:
    job = jobs.torchrun_job(tmp_path / "job")
    async with opened(job, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "step 22" in s)
        await until(app, pilot, lambda _: app.run_shown is not None and app.run_shown.ranks is not None)
        await pilot.press("R")
        await until(app, pilot, lambda s: "no failure and no straggler" in s)
        jobs.torchrun_error(job, 3, 60, "ValueError: a bad batch")
        await until(app, pilot, lambda s: "FAILED" in s and "a bad batch" in s)


def test_ranks_of_a_run_that_is_over_have_ended() -> None:
    rows = tuple(RankRow("", rank, "n1", rank, "slow" if rank == 1 else "run", 0.0) for rank in range(3))
    job = JobRanks("/job", "", "", rows)
    assert [row.state for row in with_end(job, "finished").rows] == ["ended", "slow", "ended"]
    assert with_end(job, "running") is job
