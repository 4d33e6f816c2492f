"""The ranks of a job: the verdict as lines, and a table of the strangest ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuimon.draw.numbers import format_value
from tuimon.draw.table import Column, TextColumn, TextTable
from tuimon.model.ranks import JobRanks, RankRow, all_well
from tuimon.panels.lists.rank_rows import COLUMNS
from tuimon.redact import redacted_text
from tuimon.store import Snapshot
from tuimon.text import clean

_MOST_ROWS = 32
_MOST_LINES, _STRANGE = 16, 50.0
"""Ranks whose evidence is printed, and the least strangeness of them; those that followed another rank have less."""


def rank_table(job: JobRanks) -> TextTable:
    """Return the table of the strangest ranks, without the columns that have no value."""
    rows = job.rows[:_MOST_ROWS]
    own = {column.id: TextColumn(column.head, _cells(column, rows), left=not column.right) for column in COLUMNS}
    names = own.pop("rank").cells
    own["line"] = TextColumn("evidence or last line", [_evidence(row) for row in rows], left=True, wraps=True)
    left = len(job.rows) - _MOST_ROWS
    note = f"{left} more, less unusual" if left > 0 else ""
    shown = [column for column in own.values() if any(column.cells)]
    return TextTable("The ranks, the strangest first", names, shown, "rank", note=note)


def _cells(column: Column[RankRow], rows: Sequence[RankRow]) -> list[str]:
    """Return the cells of a column as on the screen, but times and losses with the digits for which it has no room."""
    if column.id == "loss":
        return [row.loss for row in rows]
    if column.id not in ("own", "wait"):
        return column.texts(rows)
    times = [row.own if column.id == "own" else row.wait for row in rows]
    return ["" if time is None else f"{format_value(time)} s" for time in times]


def _evidence(row: RankRow) -> str:
    place = f" ({clean(row.path)}:{row.number})" if row.evidence and row.number else ""
    return ("; ".join(row.evidence) or row.line) + place


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
        yield f"{clean(run.name)}: {count}{'' if problems else f', {all_well(ranks.rows)}'}"
        yield from (f"  {message}" for message in problems)
        yield from (f"  {host} is unreachable: {why}" for host, why in ranks.unreachable)
        for row in ranks.rows[:_MOST_LINES]:
            for said in row.evidence:
                if not any(said in problem for problem in problems) and row.strangeness >= _STRANGE:
                    yield f"  rank {row.rank}: {said}"
        if ranks.silent:
            yield f"  silent: {', '.join(map(str, ranks.silent))}"
