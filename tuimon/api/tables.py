"""Points of a metric, and of several as a stream of Arrow record batches.

Polars, pandas, pyarrow and duckdb take these without a copy. pyarrow (the extra `arrow`) makes the C structures;
nanoarrow cannot build the dictionary columns that keep a name from being repeated for each point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tuimon.errors import UsageError
from tuimon.model.points import Floats, Indices, Steps
from tuimon.store import Curve
from tuimon.vocabulary import Meaning


class Metric:
    """The points of one metric of a run; unpacks into `steps, values, wall_times`.

    The arrays have equal length and are read-only views, ordered by step. Of two attempts that overlap, the later one
    counts from its first step on; NaN and infinite values are points.
    """

    __slots__ = ("_curve", "_meaning")

    def __init__(self, curve: Curve, meaning: Meaning) -> None:
        self._curve, self._meaning = curve, meaning

    @property
    def name(self) -> str:
        """Name as the best source writes it."""
        return self._curve.metric

    @property
    def steps(self) -> Steps:
        """int64, ascending."""
        return self._curve.steps

    @property
    def values(self) -> Floats:
        """float64."""
        return self._curve.values

    @property
    def wall_times(self) -> Floats:
        """float64, seconds since the epoch; NaN where the log does not say."""
        return self._curve.wall_times

    @property
    def restarts(self) -> Indices:
        """Positions at which a later attempt takes over."""
        return self._curve.restarts

    @property
    def superseded(self) -> int:
        """Number of points that a later attempt replaces, which are not among the points."""
        return self._curve.superseded

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources that hold the metric; the first is used, the others where it has no points."""
        return self._curve.sources

    @property
    def concept(self) -> str:
        """Concept that the metric measures, for example "reward.train"; "other" for an unknown name."""
        return self._meaning.concept

    @property
    def unit(self) -> str:
        return self._meaning.logged_unit

    @property
    def direction(self) -> str:
        """Which values are better: up | down | neutral | band."""
        return self._meaning.direction

    def __iter__(self) -> Iterator[Any]:
        return iter((self.steps, self.values, self.wall_times))

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self._curve)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        last = f", last {self.values[-1]:.6g} at step {self.steps[-1]}" if len(self) else ""
        return f"<Metric {self.name!r}: {len(self)} points{last}>"


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
