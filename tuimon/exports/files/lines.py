"""Points as lines, each with run or source, metric, step, value and wall time. Numbers have all their digits.

CSV (RFC 4180): nan, inf and -inf; an unknown wall time is an empty cell. A text cell that a spreadsheet would interpret
as a formula gets a leading apostrophe; a number never does.

JSON lines: {"run" | "source": …, "metric": …, "step": 12, "value": 0.5, "wall_time": 1795226051.0} with "NaN",
"Infinity" and "-Infinity"; an unknown wall time is null. Names are written unchanged.

OpenMetrics: state, step, ETA, alerts and last values of runs as gauges, for Prometheus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from tuimon.exports.files import Export, File, Job

if TYPE_CHECKING:
    from tuimon.exports.points import Batch


def _csv(job: Job) -> Iterator[File]:
    from tuimon.exports.points import csv_lines

    head = f"{job.owner},metric,step,value,wall_time\r\n"
    yield "points.csv", partial(_write, job, head, lambda batch: csv_lines(batch, job.on_terminal))


def _jsonl(job: Job) -> Iterator[File]:
    from tuimon.exports.points import json_lines

    yield "points.jsonl", partial(_write, job, "", lambda batch: json_lines(batch, job.owner))


def _write(job: Job, head: str, lines: Callable[[Batch], str], stream: BinaryIO) -> None:
    batches = job.batches()  # raises an error before anything is written
    stream.write(head.encode())
    for batch in batches:
        stream.write(lines(batch).encode())


def _openmetrics(job: Job) -> Iterator[File]:
    from tuimon.exports.open_metrics import as_text

    snapshot = job.checked()
    yield "runs.prom", lambda stream: stream.writelines(f"{line}\n".encode() for line in as_text(snapshot, job.now))


EXPORTS = (
    Export("csv", "every point as a row of CSV", ".csv", _csv, in_steps=True),
    Export("jsonl", "every point as a line of JSON", ".jsonl", _jsonl, in_steps=True),
    Export(
        *("openmetrics", "state, step, ETA, alerts and last values for Prometheus", ".prom", _openmetrics),
        is_renewed=True,
    ),
)
