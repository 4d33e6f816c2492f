"""The ranks of a job as values for templates: the verdict, and a row for each of the strangest ranks."""

from __future__ import annotations

from typing import Any

from tuimon.draw.numbers import format_value
from tuimon.model.ranks import JobRanks, RankRow
from tuimon.redact import redacted_text
from tuimon.text import clean

COLUMNS = ("rank", "node", "GPU", "state", "step", "own time", "waits", "memory", "°C", "loss", "evidence or last line")
_MOST_ROWS = 32


def for_page(job: JobRanks | None) -> dict[str, Any] | None:
    """Return verdict, columns, rows and note; None for a run without ranks. Columns without a value are left out, and
    all texts are clean."""
    if job is None:
        return None
    left = len(job.rows) - _MOST_ROWS
    rows = [_cells(row) for row in job.rows[:_MOST_ROWS]]
    known = [column for column in range(len(COLUMNS)) if any(row[column] for row in rows)]
    return {
        "verdict": redacted_text(clean(job.verdict)),
        "columns": [COLUMNS[column] for column in known],
        "rows": [[row[column] for column in known] for row in rows],
        "note": f"{left} more, less unusual" if left > 0 else "",
    }


def _cells(row: RankRow) -> tuple[str, ...]:
    place = f" ({clean(row.path)}:{row.number})" if row.evidence and row.number else ""
    return (
        f"{clean(row.role)} {row.rank}".strip(),
        row.node,
        "" if row.gpu is None else str(row.gpu),
        row.state,
        "" if row.step is None else str(row.step),
        "" if row.own is None else f"{format_value(row.own)} s",
        "" if row.wait is None else f"{format_value(row.wait)} s",
        "" if row.memory is None else f"{row.memory:.0%}",
        "" if row.temperature is None else f"{row.temperature:.0f}",
        row.loss,
        ("; ".join(row.evidence) or row.line) + place,
    )
