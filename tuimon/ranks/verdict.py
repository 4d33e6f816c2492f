"""The verdict about a job of many ranks: the rank that ended it, the ranks that went silent, and the slow ones."""

from __future__ import annotations

import re
import time
from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.ranks import RootCause, Straggler
from tuimon.ranks.evidence import Evidence, Failure
from tuimon.ranks.lines import APPLICATION, CAUSES, CONSEQUENCE, HARDWARE, KILLED, OUTSIDE, SIGNAL, TIMEOUT
from tuimon.ranks.stragglers import find_stragglers

Key = tuple[str, int]
_SAME_TIME = 2.0
_COMMON_SHARE = 0.8
_PROGRESS_STEPS = 3
_HANGS_AFTER = 60.0
"""Seconds without a line of any rank after which unequal steps count as a hang."""


class Verdict(Struct):
    """Conclusions about the ranks of a job."""

    count: int
    root_cause: RootCause | None
    stragglers: list[Straggler]
    silent: list[int]


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict that the evidence supports."""
    evidence = identified(evidence)
    keys = members(evidence)
    cause, silent = _root_cause(evidence, keys)
    if cause is not None and cause.time is not None:
        limit = cause.time + _SAME_TIME
        cause.resolved = sum(last > limit for _, last in evidence.step_times.values()) >= _PROGRESS_STEPS
    return Verdict(len(keys), cause, find_stragglers(evidence.own_times), silent)


def members(evidence: Evidence) -> list[Key]:
    """Return the ranks; those without a role are left out if roles have the same numbers."""
    with_role = {rank for role, rank in evidence.ranks if role}
    return sorted(key for key in evidence.ranks if key[0] or key[1] not in with_role)


def identified(evidence: Evidence) -> Evidence:
    """Return the evidence with the rank of each failure whose line names only a process or a GPU."""
    evidence = replace(evidence, failures=[replace(failure) for failure in evidence.failures])
    for failure in evidence.failures:
        if failure.key is not None and failure.key not in evidence.ranks:
            failure.key = None
        if failure.pid is not None and failure.key is None:
            failure.key = evidence.pids.get((failure.node, failure.pid))
            if failure.key is None:
                same = {key for (_, pid), key in evidence.pids.items() if pid == failure.pid}
                failure.key = same.pop() if len(same) == 1 else None
        if failure.bus:
            # The file of a node's kernel log is often all that names the node.
            words = re.split(r"[/._]|-(?=[A-Za-z])", failure.place.path)
            for node in (failure.node, *(word for word in words if word in evidence.on_node)):
                index = evidence.buses.get((node, failure.bus))
                if index is not None:
                    failure.node, failure.key = node, _at_gpu(evidence, node, index)
                    break
    return evidence


def _at_gpu(evidence: Evidence, node: str, index: int) -> Key | None:
    """Return the rank at a GPU: the one of this local rank, or in the order of ranks if all use a GPU each."""
    keys = sorted(evidence.on_node.get(node, ()))
    return keys[index] if index < len(keys) else None


def _last_episode(evidence: Evidence) -> list[Failure]:
    """Return the failures after the last progress that was followed by a failure, and those without a time.

    A new episode begins where several new steps were reported since the failure before. Errors of later attempts that
    made no progress therefore belong to the failure that they follow.
    """
    timed = sorted((f for f in evidence.failures if f.time is not None), key=lambda f: f.time or 0.0)
    steps = sorted((moment, step) for step, times in evidence.step_times.items() for moment in set(times))
    begin = 0
    for index in range(1, len(timed)):
        first, second = timed[index - 1].time or 0.0, timed[index].time or 0.0
        if timed[index].kind > SIGNAL and timed[index].kind != TIMEOUT:
            continue
        if second - first > _SAME_TIME:
            between = {step for moment, step in steps if first + _SAME_TIME < moment < second}
            if len(between) >= _PROGRESS_STEPS:
                begin = index
    return timed[begin:] + [f for f in evidence.failures if f.time is None]


def _root_cause(evidence: Evidence, keys: list[Key]) -> tuple[RootCause | None, list[int]]:
    failures = _last_episode(evidence)
    outside = min((f.time for f in failures if f.kind == OUTSIDE and f.time is not None), default=None)
    candidates = [f for f in failures if f.kind <= SIGNAL and not _is_late(f, outside, failures)]
    if candidates:
        kind = min(f.kind for f in candidates)
        candidates = [f for f in candidates if f.kind == kind]
        return _of_kind(evidence, kind, candidates, failures, keys), []
    if not any(f.kind in (TIMEOUT, CONSEQUENCE) for f in failures):
        return _unfinished(evidence, keys)
    return _hang(evidence, keys, failures)


def _is_late(failure: Failure, outside: float | None, failures: list[Failure]) -> bool:
    """Does the failure follow from an order from outside, or come after the timeouts that it would explain?"""
    if failure.kind in (APPLICATION, SIGNAL, KILLED) and failure.time is not None and failure.exact:
        timeouts = [f.time for f in failures if f.kind == TIMEOUT and f.time is not None]
        if timeouts and failure.time > min(timeouts) + _SAME_TIME:
            return True
        return outside is not None and failure.time > outside
    return False


def _of_kind(
    evidence: Evidence, kind: int, candidates: list[Failure], failures: list[Failure], keys: list[Key]
) -> RootCause:
    known = [f for f in candidates if f.key is not None]
    candidates = (known or candidates) if kind != OUTSIDE else candidates
    candidates = sorted(candidates, key=lambda f: (f.time is None, f.time or 0.0, f.place.path, f.place.line))
    first = candidates[0]
    ranks = {f.key for f in candidates if f.key is not None}
    if kind == OUTSIDE:
        return RootCause(
            None, first.node, f"stopped from outside: {first.text}", first.text, first.place, "order", first.time
        )
    if len(keys) > 2 and len(ranks) >= _COMMON_SHARE * len(keys):
        text = f"{len(ranks)} of {len(keys)} ranks: {first.text}"
        return RootCause(None, "", text, first.text, first.place, "common cause")
    follows = _consequences(failures, first)
    if first.key is None:
        text = f"an unknown rank{_on(first.node)}{_when(first)}: {first.text}{follows}"
        return RootCause(None, first.node, text, first.text, first.place, CAUSES[kind])
    equal = {f.key for f in candidates if f.time is not None and first.time is not None}
    equal &= {f.key for f in candidates if abs((f.time or 0) - (first.time or 0)) <= _SAME_TIME}
    also = sorted(key[1] for key in equal if key is not None and key != first.key)
    also_text = f" (at once with {_listed(also)})" if also else ""
    text = f"{_name(evidence, first.key, first.node)}{_when(first)}{also_text}: {first.text}{follows}"
    node = first.node or evidence.rank(first.key).node
    return RootCause(first.key[1], node, text, first.text, first.place, CAUSES[kind], first.time)


def _hang(evidence: Evidence, keys: list[Key], failures: list[Failure]) -> tuple[RootCause | None, list[int]]:
    """Find the rank that did not join a collective: by NCCL's counters, or as the only one without a timeout."""
    work = {key: evidence.rank(key).progress for key in keys}
    enqueued = {key: progress.enqueued for key, progress in work.items() if progress is not None}
    timed_out = {f.key for f in failures if f.kind == TIMEOUT and f.key is not None}
    behind: list[Key] = []
    if enqueued and min(enqueued.values()) < max(enqueued.values()):
        behind = [key for key, count in enqueued.items() if count == min(enqueued.values())]
    quiet = [key for key in keys if key not in timed_out] if len(timed_out) * 2 >= len(keys) else []
    suspects = [key for key in behind if key in quiet] or behind or quiet
    if suspects and len(suspects) * 2 < len(keys):
        certainty = "" if behind and quiet else "perhaps "
        collective = f" collective {evidence.collective}" if evidence.collective else " the collective"
        first = evidence.rank(suspects[0])
        if len(suspects) == 1:
            text = f"{certainty}{_name(evidence, suspects[0])} never joined{collective}; {len(timed_out)} timed out"
            cause = RootCause(suspects[0][1], first.node, text, first.last_line, first.place, "NCCL's counters")
        else:
            text = f"{certainty}{_listed([key[1] for key in suspects])} never joined{collective}"
            cause = RootCause(None, "", text, first.last_line, first.place, "NCCL's counters")
        return cause, sorted(key[1] for key in suspects if key in quiet)
    if timed_out:
        return RootCause(None, "", _unknown(evidence, f"{len(timed_out)} of {len(keys)} ranks timed out")), []
    lost = [f for f in failures if f.kind == CONSEQUENCE and f.key is not None]
    if not any("SIGTERM" not in f.text and "SignalException" not in f.text for f in lost):
        return _unfinished(evidence, keys)
    return _lost_node(evidence, keys, lost), []


def _lost_node(evidence: Evidence, keys: list[Key], lost: list[Failure]) -> RootCause:
    """Blame the node that reported nothing while ranks of others lost a peer; no rank is blamed."""
    first = min(lost, key=lambda f: (f.time is None, f.time or 0.0))
    nodes = {evidence.rank(key).node for key in keys if evidence.rank(key).node}
    speaking = {f.node or (evidence.rank(f.key).node if f.key else "") for f in lost}
    silent = sorted(nodes - speaking)
    if len(silent) == 1 and len(nodes) > 1:
        text = f"perhaps {silent[0]} was lost: its ranks reported no error, and {len(lost)} lines of others a lost peer"
        return RootCause(None, silent[0], text, first.text, first.place, "lost node", first.time)
    return RootCause(
        None, "", _unknown(evidence, f"{len(lost)} lines report a lost peer"), first.text, first.place, "", first.time
    )


def _unfinished(evidence: Evidence, keys: list[Key]) -> tuple[RootCause | None, list[int]]:
    """Find the only rank that is not at the step of the others in a job that reports no error."""
    steps = {key: evidence.rank(key).last_step for key in keys}
    known = {key: step for key, step in steps.items() if step is not None}
    if evidence.finished or evidence.quiet_for < _HANGS_AFTER or len(known) < 3 or len(known) < len(keys):
        return None, []
    usual, count = Counter(known.values()).most_common(1)[0]
    begun = [key for key in keys if (evidence.rank(key).begun_step or 0) == usual + 1]
    behind = [key for key, step in known.items() if step <= usual - evidence.rank(key).stride]
    suspects = behind if count == len(keys) - 1 and behind else begun if count == len(keys) else []
    if len(suspects) != 1:
        return None, []
    rank = evidence.rank(suspects[0])
    what = f"stopped before step {usual}" if behind else f"began step {usual + 1} and did not end it"
    text = f"perhaps {_name(evidence, suspects[0])} {what}; {count - (not behind)} others reached step {usual}"
    return RootCause(suspects[0][1], rank.node, text, rank.last_line, rank.place, "steps"), [suspects[0][1]]


def _unknown(evidence: Evidence, facts: str) -> str:
    steps = {rank.last_step for rank in evidence.ranks.values() if rank.last_step is not None}
    where = f" at step {max(steps)}" if steps else ""
    return f"cannot tell: {facts}{where}; TORCH_NCCL_DESYNC_DEBUG=1 and torchrun --redirects 3 would show more"


def _name(evidence: Evidence, key: Key, node: str = "") -> str:
    """Return "rank 5 (node01 gpu5)", as far as it is known."""
    rank = evidence.rank(key)
    place = node or rank.node
    local = f"local rank {rank.local_rank}" if rank.local_rank is not None else ""
    inside = ", ".join(part for part in (place, local) if part)
    return f"{key[0] + ' ' if key[0] else ''}rank {key[1]}" + (f" ({inside})" if inside else "")


def _when(failure: Failure) -> str:
    """Return " at 03:12:07"; " after" the time of an earlier line if the failure has none of its own; "" if unknown."""
    if failure.time is None:
        return ""
    try:
        clock = time.strftime("%H:%M:%S", time.localtime(failure.time))
    except (ValueError, OverflowError, OSError):
        return ""
    return f" {'at' if failure.exact else 'after'} {clock}"


def _on(node: str) -> str:
    return f" on {node}" if node else ""


def _listed(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{more}"


def _consequences(failures: list[Failure], first: Failure) -> str:
    """Return the words about what followed: the number of ranks by kind."""
    counts: Counter[int] = Counter()
    for kind, _ in {(f.kind, f.key) for f in failures if f.key is not None and f.key != first.key}:
        counts[kind] += kind in (TIMEOUT, CONSEQUENCE, HARDWARE)
    words = [f"{count} × {CAUSES[kind]}" for kind, count in sorted(counts.items()) if count]
    return f"; then {', '.join(words)}" if words else ""
