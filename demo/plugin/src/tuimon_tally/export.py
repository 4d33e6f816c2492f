"""Points as a tally log; the run or source is part of the name of the metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job


def _files(job: Job) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        batches = job.batches()
        stream.write(b"#tally 1\n")
        for batch in batches:
            columns = batch.metric.tolist(), batch.steps.tolist(), batch.values.tolist()
            for metric, step, value in zip(*columns, strict=True):
                name = "_".join(f"{batch.owner}/{batch.names[metric]}".split())
                stream.write(f"{step} {name} {value!r}\n".encode("utf-8", "backslashreplace"))

    yield "points.tally", write


EXPORT = Export("tally", "every point as a line of a tally log", ".tally", _files, in_steps=True)
