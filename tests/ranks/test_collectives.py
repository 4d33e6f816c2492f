"""Ranks that others waited for in a collective, by what NCCL's watchdog and torch's reports say."""

from __future__ import annotations

from pathlib import Path

from tests.ranks.test_launchers import cause_of
from tests.support import rank_jobs as jobs
from tuimon.ranks.collectives import group_of, lagging_ranks

RANKS = 8
DEVICES = "".join(f"[rank{rank}]: using device cuda:{rank}\n" for rank in range(RANKS))


def timeout(rank: int, group: str, operation: str, seconds: float, enqueued: int, ran: int = 600) -> str:
    """Return the lines of a watchdog about collective 91 of a group."""
    head = (
        f"[rank{rank}]:[E{jobs.stamp(seconds, '%m%d %H:%M:%S')}.5 ProcessGroupNCCL.cpp:683] [PG {group} Rank {rank}] "
    )
    work = f"WorkNCCL(SeqNum=91, OpType={operation}, NumelIn=8, NumelOut=8, Timeout(ms)={ran}000) ran for {ran}018 "
    return (
        f"{head}Watchdog caught collective operation timeout: {work}milliseconds before timing out.\n"
        f"{head}PG status: last enqueued work: {enqueued}, last completed work: 90\n"
    )


def test_rank_that_is_behind_in_the_group_that_waited_first(tmp_path: Path) -> None:
    """Rank 5 stops before a collective of its pair; the pair then is missing in that of all ranks."""
    default, pair = "ID 0 PG GUID 0(default_pg)", "ID 1 PG GUID 22(tp)"
    text = DEVICES + timeout(4, pair, "ALLREDUCE", 700, 91)
    dump = "Received a dump signal. Last enqueued NCCL work: 90, last completed NCCL work: 90.\n"
    text += f"[rank5]:[E0305 10:11:41.1 ProcessGroupNCCL.cpp:1806] [PG {pair} Rank 1] {dump}"
    text += "".join(timeout(rank, default, "ALLGATHER", 705, 95) for rank in (0, 1, 2, 3, 6, 7))
    cause = cause_of(tmp_path, text)
    assert cause.rank == 5
    assert "never joined collective 91 (ALLREDUCE) of group 22" in cause.text


def test_operations_that_do_not_match(tmp_path: Path) -> None:
    group = "ID 0 PG GUID 0(default_pg)"
    text = "".join(timeout(rank, group, "BROADCAST" if rank == 2 else "ALLREDUCE", 700, 92) for rank in range(RANKS))
    cause = cause_of(tmp_path, DEVICES + text)
    assert (cause.rank, cause.rule) == (2, "mismatch")
    assert "rank 2 called BROADCAST of 8 as number 91, 7 ALLREDUCE of 8" in cause.text


def test_report_about_a_desynchronisation(tmp_path: Path) -> None:
    waiting = "".join(timeout(rank, "0", "ALLREDUCE", 700, 92) for rank in range(RANKS))
    report = "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
    behind = "\t   - [3] joined but didn't finish collective #90 (count from 1)\n"
    cause = cause_of(tmp_path / "one", f"{DEVICES}{waiting}{report}{behind}")
    assert (cause.rank, cause.rule) == (3, "desync report")
    sentence = "rank 3 joined but didn't finish collective #90, by torch's report"
    assert cause.text == f"{sentence}; 7 ranks waited 10 m (1.2 GPU hours)"
    all_of_them = behind.replace("[3]", "[0,1,2,3,4,5,6,7]")
    cause = cause_of(tmp_path / "all", f"{DEVICES}{waiting}{report}{all_of_them}")
    assert cause.rank is None
    assert cause.text.startswith("cannot tell: 8 of 8 ranks timed out")


def test_watchdog_without_progress(tmp_path: Path) -> None:
    stuck = "[rank5]:[F0305 10:11:41.1 ProcessGroupNCCL.cpp:1557] ProcessGroupNCCL's watchdog got stuck for 480 seconds"
    cause = cause_of(tmp_path, f"{DEVICES}{stuck} without making progress in monitoring enqueued collectives.\n")
    assert cause.rank == 5
    assert cause.text == "perhaps rank 5: its NCCL watchdog made no progress for 480 s"


def test_names_of_groups_by_version() -> None:
    assert group_of("[PG 0 Rank 3] Timeout") == ""
    assert group_of("[PG 1 Rank 3] Timeout") == "1"
    assert group_of("[PG 0 (default_pg) Rank 3] x") == ""
    assert group_of("[PG ID 1PG GUID 20(mesh_tp)  Rank 1] x") == "20"
    assert group_of("[PG ID 0 PG GUID 0(default_pg) Rank 3] x") == ""
    assert group_of("no group") == ""
    assert lagging_ranks("ranks [4, 7] are the lagging ranks that caused this timeout.") == (
        [4, 7],
        "never joined any collective",
    )
