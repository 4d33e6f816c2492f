"""table.csv: one table of all runs, with one row per step and one column per run and metric.

Cells are the logged values; a cell is empty where a run has no point. A step that a metric has twice has two rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from tuimon.errors import UsageError
from tuimon.exports.files import Export, File, Job
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.store import Curve

_NAMED = 3
"""Maximum number of metrics without a column that are named."""


def _files(job: Job) -> Iterator[File]:
    from tuimon.exports.files._history import table_lines
    from tuimon.panels.lists.comparison import run_labels

    runs = job.runs()
    columns: dict[str, Curve] = {}
    left_out: list[str] = []
    for run, label in zip(runs, run_labels(runs), strict=True):
        for name in filter(job.wanted, run.metrics):
            head = name if len(runs) == 1 and name != "step" else f"{label}:{name}"
            if name in run.main_metrics:
                columns[head] = job.curve(run, name)
            else:
                left_out.append(head)
    if left_out:
        names = clean(", ".join(left_out[:_NAMED])) + (" …" if len(left_out) > _NAMED else "")
        job.print_status(f"the table has no column for metrics with steps of their own: {names}")
    if not columns:
        raise UsageError("no chosen metric has the steps of its run", "`--format csv` writes these points.")
    if not any(map(len, columns.values())):
        raise UsageError("no chosen metric has a point in these steps", "`tuimon summary` shows the steps of a run.")

    def write(stream: BinaryIO) -> None:
        lines = table_lines(list(columns.values()), list(columns), job.on_terminal)
        stream.writelines(line.encode() for line in lines)

    yield "table.csv", write


EXPORT = Export(
    "wide", "one CSV of all runs: one row per step, one column RUN:METRIC each", ".csv", _files, curves_only=True
)
