"""Rows of one point each: which keys hold its name, value, step and time.

CLEARML.row({"metric": "critic", "variant": "score/mean", "value": 0.5, "iter": 3, "timestamp": 1795224836077})
{"step": 3, "timestamp": 1795224836077, "critic/score/mean": 0.5}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tuimon.formats._shared.row_reader import RowReader
from tuimon.formats._shared.rows import Row, number, step_of
from tuimon.model.points import Item, Names


class LongForm(NamedTuple):
    """Keys of the rows of one writer."""

    names: tuple[str, ...]
    """Parts of the name of the metric; none if the file has a single metric, which is called ""."""
    value: str
    step: str
    time: str = "timestamp"

    def row(self, logged: Any) -> Row:
        """Return the row of metrics; {} for what is no point."""
        if type(logged) is not dict or step_of(logged.get(self.step)) is None:
            return {}
        value = number(logged.get(self.value), "")
        name = "/".join(str(logged[key]) for key in self.names if logged.get(key))
        return {} if value is None else {"step": logged[self.step], "timestamp": logged.get(self.time), name: value}

    def reader(self, values_of: Callable[[Any], Iterable[Any]] = lambda line: (line,)) -> Callable[[Any], list[Item]]:
        """Return a function that converts parsed lines of one log into items. values_of: the points in a line."""
        rows = RowReader(Names())
        return lambda lines: rows.read([self.row(value) for line in lines for value in values_of(line)])


CLEARML = LongForm(("metric", "variant"), "value", "iter")
MLFLOW = LongForm(("key",), "value", "step")
"""Of MLflow's REST API, and of tables that it lets be downloaded."""
SWANLAB = LongForm((), "data", "index", "create_time")
