"""Parse the reports of NCCL's watchdog and of torch about collectives: the work of a rank, timeouts, and lagging ranks.

    [PG ID 0 PG GUID 0(default_pg) Rank 3] … PG status: last enqueued work: 364, last completed work: 360
    WorkNCCL(SeqNum=361, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600057 milliseconds
    [47] joined but didn't finish collective #41207 (count from 1)                    with TORCH_NCCL_DESYNC_DEBUG=1
    ranks [47] are the lagging ranks that caused this timeout. They never joined any collectives

Source: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp and TraceUtils.h, 2.0 to 2.13.
"""

from __future__ import annotations

from msgspec import Struct

from tuimon import lazy_re as re

DEFAULT = ""
"""Name of the group of all ranks, and of the group in lines that name none."""
_GROUP = re.compile(r"\[PG (?:ID )?(\w+?)\s*(?:PG GUID ([^\s\](]+))?\s*(?:\(([^)]*)\)\s*)?Rank \d+\]")
_WORK = re.compile(r"[Ll]ast enqueued(?: NCCL)? work: (-?\d+), last completed(?: NCCL)? work: (-?\d+)")
_TIMEOUT = re.compile(r"SeqNum=(\d+), OpType=(\w+)(?:, NumelIn=(\d+))?.*?Timeout\(ms\)=\d+\)(?: ran for (\d+))?")
_LAGGING = re.compile(
    r"\[([\d, ]+)\] (joined but didn't finish collective #?\d+|"
    r"finished collective #?\d+, but didn't join collective #?\d+)"
)
_ABSENT = re.compile(r"ranks \[([\d, ]+)\] are the lagging ranks")
_SAME_SIZE = ("ALLREDUCE", "BROADCAST")
"""Operations that have as many elements on all ranks."""
_STUCK = re.compile(r"watchdog got stuck for (\d+) seconds")


class CollectiveWork(Struct):
    """The work of a rank in a process group."""

    enqueued: int
    completed: int


class Collective(Struct, frozen=True):
    """A collective that timed out."""

    group: str
    sequence: int
    operation: str
    """Such as ALLREDUCE; with the number of elements where it is the same on all ranks."""
    seconds: float
    """Time for which it had run; 0 if the line does not say."""


def group_of(text: str) -> str:
    """Return the name of the process group that a line is about; "" for that of all ranks, or if none is named."""
    match = _GROUP.search(text) if "[PG " in text else None
    if match is None or (match[2] or match[1]) == "0" or match[3] == "default_pg" or match[1] == "default_pg":
        return DEFAULT
    return str(match[2] or match[1])


def progress_of(text: str) -> CollectiveWork | None:
    """Return the work that a line reports."""
    match = _WORK.search(text) if "enqueued" in text else None
    return CollectiveWork(int(match[1]), int(match[2])) if match else None


def collective_of(text: str) -> Collective | None:
    """Return the collective whose timeout a line reports."""
    match = _TIMEOUT.search(text)
    if match is None:
        return None
    size = f" of {match[3]}" if match[2] in _SAME_SIZE and match[3] else ""
    return Collective(group_of(text), int(match[1]), match[2] + size, int(match[4] or 0) / 1000)


def lagging_ranks(text: str) -> tuple[list[int], str] | None:
    """Return (ranks, what the report says of them) for a line of the report about ranks that are behind."""
    if "collective" not in text and "lagging" not in text:
        return None
    if match := _LAGGING.search(text):
        return _numbers(match[1]), match[2]
    if match := _ABSENT.search(text):
        return _numbers(match[1]), "never joined any collective"
    return None


def stuck_seconds(text: str) -> int:
    """Return the seconds for which the watchdog of a rank made no progress; 0 if the line reports no such thing."""
    match = _STUCK.search(text) if "got stuck" in text else None
    return int(match[1]) if match else 0


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]
