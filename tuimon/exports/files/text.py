"""charts.txt: every panel of every run, drawn with characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tuimon.exports.files import Export, File, Job

_ROWS = 14
"""Height of a chart whose panel does not set one."""


def _files(job: Job) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        from tuimon.draw import text_chart
        from tuimon.model.views import Size
        from tuimon.panels import arrange, header_panel
        from tuimon.text import clean

        snapshot = job.checked()
        for run in snapshot.runs:
            header = header_panel().view(run, Size(job.size.width, 2), job.now, job.symbols)
            parts = [text_chart(header, Size(job.size.width, 2), job.symbols)]
            parts += [f"! {clean(alert.message)}" for alert in snapshot.alerts if alert.run == run.id]
            for panel in arrange(run):
                if any(map(job.wanted, panel.names(run) if hasattr(panel, "names") else run.metrics)):
                    size = Size(job.size.width, panel.rows or _ROWS)
                    drawn = text_chart(panel.view(run, size, job.now, job.symbols), size, job.symbols)
                    parts.append(drawn.rstrip())
            stream.write(("\n\n".join(parts) + "\n\n").encode())

    yield "charts.txt", write


EXPORT = Export("text", "charts drawn with characters", ".txt", _files)
