"""RunLevels: the values of metrics by which the tables of runs show and sort runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

from tuimon.analysis.comparison_rows import comparable_step, level_until
from tuimon.analysis.run_cache import cached_per_run
from tuimon.draw.numbers import format_value
from tuimon.model.views import Role, Row, Span
from tuimon.panels._metrics import MetricReading
from tuimon.panels.lists.run_metrics import metric_of, split_statistic, value_of
from tuimon.store import Run
from tuimon.text import cell_width
from tuimon.vocabulary import unit_text

Reader: TypeAlias = Callable[[Run], "MetricReading | None"]
"""Function that returns a metric of a run, or None if the run does not have it. It is the key of a cached step."""
_NOTES = (
    "  results: mean of the last tenth (level)",
    "  results: mean of last tenth",
    "  mean of last tenth",
    "  levels",
)
"""What the values of a table are, the clearest first."""


class RunLevels:
    """Levels of the metrics of runs (see analysis.level).

    The list of runs has those at the end of each run, which change with each point. A table that compares the runs has
    those up to a step that they have reached (`comparable_step`). Levels at the end are cached per run.
    """

    def __init__(self, compared: Sequence[Run] = ()) -> None:
        """compared: the runs that are compared; without them, each level is that of the end of its run."""
        self._compared = () if compared and compared[0].is_reading else compared
        self._steps: dict[Reader, int | None] = {}

    def level(self, run: Run, reader: Reader) -> float | None:
        """Return the level of the metric that a reader returns, in the unit of the concept."""
        reading = reader(run)
        if reading is None:
            return None
        step = self.last_step(reader)
        if step is not None and step < int(reading.curve.steps[-1]):
            return level_until(reading.curve, step) * reading.factor
        known = _levels_at_end(run)
        if reading.metric not in known:
            known[reading.metric] = level_until(reading.curve, None) * reading.factor
        return known[reading.metric]

    def value(self, run: Run, wanted: str) -> float | None:
        """Return the level of a metric (see `metric_of`), the last value for "last(name)", or the best one for
        "best(name)" and "best_name"; None if the run does not have it."""
        name, statistic = split_statistic(wanted)
        level = None if statistic else self.level(run, reader_of(name))
        return value_of(run, wanted) if level is None else level

    def last_step(self, reader: Reader) -> int | None:
        """Return the step up to which the compared runs are judged; None if they have none in common."""
        if self._compared and reader not in self._steps:
            readings = map(reader, self._compared)
            self._steps[reader] = comparable_step([None if reading is None else reading.curve for reading in readings])
        return self._steps.get(reader)


@lru_cache(maxsize=64)
def reader_of(metric: str) -> Reader:
    """Return the function that looks up a metric by its name, see `metric_of`; the same object for the same name."""
    return partial(metric_of, wanted=metric)


def level_note(room: int, until: str = "") -> Span:
    """Return what the values of a table are, in at most `room` cells. until: where the longest of the runs is cut."""
    texts = (*(f"{text} up to {until}" for text in _NOTES if until), *_NOTES)
    return next((text for text in texts if len(text) <= room), ""), Role.MUTED


def level_cell(reading: MetricReading | None, width: int, value: float | None) -> Row:
    """Return the cell of a metric. value: of the metric, in its unit.

    It has the colour of an alert if the metric is not finite now, and the step since when if it has no level.
    """
    if reading is None or value is None:
        return ()
    text = format_value(value, unit_text(reading.meaning.unit))
    if not math.isfinite(value):
        text += _since(reading)
    if cell_width(text) > width:
        text = format_value(value)
    return ((text, Role.VALUE if math.isfinite(value) and math.isfinite(reading.last) else Role.CRITICAL),)


def _since(reading: MetricReading) -> str:
    """Return " since 34" for a metric that has not been finite since step 34; "" if it is, or if no step is logged."""
    curve = reading.curve
    if curve.ordinal or math.isfinite(reading.last):
        return ""
    row = 0 if curve.last is None else curve.row_after(curve.last.step)
    return f" since {curve.steps[row]}"


@cached_per_run
def _levels_at_end(run: Run) -> dict[str, float]:
    """Map metrics to their levels at the end of the run, as far as they were needed."""
    return {}
