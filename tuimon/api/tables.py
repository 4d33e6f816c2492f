"""Points as a stream of Arrow record batches, which polars, pandas, pyarrow and duckdb take without a copy.

pyarrow (the extra `arrow`) makes the C structures. nanoarrow would be smaller, but its Python interface cannot build
the dictionary columns that keep a name from being repeated for each point; C structures made with ctypes would call
back into Python when a consumer releases them, which may be while the interpreter ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tuimon.errors import UsageError

if TYPE_CHECKING:
    from tuimon.api.metric import Metric


class Table:
    """Rows of points: [run,] metric, step, value, wall_time. Implements the Arrow PyCapsule interface.

    The columns step, value and wall_time are those of the run, one batch for each metric; run and metric are
    dictionaries with 4 bytes for each row. wall_time is in seconds since the epoch and NaN if unknown.
    """

    def __init__(self, parts: Sequence[tuple[str | None, Metric]]) -> None:
        """parts: pairs of a run's name (None: without a column of runs) and a metric."""
        self._parts = tuple(parts)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(len(metric) for _, metric in self._parts)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows in {len(self._parts)} batches>"

    def __arrow_c_schema__(self) -> object:
        """Return the schema as a PyCapsule. Needs pyarrow."""
        return self._schema(_pyarrow()).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a PyCapsule of an ArrowArrayStream. Needs pyarrow."""
        arrow = _pyarrow()
        schema = self._schema(arrow)
        reader = arrow.RecordBatchReader.from_batches(schema, self._batches(arrow, schema))
        return reader.__arrow_c_stream__(requested_schema)

    @property
    def _has_runs(self) -> bool:
        return any(run is not None for run, _ in self._parts)

    def _schema(self, arrow: Any) -> Any:
        name = arrow.dictionary(arrow.int32(), arrow.string())
        names = [("run", name)] if self._has_runs else []
        numbers = [("step", arrow.int64()), ("value", arrow.float64()), ("wall_time", arrow.float64())]
        return arrow.schema([*names, ("metric", name), *numbers])

    def _batches(self, arrow: Any, schema: Any) -> Iterator[Any]:
        metrics = _Names(arrow, [metric.name for _, metric in self._parts])
        runs = _Names(arrow, [run or "" for run, _ in self._parts]) if self._has_runs else None
        for run, metric in self._parts:
            columns = [metrics.column(metric.name, len(metric))]
            if runs is not None:
                columns.insert(0, runs.column(run or "", len(metric)))
            columns += [arrow.array(column) for column in metric]
            yield arrow.RecordBatch.from_arrays(columns, schema=schema)


class _Names:
    """A dictionary of names and columns that refer to it."""

    def __init__(self, arrow: Any, names: Sequence[str]) -> None:
        self._arrow = arrow
        self._indices = {name: index for index, name in enumerate(dict.fromkeys(names))}
        texts = [name.encode("utf-8", "backslashreplace").decode() for name in self._indices]
        self._dictionary = arrow.array(texts, arrow.string())

    def column(self, name: str, rows: int) -> Any:
        """Return a column that repeats a name."""
        indices = self._arrow.array(np.full(rows, self._indices[name], np.int32))
        return self._arrow.DictionaryArray.from_arrays(indices, self._dictionary)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise UsageError("Arrow tables need pyarrow", "Run: pip install 'tuimon[arrow]'") from error
    return pyarrow
