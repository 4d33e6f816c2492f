"""Parquet files with one sample per row, as TRL writes them. Needs the extra `parquet`. Positions are row numbers."""

from __future__ import annotations

from tuimon.errors import FormatError
from tuimon.samples import Rows, Shape

_BATCH = 64


def _rows(path: str, start: int) -> Rows:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise FormatError("Parquet needs pyarrow: pip install 'tuimon[parquet]'") from None
    number = 0
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                if number + batch.num_rows <= start:
                    number += batch.num_rows
                    continue
                for row in batch.to_pylist():
                    if number >= start:
                        yield number, row
                    number += 1
    except ArrowException:
        raise FormatError("not a readable Parquet file") from None


SHAPE = Shape("parquet", lambda path: path.endswith(".parquet"), _rows)
