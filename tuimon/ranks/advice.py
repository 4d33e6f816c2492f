"""Advice about a failed, hanging or slow rank: which log to open, which node to look at, and what to try.

Where the cause is a guess, the advice is a condition: "if it repeats".
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.model.ranks import RankRow, RootCause
from tuimon.ranks.hangs import HANGS
from tuimon.text import clean

_GPU_MEMORY = re.compile(r"(?:CUDA|GPU|CUDA error:) out of memory|torch\.(?:cuda\.)?OutOfMemoryError|HIP out of memory")
_HOST_MEMORY = re.compile(
    r"out of host memory|[Oo]ut of memory: Killed|"
    r"Out Of Memory|oom[-_]kill|OOMKilled|Killed process|low on memory|Memory on the node|Memory cgroup|\bOOM Killed\b"
)
_LESS_GPU_MEMORY = "try a smaller micro-batch, shorter sequences or more sharding"
_LESS_HOST_MEMORY = "try fewer data loader workers, or ask for more memory"
_SEGMENT = re.compile(r"Segmentation fault|Fatal Python error|Bus error|SIGSEGV|SIGBUS|Signal (?:7|11)\b")


def of_failure(cause: RootCause, row: RankRow | None) -> str:
    """Return the advice about the end of a job, or ""; row: the rank that is blamed."""
    where, log = _where(cause, row), _log(cause)
    text = f"{cause.text}\n{cause.evidence}"
    if cause.rule == "order":
        if "NODE FAILURE" in text or "Node failure" in text:
            return f"drain {clean(cause.node) or 'the node'}, then resume from the last checkpoint"
        return "no rank is to blame: resume from the last checkpoint"
    if cause.rule == "common cause":
        return f"nearly all ranks failed alike: look at code, settings, data or a shared disk, not at one node{log}"
    if cause.rule == "mismatch":
        return f"the ranks ran different code paths: compare their logs before that collective{log}"
    if cause.rule == "lost node":
        return f"see whether {where} is up and what its kernel log says; drain it if it went down"
    if cause.rule == "hardware failure":
        return f"drain {where}; nvidia-smi -q and its kernel log (dmesg) say whether the GPU needs a reset or a repair"
    if cause.rule in HANGS:
        node = f" on {clean(cause.node)}" if cause.node else ""
        waits = f"while it runs, py-spy dump{node} shows where it waits"
        return f"see what it did last{log}; {waits}; if it repeats there, drain {where}"
    if _GPU_MEMORY.search(text):
        return f"{_LESS_GPU_MEMORY}{log}; R compares the memory of the ranks"
    if _HOST_MEMORY.search(text):
        return f"the memory of {where} was used up: {_LESS_HOST_MEMORY}{log}"
    if _SEGMENT.search(text):
        return f"PYTHONFAULTHANDLER=1 prints the Python stack of such a crash; if it repeats there, drain {where}{log}"
    if cause.rule in ("process killed", "signal"):
        return f"if dmesg on {where} names the out-of-memory killer, give the job more memory, else see the log{log}"
    return f"see the traceback{log}" if log and cause.rule == "exception" else ""


def of_scheduler(evidence: str) -> str:
    """Return the advice about a job that the scheduler ended, or "" for another end."""
    if "DUE TO TIME LIMIT" in evidence:
        return "resume from the last checkpoint; a longer --time or fewer steps a job prevent it"
    if "Node failure on " in evidence or "DUE TO NODE FAILURE" in evidence:
        return "resume from the last checkpoint on other nodes (--exclude)"
    return "resume from the last checkpoint" if "DUE TO PREEMPTION" in evidence else ""


def of_used_memory(evidence: str) -> str:
    """Return the advice about the end of a single process that had no memory left, or "" for another end."""
    if _GPU_MEMORY.search(evidence):
        return _LESS_GPU_MEMORY
    return _LESS_HOST_MEMORY if _HOST_MEMORY.search(evidence) else ""


def of_slow_rank(row: RankRow | None) -> str:
    """Return the advice about a rank that computes longer than the others."""
    node = clean(row.node) if row is not None and row.node else "its node"
    return (
        "nvidia-smi -q -d PERFORMANCE,TEMPERATURE says whether the clock of its GPU is lowered; if so, drain "
        f"{node}, else compare the data and the load of the rank"
    )


def of_slow_node(node: str) -> str:
    """Return the advice about a node whose ranks are all slow."""
    return f"see power, cooling, network and other programs on {clean(node)}; if it stays slow, drain it"


def of_nan(row: RankRow) -> str:
    """Return the advice about a rank whose loss or gradient is not a number."""
    where = f", drain {clean(row.node)}" if row.node else ", drain the node"
    return f"look at the data of this rank at that step; if it repeats on the same GPU with other data{where}"


def of_lost(node: str) -> str:
    """Return the advice about a job that goes on with fewer ranks."""
    which = clean(node) or "the node of the lost ranks"
    return (
        f"see whether {which} is up; fewer ranks may mean a smaller global batch: check it, or restart with all nodes"
    )


def of_silent(ranks: list[int]) -> str:
    """Return the advice about ranks that write nothing."""
    return f"see the end of the log of rank {ranks[0]} (Enter in R); while it runs, py-spy dump shows where it waits"


def _where(cause: RootCause, row: RankRow | None) -> str:
    return clean(cause.node) or (clean(row.node) if row is not None else "") or "its node"


def _log(cause: RootCause) -> str:
    """Return " (open PATH)" for the log with the evidence, or ""."""
    return f" (open {clean(cause.place.path)})" if cause.place is not None and cause.place.path else ""
