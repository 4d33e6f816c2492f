"""screen.svg: the first page of the dashboard as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job


def _files(job: Job) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        from tuimon.exports.html.screen import as_svg

        svg = as_svg(job.checked(), job.size.width, job.size.height, job.now, job.symbols)
        stream.write(svg.encode())

    yield "screen.svg", write


EXPORT = Export("screen", "the dashboard as a picture (SVG)", ".svg", _files)
