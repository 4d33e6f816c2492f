"""Histograms, texts and tensors of TensorBoard event files as JSON lines. Needs tbparse (the extra `tensorboard`).

{"source": …, "metric": …, "step": 3, "wall_time": …, "counts": […], "limits": […]} for a histogram; a text has "text"
and a tensor "value" instead of the last two. tbparse reads an event file as a whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from tuimon.exports.files import Export, File, Job

_FIELDS = {"histograms": ("counts", "limits"), "text": ("text",), "tensors": ("value",)}


def _files(job: Job) -> Iterator[File]:
    from tuimon.errors import UsageError

    try:
        import tbparse
    except ImportError as error:
        raise UsageError("the format tensors needs tbparse", "Run: pip install 'tuimon[tensorboard]'") from error
    sources = dict.fromkeys(
        (stream.info.source, stream.info.path)
        for run in job.snapshot().runs
        for stream in run.streams
        if stream.info.format == "tensorboard"
    )
    if not sources:
        job.print_status("no TensorBoard event file found; other formats contain no histograms, texts or tensors")
        return
    wall_time = {"wall_time"}
    readers = [(source, tbparse.SummaryReader(path, extra_columns=wall_time)) for source, path in sources]
    for kind, fields in _FIELDS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas, about how tbparse uses it
            selected = [(source, _select(getattr(reader, kind), job.patterns)) for source, reader in readers]
        tables = [(source, table) for source, table in selected if len(table)]
        if tables:

            def write(stream: BinaryIO, tables: list[Any] = tables, fields: tuple[str, ...] = fields) -> None:
                for source, table in tables:
                    stream.writelines(_lines(source, table, fields))

            yield f"{kind}.jsonl", write


def _select(table: Any, patterns: Sequence[str]) -> Any:
    """Return the rows whose tag matches a pattern; all without patterns."""
    from tuimon.analysis.metric_filter import chosen

    if not patterns or not len(table):
        return table
    names, _ = chosen(table.tag, patterns, titles=False)
    return table[table.tag.isin(names)]


def _lines(source: str, table: Any, fields: tuple[str, ...]) -> Iterator[bytes]:
    from tuimon.exports.documents import dumps

    for row in table.to_dict("records"):
        head = {"source": source, "metric": row["tag"], "step": row["step"], "wall_time": row.get("wall_time")}
        values = {name: _plain(row.get(name, row.get("value"))) for name in fields}
        yield dumps(head | values, compact=True).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.tolist() if hasattr(value, "tolist") else value


EXPORT = Export("tensors", "histograms, texts and tensors of event files (needs tbparse)", "", _files)
