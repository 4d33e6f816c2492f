"""State, step, ETA, alerts and last values of runs as gauges, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job


def _files(job: Job) -> Iterator[File]:
    from tuimon.exports.open_metrics import as_text

    snapshot = job.checked()

    def write(stream: BinaryIO) -> None:
        for line in as_text(snapshot, job.now):
            stream.write(line.encode() + b"\n")

    yield "runs.prom", write


EXPORT = Export(
    "openmetrics", "state, step, ETA, alerts and last values for Prometheus", ".prom", _files, is_renewed=True
)
