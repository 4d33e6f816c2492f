"""Points as lines, each with run or source, metric, step, value and wall time. Numbers have all their digits.

CSV (RFC 4180): nan, inf and -inf; an unknown wall time is an empty cell. A text cell that a spreadsheet would interpret
as a formula gets a leading apostrophe; a number never does.

JSON lines: {"run" | "source": …, "metric": …, "step": 12, "value": 0.5, "wall_time": 1795226051.0} with "NaN",
"Infinity" and "-Infinity"; an unknown wall time is null. Names are written unchanged.

OpenMetrics: state, step, ETA, alerts and last values of runs as gauges, for Prometheus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from tuimon.exports.files import Export, File, Job

if TYPE_CHECKING:
    from tuimon.exports.points import LineForm


def _csv(job: Job) -> Iterator[File]:
    from tuimon.exports.points import LineForm, csv_cell

    def head(owner: str, metric: str) -> bytes:
        return f"{csv_cell(owner, job.on_terminal)},{csv_cell(metric, job.on_terminal)},".encode()

    not_finite = {"nan": b"nan", "inf": b"inf", "-inf": b"-inf"}
    form = LineForm(head, b",", b",", b"\r\n", not_finite, b"")
    yield from _lines(job, "points.csv", f"{job.owner},metric,step,value,wall_time\r\n", form)


def _jsonl(job: Job) -> Iterator[File]:
    from tuimon.exports.points import LineForm

    def head(owner: str, metric: str) -> bytes:
        return f'{{"{job.owner}": {json.dumps(owner)}, "metric": {json.dumps(metric)}, "step": '.encode()

    not_finite = {"nan": b'"NaN"', "inf": b'"Infinity"', "-inf": b'"-Infinity"'}
    form = LineForm(head, b', "value": ', b', "wall_time": ', b"}\n", not_finite, b"null")
    yield from _lines(job, "points.jsonl", "", form)


def _lines(job: Job, name: str, head: str, form: LineForm) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        from tuimon.exports.points import LineWriter

        writer, batches = LineWriter(form), job.batches()
        stream.write(head.encode())
        stream.writelines(map(writer.lines, batches))

    yield name, write


def _openmetrics(job: Job) -> Iterator[File]:
    from tuimon.exports.open_metrics import as_text

    snapshot = job.checked()
    yield "runs.prom", lambda stream: stream.writelines(f"{line}\n".encode() for line in as_text(snapshot, job.now))


EXPORTS = (
    Export("csv", "every point as a row of CSV", ".csv", _csv, points_only=True),
    Export("jsonl", "every point as a line of JSON", ".jsonl", _jsonl, points_only=True),
    Export(
        *("openmetrics", "state, step, ETA, alerts and last values for Prometheus", ".prom", _openmetrics),
        is_renewed=True,
    ),
)
