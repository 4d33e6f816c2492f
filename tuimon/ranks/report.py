"""The report about a job of many ranks: the verdict in a sentence and in a few words, and a row for each rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tuimon import lazy_re as re
from tuimon.model.ranks import FileLine, JobRanks, RankProblem, RankRow, RootCause, Straggler, all_well
from tuimon.ranks import advice, lines
from tuimon.ranks.evidence import Evidence, Failure
from tuimon.ranks.hangs import HANGS
from tuimon.ranks.verdict import Verdict, identified, members
from tuimon.ranks.wording import Key, listed
from tuimon.redact import redacted_text
from tuimon.text import clean, first_names

_RECENT = 5
"""Steps whose median is the own time of a rank."""
_LONGEST_LINE = 160
_LEAST_OF_NODE, _SHARE_OF_NODE = 3, 0.75
"""Ranks of a node, and share of its ranks, that are slow if the node is."""
_ORDER = {
    "failed": 100.0,
    "nan": 90.0,
    "silent": 80.0,
    "slow": 70.0,
    "recovered": 60.0,
    "lost": 40.0,
    "timeout": 20.0,
    "ended": 10.0,
    "unreachable": 1.0,
}


def report_of(evidence: Evidence, verdict: Verdict, directory: str, unread: int = 0) -> JobRanks:
    """Return the report. directory: that of the job; unread: bytes of its files that were not read."""
    evidence = identified(evidence)
    keys = members(evidence)
    rows = [_row(evidence, verdict, key) for key in keys]
    rows.sort(key=lambda row: (-row.strangeness, row.role, row.rank))
    problems = tuple(problems_of(evidence, verdict, rows))
    sentence, short = _sentences(evidence, verdict, rows, problems)
    return JobRanks(
        directory,
        sentence,
        short,
        tuple(rows),
        problems,
        verdict.root_cause,
        tuple(verdict.stragglers),
        tuple(verdict.silent),
        restart_sentence(verdict.root_cause),
        unread,
        tuple((clean(host), redacted_text(clean(why))) for host, why in evidence.unreachable.items()),
    )


def problems_of(evidence: Evidence, verdict: Verdict, rows: list[RankRow]) -> Iterator[RankProblem]:
    """Yield the problems. A failure after which the job went on is not a problem."""
    cause, row_of = verdict.root_cause, {row.rank: row for row in rows}
    if cause is not None and not cause.resolved:
        hint = advice.of_failure(cause, row_of.get(cause.rank) if cause.rank is not None else None)
        place = f" ({clean(cause.place.path)}:{cause.place.line})" if cause.place and cause.place.line else ""
        yield RankProblem("rank_failure", "critical", None, redacted_text(clean(cause.text)) + place, hint)
    nodes = slow_nodes(verdict.stragglers, rows)
    for node, sentence, members_of in nodes:
        hint = advice.of_slow_node(node)
        yield RankProblem("straggler", "warning", members_of[0].since, sentence, hint)
    for straggler in verdict.stragglers:
        if not any(straggler in members_of for _, _, members_of in nodes):
            hint = advice.of_slow_rank(row_of.get(straggler.rank))
            yield RankProblem("straggler", "warning", straggler.since, straggler.sentence, hint)
    nan = [row for row in rows if row.state == "nan"]
    if nan and len(nan) * 2 < len(rows):
        sentence = f"rank{'s' if len(nan) > 1 else ''} {_listed(nan)}: {nan[0].evidence[0]}, not on the other ranks"
        yield RankProblem("rank_nan", "critical", nan[0].step, sentence, advice.of_nan(nan[0]))
    if verdict.lost and cause is not None:
        hint = advice.of_lost(cause.node)
        yield RankProblem("rank_failure", "warning", cause.step, lost_sentence(verdict, rows), hint)
    if verdict.silent and cause is None:
        sentence = f"silent: rank {', '.join(map(str, verdict.silent[:8]))}"
        yield RankProblem("rank_silent", "warning", None, sentence, advice.of_silent(verdict.silent))


def lost_sentence(verdict: Verdict, rows: list[RankRow]) -> str:
    """Return the sentence about a failure since which the job has fewer ranks."""
    left = [row for row in rows if row.state != "lost"]
    nodes = sorted({row.node for row in left if row.node})
    where = f" on {', '.join(nodes)}" if 0 < len(nodes) <= 4 else f" on {len(nodes)} nodes" if nodes else ""
    worlds = f"{len(rows)} ranks before, {len(left)}{where} since then"
    return f"{restart_sentence(verdict.root_cause)}; {worlds}; lost: {listed([key[1] for key in verdict.lost])}"


_KINDS = (
    (re.compile(r"\bECC\b"), "ECC"),
    (re.compile(r"\bXid\b.*?: (\d+)"), "Xid"),
    (re.compile(r"OutOfMemory|out of memory", re.IGNORECASE), "out of memory"),
    (re.compile(r"\btimeout\b|timed out", re.IGNORECASE), "timeout"),
)
"""Patterns of failures and the words for them."""


def restart_sentence(cause: RootCause | None) -> str:
    """Return a sentence about a failure after which the job went on, or ""."""
    if cause is None or not cause.resolved:
        return ""
    kind = cause.rule
    for pattern, word in _KINDS:
        if match := pattern.search(cause.text):
            kind = " ".join((word, *match.groups()))
            break
    node = f" on {clean(cause.node)}" if cause.node else ""
    known = cause.rank is not None or bool(cause.node)
    if cause.rule == "lost node":
        kind, who = "", f"perhaps {clean(cause.node)} was lost"
    else:
        who = f"rank {cause.rank}{node} failed" if cause.rank is not None else f"a rank{node} failed"
    if not known:
        who = {"order": "it was stopped from outside", "common cause": "all ranks failed"}.get(
            cause.rule, "cause unknown"
        )
    why = f" ({clean(kind)})" if kind and known else ""
    step = f" at step {cause.step}" if cause.step is not None else ""
    times, last = ("once", "") if cause.count == 1 else (f"{cause.count} times", "the last time ")
    return f"failed {times}: {last}{who}{why}{step}; the job went on"


def slow_nodes(stragglers: list[Straggler], rows: list[RankRow]) -> list[tuple[str, str, list[Straggler]]]:
    """Return (node, sentence, slow ranks) for each node nearly all of whose ranks are slow: the node is to blame."""
    node_of = {row.rank: row.node for row in rows if row.node}
    ranks_on = Counter(node_of.values())
    result = []
    for node in dict.fromkeys(node_of[s.rank] for s in stragglers if s.rank in node_of):
        slow = [straggler for straggler in stragglers if node_of.get(straggler.rank) == node]
        if len(slow) >= _LEAST_OF_NODE and len(slow) >= _SHARE_OF_NODE * ranks_on[node]:
            excess = float(np.median([straggler.excess for straggler in slow]))
            sentence = (
                f"{node}: {len(slow)} of {ranks_on[node]} ranks compute {excess:.0%} longer than the others since "
                f"{slow[0].begin}: the node is slow, not a rank"
            )
            result.append((node, sentence, slow))
    return result


def _listed(rows: list[RankRow]) -> str:
    return first_names([str(row.rank) for row in rows], 4)


def _sentences(
    evidence: Evidence, verdict: Verdict, rows: list[RankRow], problems: tuple[RankProblem, ...]
) -> tuple[str, str]:
    """Return the verdict as a sentence and in a few words."""
    cause = verdict.root_cause
    if cause is not None and not cause.resolved:
        return redacted_text(clean(cause.text)), _few_words(cause)
    for node, sentence, _ in slow_nodes(verdict.stragglers, rows):
        return sentence, f"{node} slow"
    if verdict.stragglers:
        worst = verdict.stragglers[0]
        more = f" and {len(verdict.stragglers) - 1} more" if len(verdict.stragglers) > 1 else ""
        return worst.sentence, f"rank {worst.rank} {worst.excess:.0%} slow{more}"
    if verdict.lost:
        return lost_sentence(verdict, rows), f"{len(verdict.lost)} rank{'s' if len(verdict.lost) > 1 else ''} lost"
    for problem in problems:
        return problem.message, problem.message.split(",")[0][:40]
    nodes = len({row.node for row in rows if row.node})
    where = f" on {nodes} node{'s' if nodes > 1 else ''}" if nodes else ""
    steps = [row.step for row in rows if row.step is not None]
    place = f", step {min(steps)}" + (f" to {max(steps)}" if min(steps) != max(steps) else "") if steps else ""
    own = [row.own for row in rows if row.own]
    spread = f", own times within {max(own) / float(np.median(own)) - 1:.0%} of the median" if len(own) > 2 else ""
    restart = restart_sentence(cause)
    earlier = f"; {restart}: {redacted_text(clean(cause.text))}" if cause is not None and restart else ""
    hosts = ", ".join(clean(host) for host in evidence.unreachable)
    away = f"; cannot be reached: {hosts}" if hosts else ""
    failure = "no new failure" if restart else "no failure"
    details = f"{place}{spread}{away}{earlier}"
    return f"{len(rows)} ranks{where}, {all_well(rows, failure)}{details}", ""


def _few_words(cause: RootCause) -> str:
    if cause.rank is not None:
        return f"rank {cause.rank} {'hangs' if cause.rule in HANGS else 'failed'}"
    if cause.rule == "order":
        return "stopped from outside"
    if cause.rule == "common cause":
        return "all ranks failed"
    if cause.rule == "lost node":
        return f"{cause.node} lost?"
    return clean(cause.text, 30) if cause.rule else "cause unknown"


def _row(evidence: Evidence, verdict: Verdict, key: Key) -> RankRow:
    rank = evidence.rank(key)
    cause = verdict.root_cause
    slow = next((s for s in verdict.stragglers if s.rank == key[1]), None)
    failure = _first_failure(evidence, key)
    place, said = rank.place, []
    state = "done" if evidence.finished else "run"
    active = cause is not None and not cause.resolved
    if cause is not None and active and cause.rank == key[1]:
        state, place = ("silent" if key[1] in verdict.silent else "failed"), cause.place or place
        said.append(cause.text)
    elif key[1] in verdict.silent:
        state = "silent"
        said.append("wrote nothing while the others went on")
    elif slow is not None:
        state = "slow"
        said.append(slow.sentence)
    elif rank.nan_step is not None and "nan" in rank.measured.lower():
        state, place = "nan", rank.nan_place
        said.append(f"loss or gradient norm is not a number since step {rank.nan_step}")
    elif failure is not None and active:
        state = "timeout" if failure.kind == lines.TIMEOUT else "ended"
        place = failure.place
        said.append(f"{lines.CAUSES[failure.kind]}: {failure.text}")
    elif key in verdict.lost:
        state, place = "lost", (cause.place if cause is not None and cause.rank == key[1] else None) or place
        said.append("it reported no step since the failure after which the others went on")
    elif cause is not None and cause.resolved and cause.rank == key[1]:
        state, place = "recovered", cause.place or place
        said.append(f"{restart_sentence(cause)}: {cause.text}")
    elif cause is not None and active and not verdict.silent:
        state = "ended"
    elif key in evidence.lost:
        state = "unreachable"
        said.append(f"{evidence.lost[key]} cannot be reached: {evidence.unreachable[evidence.lost[key]]}")
    return RankRow(
        key[0],
        key[1],
        clean(rank.node),
        rank.local_rank,
        state,
        (_ORDER.get(state, 0.0) if said else 0.0) + (slow.excess if slow else 0.0),
        rank.last_step,
        _own_time(evidence, key[1], slow),
        lines.wait_of(rank.measured),
        lines.memory_of(rank.measured),
        lines.loss_of(rank.measured),
        redacted_text(clean(failure.text if failure is not None and active else rank.last_line, _LONGEST_LINE)),
        *_located(place),
        tuple(redacted_text(clean(sentence)) for sentence in said),
    )


def _located(place: FileLine | None) -> tuple[str, int, int]:
    return (place.path, place.line, place.offset) if place else ("", 0, 0)


def _first_failure(evidence: Evidence, key: Key) -> Failure | None:
    failures = [failure for failure in evidence.failures if failure.key == key]
    return min(failures, key=lambda f: (f.kind, f.time is None, f.time or 0.0), default=None)


def _own_time(evidence: Evidence, rank: int, slow: Straggler | None) -> float | None:
    if slow is not None:
        return slow.own
    newest = sorted(evidence.own_times, reverse=True)[:_RECENT]
    times = [evidence.own_times[step][rank] for step in newest if rank in evidence.own_times[step]]
    return float(np.median(times)) if times else None
