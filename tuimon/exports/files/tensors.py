"""What TensorBoard event files hold besides scalars: histograms, texts and tensors as JSON lines; by tbparse (the extra
`tensorboard`), which reads an event file whole.

{"source": …, "metric": …, "step": 3, "wall_time": …, "counts": […], "limits": […]}, "text" or "value" instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from tuimon.exports.files import Export, File, Job

_FIELDS = {"histograms": ("counts", "limits"), "text": ("text",), "tensors": ("value",)}


def _files(job: Job) -> Iterator[File]:
    from tuimon.errors import UsageError

    try:
        import tbparse
    except ImportError as error:
        raise UsageError("histograms, texts and tensors need tbparse", "pip install 'tuimon[tensorboard]'") from error
    sources = dict.fromkeys(
        (stream.found.source, stream.found.path)
        for run in job.snapshot().runs
        for stream in run.streams
        if stream.found.format == "tensorboard"
    )
    if not sources:
        job.say("tuimon: there is no event file here, and nothing else holds histograms, texts or tensors")
        return
    wall_time = {"wall_time"}
    readers = [(source, tbparse.SummaryReader(path, extra_columns=wall_time)) for source, path in sources]
    for kind, fields in _FIELDS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what pandas has to say to tbparse
            found = [(source, _chosen(getattr(one, kind), job.wanted)) for source, one in readers]
        tables = [(source, table) for source, table in found if len(table)]
        if tables:

            def write(stream: BinaryIO, tables: list[Any] = tables, fields: tuple[str, ...] = fields) -> None:
                for source, table in tables:
                    stream.writelines(_lines(source, table, fields))

            yield f"{kind}.jsonl", write


def _chosen(table: Any, wanted: Callable[[str], bool]) -> Any:
    return table[[wanted(tag) for tag in table.tag]] if len(table) else table


def _lines(source: str, table: Any, fields: tuple[str, ...]) -> Iterator[bytes]:
    from tuimon.exports._json import dumps

    for row in table.to_dict("records"):
        told = {"source": source, "metric": row["tag"], "step": row["step"], "wall_time": row.get("wall_time")}
        values = {name: _plain(row.get(name, row.get("value"))) for name in fields}
        yield dumps(told | values, compact=True).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.tolist() if hasattr(value, "tolist") else value


EXPORT = Export("tensors", "histograms, texts and tensors of event files (needs tbparse)", "", _files)
