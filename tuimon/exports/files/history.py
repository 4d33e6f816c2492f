"""train_history.csv and val_history.csv: one row per step, one column per metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job


def _files(job: Job) -> Iterator[File]:
    from tuimon.exports._shared import SafeNames
    from tuimon.exports.files._history import history_lines

    runs, names = job.snapshot().runs, SafeNames()
    for run in runs:
        folder = f"{names.name(run.name)}/" if len(runs) > 1 else ""
        for split in ("train", "val"):
            lines = history_lines(run, split, job.wanted, job.curve)
            if lines is not None:

                def write(stream: BinaryIO, lines: Iterator[str] = lines) -> None:
                    rows = -1  # without the head
                    for line in lines:
                        stream.write(line.encode())
                        rows += line.count("\n")
                        job.on_progress("writing", rows, 0, " rows")

                yield f"{folder}{split}_history.csv", write


EXPORT = Export(
    "history",
    "train_history.csv and val_history.csv: one row per step, one column per metric",
    "",
    _files,
    curves_only=True,
)
