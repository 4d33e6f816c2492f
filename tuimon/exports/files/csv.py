"""Points as CSV: run or source, metric, step, value, wall_time; RFC 4180.

Non-finite values are written as nan, inf and -inf; an unknown wall time is an empty cell. A text cell that a
spreadsheet would interpret as a formula gets a leading apostrophe; a number never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job


def _files(job: Job) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        from tuimon.exports.points import LineForm, LineWriter, csv_cell

        def head(owner: str, metric: str) -> bytes:
            return f"{csv_cell(owner, job.on_terminal)},{csv_cell(metric, job.on_terminal)},".encode()

        not_finite = {"nan": b"nan", "inf": b"inf", "-inf": b"-inf"}
        writer = LineWriter(LineForm(head, b",", b",", b"\r\n", not_finite, b""))
        batches = job.batches()
        stream.write(f"{job.owner},metric,step,value,wall_time\r\n".encode())
        for batch in batches:
            stream.write(writer.lines(batch))

    yield "points.csv", write


EXPORT = Export("csv", "every point as a row of CSV", ".csv", _files, points_only=True)
