"""Test the console text and the ranks of a job against the contents of the files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import rank_jobs as jobs
from support.dashboard import opened, until
from support.scenario_logs import console

from tuimon.model.ranks import JobRanks, RankRow
from tuimon.panels.lists.rank_rows import with_end
from tuimon.reader.log_text import LogText, text_files
from tuimon.tui.screens.log_page import Pager


@pytest.fixture
def run(tmp_path: Path) -> Path:
    console(tmp_path / "grpo")
    return tmp_path / "grpo"


def pager_of(path: Path) -> Pager:
    return Pager(LogText(str(path)))


def test_pager_reaches_every_line_in_both_directions(run: Path) -> None:
    pager = pager_of(run / "train.log")
    written = (run / "train.log").read_text().splitlines()
    expected = [line.replace("\x1b[2J\x1b[31m", "").replace("\x1b[0m", "") for line in written]
    pager.start(7)
    seen = [line.text for line in pager.page.lines]
    while not pager.page.following:
        before = pager.page
        pager.move(3, 7)
        assert pager.page.line is not None
        new = [line.text for line in pager.page.lines if line.offset > before.lines[-1].offset]
        seen += new
    assert seen == expected
    assert pager.page.share == 1.0
    back = [line.text for line in pager.page.lines]
    while pager.page.lines[0].offset:
        before = pager.page
        pager.move(-5, 7)
        assert not pager.page.following
        back = [line.text for line in pager.page.lines if line.offset < before.lines[0].offset] + back
    assert back == expected


def test_page_follows_a_growing_file_and_reloads_a_replaced_one(run: Path) -> None:
    path = run / "train.log"
    pager = pager_of(path)
    pager.refresh(5)
    with path.open("a") as file:
        file.write("one more\n")
    assert [line.text for line in pager.refresh(5).lines][-1] == "one more"
    pager.move(-8, 5)
    held = pager.page.lines[0].offset
    with path.open("a") as file:
        file.write("and one\n")
    assert pager.refresh(5).lines[0].offset == held
    path.write_text("anew\n")
    assert [line.text for line in pager.refresh(5).lines] == ["anew"]
    path.unlink()
    assert "No such file" in pager.refresh(5).message


def test_the_texts_of_a_run(run: Path) -> None:
    known = str(run / "train.log")
    assert text_files(str(run), [known]) == [known, str(run / "logs" / "worker.err")]
    assert text_files(str(run / "nowhere"), []) == []


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
