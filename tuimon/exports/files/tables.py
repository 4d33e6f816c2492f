"""Tables with one row per step: training and validation of a run, or the metrics of all runs side by side.

Cells are the logged values; a cell is empty where a run has no point. A step that a metric has twice has two rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from tuimon.errors import UsageError
from tuimon.exports.files import Export, File, Job
from tuimon.text import clean, first_names

if TYPE_CHECKING:
    from tuimon.store import Curve

_NAMED = 3
"""Maximum number of metrics without a column that are named."""


def _history(job: Job) -> Iterator[File]:
    from tuimon.exports.points import history_lines
    from tuimon.exports.safe_names import SafeNames

    runs, names = job.snapshot().runs, SafeNames()
    for run in runs:
        folder = f"{names.name(run.name)}/" if len(runs) > 1 else ""
        for split in ("train", "val"):
            lines = history_lines(run, split, job.wanted, job.curve)
            if lines is not None:
                yield f"{folder}{split}_history.csv", _writer(job, lines)


def _wide(job: Job) -> Iterator[File]:
    from tuimon.exports.points import table_lines
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
                left_out.append(clean(head))
    if left_out:
        names = first_names(left_out, _NAMED)
        job.print_status(f"the table has no column for metrics with steps of their own: {names}")
    if not columns:
        raise UsageError("no chosen metric has the steps of its run", "`--format csv` writes these points.")
    if not any(map(len, columns.values())):
        raise UsageError("no chosen metric has a point in these steps", "`tuimon summary` shows the steps of a run.")
    yield "table.csv", _writer(job, table_lines(list(columns.values()), list(columns), job.on_terminal))


def _writer(job: Job, lines: Iterator[str]) -> Callable[[BinaryIO], None]:
    def write(stream: BinaryIO) -> None:
        rows = -1  # without the head
        for line in lines:
            stream.write(line.encode())
            rows += line.count("\n")
            job.on_progress("writing", rows, 0, " rows")

    return write


EXPORTS = (
    Export(
        "history",
        "train_history.csv and val_history.csv: one row per step, one column per metric",
        "",
        _history,
        in_steps=True,
    ),
    Export("wide", "one CSV of all runs: one row per step, one column RUN:METRIC each", ".csv", _wide, in_steps=True),
)
