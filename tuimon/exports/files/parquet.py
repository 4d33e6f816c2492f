"""Points as Parquet: run or source, metric, step, seconds, value, wall_time. Needs pyarrow (the extra `parquet`).

If the steps of a metric are clock ticks (see `points.Batch.rates`), step is null and seconds is set. wall_time is null
if it is unknown. NaN and infinities are written as values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from tuimon.exports.files import Export, File, Job

_ROW_GROUP = 1 << 20


def _files(job: Job) -> Iterator[File]:
    def write(stream: BinaryIO) -> None:
        arrow, parquet = _modules()
        text = arrow.dictionary(arrow.int32(), arrow.string())
        schema = arrow.schema(
            [(job.owner, text), ("metric", text), ("step", arrow.int64())]
            + [(name, arrow.float64()) for name in ("seconds", "value", "wall_time")]
        )
        batches = job.batches()
        with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            tables, rows = [], 0
            for batch in batches:
                tables.append(_table(arrow, schema, batch))
                rows += len(batch)
                if rows >= _ROW_GROUP:
                    writer.write_table(arrow.concat_tables(tables).unify_dictionaries(), row_group_size=_ROW_GROUP)
                    tables, rows = [], 0
            if tables:
                writer.write_table(arrow.concat_tables(tables).unify_dictionaries(), row_group_size=_ROW_GROUP)

    yield "points.parquet", write


def _modules() -> tuple[Any, Any]:
    from tuimon.errors import UsageError

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("Parquet files need pyarrow", "Run: pip install 'tuimon[parquet]'") from error
    return pyarrow, pyarrow.parquet


def _table(arrow: Any, schema: Any, batch: Any) -> Any:
    import numpy as np

    present, indices = np.unique(batch.metric, return_inverse=True)
    names = [batch.names[index].encode("utf-8", "backslashreplace").decode() for index in present.tolist()]
    owner = batch.owner.encode("utf-8", "backslashreplace").decode()
    seconds = batch.seconds
    is_clock = np.isfinite(seconds)
    columns = [
        arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(len(batch), np.int32)), arrow.array([owner])),
        arrow.DictionaryArray.from_arrays(arrow.array(indices.astype(np.int32)), arrow.array(names)),
        arrow.array(batch.steps, mask=is_clock),
        arrow.array(seconds, mask=~is_clock),
        arrow.array(batch.values),
        arrow.array(batch.wall_times, mask=~np.isfinite(batch.wall_times)),
    ]
    return arrow.Table.from_arrays(columns, schema=schema)


EXPORT = Export("parquet", "every point as a row of Parquet (needs pyarrow)", ".parquet", _files, in_steps=True)
