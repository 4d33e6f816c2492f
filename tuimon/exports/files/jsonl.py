"""Points as JSON lines: {"run" | "source": …, "metric": …, "step": 12, "value": 0.5, "wall_time": 1795226051.0}.

Non-finite values are "NaN", "Infinity" and "-Infinity"; an unknown wall time is null. Names are written unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job


def _files(job: Job) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        from tuimon.exports.points import LineForm, LineWriter

        def head(owner: str, metric: str) -> bytes:
            return f'{{"{job.owner}": {json.dumps(owner)}, "metric": {json.dumps(metric)}, "step": '.encode()

        not_finite = {"nan": b'"NaN"', "inf": b'"Infinity"', "-inf": b'"-Infinity"'}
        writer = LineWriter(LineForm(head, b', "value": ', b', "wall_time": ', b"}\n", not_finite, b"null"))
        for batch in job.batches():
            stream.write(writer.lines(batch))

    yield "points.jsonl", write


EXPORT = Export("jsonl", "every point as a line of JSON", ".jsonl", _files, points_only=True)
