"""Words about ranks for the sentences of a verdict."""

from __future__ import annotations

from typing import TypeAlias

from tuimon.ranks.evidence import Evidence, Failure
from tuimon.text import first_names, local_time

CLOCKS_DIFFER = 2.0
"""Seconds by which the clocks of nodes may differ."""
Key: TypeAlias = tuple[str, int]
"""(role, rank)."""


def name_of(evidence: Evidence, key: Key, node: str = "") -> str:
    """Return "rank 5 (node01, local rank 5)", as far as it is known."""
    rank = evidence.rank(key)
    place = node or rank.node
    local = f"local rank {rank.local_rank}" if rank.local_rank is not None else ""
    inside = ", ".join(part for part in (place, local) if part)
    return f"{key[0] + ' ' if key[0] else ''}rank {key[1]}" + (f" ({inside})" if inside else "")


def when(failure: Failure) -> str:
    """Return " at 03:12:07"; " after" the time of an earlier line if the failure has none of its own; "" if unknown."""
    clock = "" if failure.time is None else local_time(failure.time)
    return f" {'at' if failure.exact else 'after'} {clock}" if clock else ""


def on_node(node: str) -> str:
    """Return " on node01", or "" if the node is unknown."""
    return f" on {node}" if node else ""


def listed(ranks: list[int]) -> str:
    """Return "ranks 3, 7 and 2 more", or "ranks 8 to 15" for more than two that follow one another."""
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[0] + len(ranks))):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"rank{'s' if len(ranks) > 1 else ''} {first_names([str(rank) for rank in ranks], 8)}"


def waiting_time(failures: list[Failure], blamed: int | None = None) -> str:
    """Return "; 15 ranks waited 10 m (2.5 GPU hours)" for the collectives that timed out, with one GPU per rank.

    "" if no line says how long a collective had run. blamed: rank that the others waited for.
    """
    waited: dict[Key, float] = {}
    for failure in failures:
        collective = failure.collective
        if failure.key is not None and failure.key[1] != blamed and collective is not None and collective.seconds:
            waited[failure.key] = max(collective.seconds, waited.get(failure.key, 0.0))
    if not waited:
        return ""
    longest, total = max(waited.values()), sum(waited.values())
    length = (
        f"{longest:.0f} s"
        if longest < 120
        else f"{longest / 60:.0f} m"
        if longest < 7200
        else f"{longest / 3600:.1f} h"
    )
    is_equal = min(waited.values()) > 0.9 * longest
    return (
        f"; {len(waited)} rank{'s' * (len(waited) > 1)} waited {'' if is_equal else 'up to '}{length}"
        f" ({total / 3600:.2g} GPU hours)"
    )


def unknown(evidence: Evidence, facts: str, moment: float | None = None) -> str:
    """Return the sentence that the facts do not suffice, and what would show more. moment: time of the failure (s since
    the epoch), if it is known."""
    steps = {rank.last_step for rank in evidence.ranks.values() if rank.last_step is not None}
    if moment is not None and evidence.step_times:
        steps = {step for step, (first, _) in evidence.step_times.items() if first <= moment + CLOCKS_DIFFER}
    where = f" at step {max(steps)}" if steps else ""
    return f"cannot tell: {facts}{where}; TORCH_NCCL_DESYNC_DEBUG=1 and torchrun --redirects 3 would show more"
