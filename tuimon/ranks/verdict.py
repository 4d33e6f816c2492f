"""The verdict about a job of many ranks: the rank that ended it, the ranks that went silent, and the slow ones."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from tuimon.model.ranks import RootCause, Straggler
from tuimon.ranks.evidence import Evidence, Failure
from tuimon.ranks.hangs import hang_cause, is_order, unfinished_cause
from tuimon.ranks.lines import APPLICATION, CAUSES, CONSEQUENCE, EXIT, HARDWARE, KILLED, OUTSIDE, SIGNAL, TIMEOUT
from tuimon.ranks.stragglers import find_stragglers
from tuimon.ranks.wording import CLOCKS_DIFFER, Key, listed, name_of, on_node, waiting_time, when

_SAME_TIME = CLOCKS_DIFFER
_COMMON_SHARE = 0.8
_PROGRESS_STEPS = 3
_LONGEST_MESSAGE = 240
"""Characters of an exception in the sentence; `RootCause.evidence` has more."""


class Verdict(Struct):
    """Conclusions about the ranks of a job."""

    count: int
    root_cause: RootCause | None
    stragglers: list[Straggler]
    silent: list[int]
    lost: list[Key]
    """Ranks that are not a part of the job any more since it was restarted."""


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict that the evidence supports."""
    evidence = identified(evidence)
    keys = members(evidence)
    cause, silent = _root_cause(evidence, [key for key in keys if key not in evidence.lost])
    has_later_attempt = cause is not None and _resume(cause, evidence)
    if cause is not None and cause.time is not None:
        limit = cause.time + _SAME_TIME
        again = [step for step, (_, last) in evidence.step_times.items() if last > limit]
        cause.resolved |= len(again) >= _PROGRESS_STEPS
        before = [step for step, (first, _) in evidence.step_times.items() if first <= limit]
        if cause.resolved and before:
            cause.step = max(before)
    if has_later_attempt:
        return Verdict(len(keys), cause, find_stragglers(evidence.own_times), silent, [])
    lost = _lost_ranks(evidence, keys, cause) if cause is not None and cause.resolved else []
    return Verdict(len(keys), cause, find_stragglers(evidence.own_times), silent, lost)


def _resume(cause: RootCause, evidence: Evidence) -> bool:
    """Mark a cause as resolved, and return True, if a later attempt of the training has gone on in a file of its own.

    No rank counts as lost then: each attempt may log on another rank.
    """
    number = evidence.attempts.get(cause.place.path) if cause.place is not None else None
    if number is None or number >= max(evidence.attempts.values()):
        return False
    cause.resolved = True
    cause.count = max(cause.count, len({other for other in evidence.attempts.values() if other <= number}))
    return True


def _lost_ranks(evidence: Evidence, keys: list[Key], cause: RootCause) -> list[Key]:
    """Return the ranks that reported steps up to a failure and none of those that others reached after it."""
    ranks = {key: evidence.rank(key) for key in keys}
    newest = max((rank.last_step for rank in ranks.values() if rank.last_step is not None), default=0)
    if cause.step is None:
        return []
    return [
        key
        for key, rank in ranks.items()
        if rank.last_step is not None
        and rank.last_step <= cause.step
        and newest >= cause.step + _PROGRESS_STEPS * rank.stride
        and (rank.last_time is None or cause.time is None or rank.last_time <= cause.time + _SAME_TIME)
    ]


def members(evidence: Evidence) -> list[Key]:
    """Return the ranks; those without a role are left out if roles have the same numbers."""
    with_role = {rank for role, rank in evidence.ranks if role}
    return sorted(key for key in evidence.ranks if key[0] or key[1] not in with_role)


def identified(evidence: Evidence) -> Evidence:
    """Return the evidence with the rank of each failure whose line names only a process or a GPU."""
    evidence = replace(evidence, failures=[replace(failure) for failure in evidence.failures])
    for failure in evidence.failures:
        if failure.key is not None and (failure.key not in evidence.ranks or _is_other_task(evidence, failure)):
            failure.key = None
        if failure.pid is not None and failure.key is None:
            failure.key = evidence.pids.get((failure.node, failure.pid))
            if failure.key is None:
                same = {key for (_, pid), key in evidence.pids.items() if pid == failure.pid}
                failure.key = same.pop() if len(same) == 1 else None
        process = (failure.node, failure.pid) if failure.pid is not None else None
        if process in evidence.processes and not failure.exact:  # it lived at least until then
            failure.time = max(evidence.processes[process], failure.time or 0.0)
        if failure.bus:
            # The file of a node's kernel log is often all that names the node.
            words = re.split(r"[/._]|-(?=[A-Za-z])", failure.place.path)
            for node in (failure.node, *(word for word in words if word in evidence.on_node)):
                index = evidence.buses.get((node, failure.bus))
                if index is not None:
                    failure.node, failure.key = node, _at_gpu(evidence, node, index)
                    break
    return evidence


def _is_other_task(evidence: Evidence, failure: Failure) -> bool:
    """Is the number of a Slurm task not that of a rank, as each task starts several ranks, or is on another node?"""
    if not failure.is_task or failure.key is None:
        return False
    node = evidence.rank(failure.key).node
    return evidence.has_agents or bool(node and failure.node and node.split(".")[0] != failure.node.split(".")[0])


def _at_gpu(evidence: Evidence, node: str, index: int) -> Key | None:
    """Return the rank at a GPU: the one of this local rank, or in the order of ranks if all use a GPU each."""
    keys = sorted(evidence.on_node.get(node, ()))
    return keys[index] if index < len(keys) else None


def _last_episode(evidence: Evidence) -> tuple[list[Failure], int]:
    """Return the failures after the last progress that was followed by a failure, and those without a time; and the
    number of episodes, without those whose time is only that of another line.

    A new episode begins where several new steps were reported since the failure before. Errors of later attempts that
    made no progress therefore belong to the failure that they follow. Failures in the file of an earlier attempt are
    over once a later attempt has failed.
    """
    known = [evidence.attempts.get(failure.place.path) for failure in evidence.failures]
    failed = {attempt for attempt in known if attempt is not None}
    last = max(failed, default=0)
    failures = [f for f, a in zip(evidence.failures, known, strict=True) if a is None or a == last]
    timed = sorted((f for f in failures if f.time is not None), key=lambda f: f.time or 0.0)
    steps = sorted((moment, step) for step, times in evidence.step_times.items() for moment in set(times))
    begin, episodes = 0, max(len(failed), 1)
    for index in range(1, len(timed)):
        first, second = timed[index - 1].time or 0.0, timed[index].time or 0.0
        if timed[index].kind > SIGNAL and timed[index].kind != TIMEOUT:
            continue
        if second - first > _SAME_TIME:
            between = {step for moment, step in steps if first + _SAME_TIME < moment < second}
            if len(between) >= _PROGRESS_STEPS:
                episodes += any(failure.exact for failure in timed[begin:index])
                begin = index
    return timed[begin:] + [f for f in failures if f.time is None], episodes


def _root_cause(evidence: Evidence, keys: list[Key]) -> tuple[RootCause | None, list[int]]:
    failures, episodes = _last_episode(evidence)
    cause, silent = _cause_of(evidence, failures, keys)
    if cause is not None:
        cause.count = episodes
        cause.text += waiting_time(failures, cause.rank)
    return cause, silent


def _cause_of(evidence: Evidence, failures: list[Failure], keys: list[Key]) -> tuple[RootCause | None, list[int]]:
    outside = min((f.time for f in failures if f.kind == OUTSIDE and f.time is not None), default=None)
    candidates = [f for f in failures if f.kind <= SIGNAL and not _is_late(f, outside, failures)]
    if candidates:
        kind = min(f.kind for f in candidates)
        candidates = [f for f in candidates if f.kind == kind]
        return _of_kind(evidence, kind, candidates, failures, keys), []
    if any(f.kind in (TIMEOUT, CONSEQUENCE) for f in failures):
        cause, silent = hang_cause(evidence, keys, failures)
    else:
        cause, silent = unfinished_cause(evidence, keys)
    if cause is None or (cause.rank is None and not cause.node):
        cause = _first_exit(evidence, failures) or cause
    return cause, silent


def _first_exit(evidence: Evidence, failures: list[Failure]) -> RootCause | None:
    """Blame the rank that a launcher reports first, if it ended with an error code and no line says why."""
    lost = any(f.kind == TIMEOUT or (f.kind == CONSEQUENCE and not is_order(f)) for f in failures)
    exits = [f for f in failures if f.kind == EXIT and (f.key is not None or f.node)]
    if lost or not exits:
        return None
    first = min(exits, key=lambda f: (f.time is None, f.time or 0.0, f.place.path, f.place.offset))
    name = name_of(evidence, first.key, first.node) if first.key else f"a rank{on_node(first.node)}"
    text = f"perhaps {name}{when(first)}: {first.text}; no line says why"
    return RootCause(
        first.key[1] if first.key else None, first.node, text, first.text, first.place, "first exit", first.time
    )


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
        text = f"an unknown rank{on_node(first.node)}{when(first)}: {_short(first.text)}{follows}"
        return RootCause(None, first.node, text, first.text, first.place, CAUSES[kind])
    equal = {f.key for f in candidates if f.time is not None and first.time is not None}
    equal &= {f.key for f in candidates if abs((f.time or 0) - (first.time or 0)) <= _SAME_TIME}
    also = sorted(key[1] for key in equal if key is not None and key != first.key)
    also_text = f" (at once with {listed(also)})" if also else ""
    text = f"{name_of(evidence, first.key, first.node)}{when(first)}{also_text}: {_short(first.text)}{follows}"
    node = first.node or evidence.rank(first.key).node
    return RootCause(first.key[1], node, text, first.text, first.place, CAUSES[kind], first.time)


def _short(text: str) -> str:
    """Return the first sentences of a message: torch's about memory goes on for 500 characters."""
    text = text.split(" Of the allocated memory")[0].rstrip(".")
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1].rstrip() + "…"


def _consequences(failures: list[Failure], first: Failure) -> str:
    """Return the words about what followed: the number of ranks by the kind of their first failure."""
    kinds: dict[Key, int] = {}
    for failure in failures:
        if failure.key is not None and failure.key != first.key and failure.kind in (TIMEOUT, CONSEQUENCE, HARDWARE):
            kinds[failure.key] = min(failure.kind, kinds.get(failure.key, failure.kind))
    if not kinds:
        return ""
    words = [f"{count} × {CAUSES[kind]}" for kind, count in sorted(Counter(kinds.values()).items())]
    return f"; {len(kinds)} rank{'s' if len(kinds) > 1 else ''} followed: {', '.join(words)}"
