"""The cause of a job that stopped without an exception: the rank or the node for which the others waited."""

from __future__ import annotations

from collections import Counter
from math import inf
from operator import itemgetter

from tuimon import lazy_re as re
from tuimon.model.ranks import RootCause
from tuimon.ranks.collectives import DEFAULT, Collective
from tuimon.ranks.evidence import Evidence, Failure
from tuimon.ranks.lines import CONSEQUENCE, TIMEOUT
from tuimon.ranks.wording import CLOCKS_DIFFER, Key, listed, name_of, unknown
from tuimon.text import clean

_LOST_STORE = re.compile(r"(?:[\w.]+\.)?(?:RendezvousConnectionError|DistStoreError)\b")
HANGS_AFTER = 60.0
"""Seconds without a line of any rank after which unequal steps count as a hang."""
HANGS = frozenset(("NCCL's counters", "desync report", "stuck watchdog", "steps"))
"""Rules of the causes whose rank waits or works on, and has not failed."""


def hang_cause(evidence: Evidence, keys: list[Key], failures: list[Failure]) -> tuple[RootCause | None, list[int]]:
    """Find the rank that did not join a collective: by torch's report, by collectives that do not match, by NCCL's
    counters, or as the only one without a timeout."""
    timeouts = [f for f in failures if f.kind == TIMEOUT]
    timed_out = {f.key for f in timeouts if f.key is not None}
    if cause := _lagging(evidence, keys) or _mismatch(evidence, timeouts):
        return cause, []
    for group, collective in _groups(evidence, keys, timeouts):
        work = {key: evidence.rank(key).progress[group] for key in keys if group in evidence.rank(key).progress}
        members = keys if group == DEFAULT else list(work)
        least = min((progress.enqueued for progress in work.values()), default=0)
        behind = [key for key, progress in work.items() if progress.enqueued == least]
        behind = behind if len(behind) < len(work) else []
        quiet = [key for key in members if key not in timed_out]
        quiet = quiet if (len(members) - len(quiet)) * 2 >= len(members) else []
        suspects = [key for key in behind if key in quiet] or behind or quiet
        if suspects and len(suspects) * 2 < len(members) + bool(behind):
            return _absent(evidence, suspects, bool(behind and quiet), collective, len(timed_out)), sorted(
                key[1] for key in suspects if key in quiet
            )
    if cause := _stuck(evidence, keys):
        return cause, []
    if timed_out:
        return RootCause(None, "", unknown(evidence, f"{len(timed_out)} of {len(keys)} ranks timed out")), []
    lost = [f for f in failures if f.kind == CONSEQUENCE and f.key is not None]
    if all(map(is_order, lost)):
        return unfinished_cause(evidence, keys)
    return _lost_node(evidence, keys, lost), []


def _groups(evidence: Evidence, keys: list[Key], timeouts: list[Failure]) -> list[tuple[str, Collective | None]]:
    """Return (process group, its first collective that timed out), the group that waited first at the beginning: the
    ranks of other groups then wait for those that wait in it."""
    began: dict[str, tuple[float, Collective | None]] = {}
    for failure in timeouts:
        if failure.collective is not None:
            begin = (failure.time - failure.collective.seconds) if failure.time is not None else inf
            group = failure.collective.group
            began[group] = min(
                began.get(group, (inf, failure.collective)), (begin, failure.collective), key=itemgetter(0)
            )
    groups = {group: began.get(group, (inf, None)) for key in keys for group in evidence.rank(key).progress}
    groups |= began or {DEFAULT: (inf, None)}
    return [(group, collective) for group, (_, collective) in sorted(groups.items(), key=lambda item: item[1][0])]


def _absent(
    evidence: Evidence, suspects: list[Key], is_certain: bool, collective: Collective | None, timed_out: int
) -> RootCause:
    """Return the cause that some ranks did not join a collective for which others waited."""
    certainty = "" if is_certain else "perhaps "
    what = f" collective {collective.sequence} ({collective.operation.split()[0]})" if collective else " the collective"
    within = f" of group {collective.group}" if collective and collective.group else ""
    first = evidence.rank(suspects[0])
    if len(suspects) == 1:
        name = name_of(evidence, suspects[0])
        text = f"{certainty}{name} never joined{what}{within}; {timed_out} timed out"
        return RootCause(suspects[0][1], first.node, text, first.last_line, first.place, "NCCL's counters")
    text = f"{certainty}{listed([key[1] for key in suspects])} never joined{what}{within}"
    return RootCause(None, "", text, first.last_line, first.place, "NCCL's counters")


def _lagging(evidence: Evidence, keys: list[Key]) -> RootCause | None:
    """Return the cause that torch's report about a desynchronisation names; None if it names most of the ranks."""
    ranks = sorted(evidence.lagging)
    if not ranks or len(ranks) * 2 >= len(keys):
        return None
    said, place = evidence.lagging[ranks[0]]
    key = next((key for key in keys if key[1] == ranks[0]), None)
    name = name_of(evidence, key) if key and len(ranks) == 1 else listed(ranks)
    node = evidence.rank(key).node if key else ""
    rank = ranks[0] if len(ranks) == 1 else None
    return RootCause(rank, node, f"{name} {said}, by torch's report", said, place, "desync report")


def _mismatch(evidence: Evidence, timeouts: list[Failure]) -> RootCause | None:
    """Return the cause that ranks called different operations as the same collective of a group."""
    called: dict[tuple[str, int], dict[str, dict[Key, Failure]]] = {}
    for failure in timeouts:
        if failure.collective is not None and failure.key is not None:
            operations = called.setdefault((failure.collective.group, failure.collective.sequence), {})
            operations.setdefault(failure.collective.operation, {})[failure.key] = failure
    for (group, sequence), operations in called.items():
        if len(operations) < 2:
            continue
        (fewest, ranks), (most, others) = sorted(operations.items(), key=lambda item: len(item[1]))[
            :: len(operations) - 1
        ]
        first = next(iter(ranks.values()))
        is_single = len(ranks) == 1 and len(others) > 1
        name = name_of(evidence, next(iter(ranks))) if is_single else listed(sorted(key[1] for key in ranks))
        within = f" of group {group}" if group else ""
        text = f"collectives do not match: {name} called {fewest} as number {sequence}{within}, {len(others)} {most}"
        rank = next(iter(ranks))[1] if is_single else None
        return RootCause(rank, first.node, text, first.text, first.place, "mismatch", first.time)
    return None


def _stuck(evidence: Evidence, keys: list[Key]) -> RootCause | None:
    """Return the cause that the watchdog of few ranks made no progress: a call of CUDA or the GIL holds it."""
    stuck = [key for key in keys if evidence.rank(key).stuck]
    if not stuck or len(stuck) * 2 >= len(keys):
        return None
    rank = evidence.rank(stuck[0])
    name = name_of(evidence, stuck[0]) if len(stuck) == 1 else listed([key[1] for key in stuck])
    text = f"perhaps {name}: its NCCL watchdog made no progress for {rank.stuck} s"
    only = stuck[0][1] if len(stuck) == 1 else None
    return RootCause(only, rank.node, text, rank.last_line, rank.place, "stuck watchdog")


def _lost_node(evidence: Evidence, keys: list[Key], lost: list[Failure]) -> RootCause:
    """Blame the node that reported nothing while ranks or the launchers of others lost a peer; no rank is blamed."""
    first = min(lost, key=lambda f: (f.time is None, not f.exact, f.time or 0.0))
    nodes = {evidence.rank(key).node for key in keys if evidence.rank(key).node} | set(evidence.launchers)
    if first.time is not None:  # without the nodes that came later
        begin = first.time + CLOCKS_DIFFER
        nodes = {node for node in nodes if node not in evidence.heard or evidence.heard[node][0] <= begin}
    speaking = {f.node or (evidence.rank(f.key).node if f.key else "") for f in lost}
    speaking |= {f.node for f in evidence.failures if f.kind == CONSEQUENCE}
    silent, who = nodes - speaking, "ranks"
    if len(silent) != 1:  # processes can outlive their launcher and then lose a peer, too
        reported = {failure.place.path for failure in evidence.failures if failure.kind == CONSEQUENCE}
        launchers = {node: evidence.launchers[node] in reported for node in nodes if node in evidence.launchers}
        silent = {node for node, has_reported in launchers.items() if not has_reported}
        silent, who = (silent if any(launchers.values()) else set()), "launcher"
    if len(silent) == 1 and len(nodes | speaking) > 1:
        node = silent.pop()
        text = f"perhaps {node} was lost: its {who} reported no error, and {len(lost)} lines of ranks a lost peer"
        store = next((f for f in evidence.failures if _LOST_STORE.match(f.text)), None)
        if store is not None:
            line = f":{store.place.line}" if store.place.line else ""
            text += f"; the rendezvous store did not answer any more ({clean(store.place.path)}{line})"
        return RootCause(None, node, text, first.text, first.place, "lost node", first.time)
    facts = f"{len(lost)} lines report a lost peer"
    return RootCause(None, "", unknown(evidence, facts, first.time), first.text, first.place, "", first.time)


def unfinished_cause(evidence: Evidence, keys: list[Key]) -> tuple[RootCause | None, list[int]]:
    """Find the only rank that is not at the step of the others in a job that reports no error."""
    steps = {key: evidence.rank(key).last_step for key in keys}
    known = {key: step for key, step in steps.items() if step is not None}
    if evidence.finished or evidence.quiet_for < HANGS_AFTER or len(known) < 3 or len(known) < len(keys):
        return None, []
    usual, count = Counter(known.values()).most_common(1)[0]
    begun = [key for key in keys if (evidence.rank(key).begun_step or 0) == usual + 1]
    behind = [key for key, step in known.items() if step <= usual - evidence.rank(key).stride]
    suspects = behind if count == len(keys) - 1 and behind else begun if count == len(keys) else []
    if len(suspects) != 1:
        return None, []
    rank = evidence.rank(suspects[0])
    what = f"stopped before step {usual}" if behind else f"began step {usual + 1} and did not end it"
    text = f"perhaps {name_of(evidence, suspects[0])} {what}; {count - (not behind)} others reached step {usual}"
    return RootCause(suspects[0][1], rank.node, text, rank.last_line, rank.place, "steps"), [suspects[0][1]]


def is_order(failure: Failure) -> bool:
    """Does the line report a signal that was sent because the job ended?"""
    words = ("SIGTERM", "SignalException", "ChildFailedError", "Signal 15", "Terminated", "FAILED", "Killed")
    return any(word in failure.text for word in words)
