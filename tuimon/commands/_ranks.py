"""The verdicts about the ranks of runs as text."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.redact import redacted_text
from tuimon.store import Snapshot
from tuimon.text import clean


def rank_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield the verdict about each run with ranks as lines of text."""
    for run in snapshot.runs:
        ranks = run.ranks
        if ranks is None:
            yield f"{clean(run.name)}: no logs of several ranks"
            continue
        problems = [problem.message for problem in ranks.problems]
        if ranks.root_cause is not None and ranks.root_cause.resolved:
            problems.append(f"{ranks.restart}: {redacted_text(clean(ranks.root_cause.text))}")
        count = f"{len(ranks.rows)} ranks" if len(ranks.rows) > 1 else "one rank named"
        yield f"{clean(run.name)}: {count}{'' if problems else ', no failure and no straggler'}"
        for message in problems:
            yield f"  {message}"
        for host, why in ranks.unreachable:
            yield f"  {host} is unreachable: {why}"
        for row in ranks.rows[:_MOST_ROWS]:
            for said in row.evidence:
                if not any(said in problem for problem in problems) and row.strangeness >= _STRANGE:
                    yield f"  rank {row.rank}: {said}"
        if ranks.silent:
            yield f"  silent: {', '.join(map(str, ranks.silent))}"


_MOST_ROWS, _STRANGE = 16, 50.0
"""Ranks whose evidence is printed, and the least strangeness of them; those that followed another rank have less."""
