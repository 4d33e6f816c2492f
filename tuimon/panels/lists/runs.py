"""Columns of the list of runs. Which runs it has, and in which order: run_selection.

A column is an entry of COLUMNS with its sort key and its cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tuimon.analysis.log_files import percent_read
from tuimon.analysis.progress_inputs import progress_of, state_at
from tuimon.analysis.run_states import SIGNS, state_sign
from tuimon.draw.numbers import format_value
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._charts.overlay_lines import marker_of
from tuimon.panels._charts.traces import spark
from tuimon.panels._metrics import label_of, level_difference
from tuimon.panels._run_facts import heading_of, loss_of, main_of, objective_of, reward_of
from tuimon.panels._text import signed
from tuimon.panels.lists.run_levels import Reader, RunLevels, level_cell, reader_of
from tuimon.panels.lists.run_metrics import (
    is_name_of_falling,
    is_renamed,
    metric_of,
    split_statistic,
)
from tuimon.run_notes import RunNote, note_in
from tuimon.sources.grouped_files import natural_order
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_ROLES = {
    "running": Role.GOOD,
    "finished": Role.TEXT,
    "quiet": Role.WARNING,
    "unknown": Role.WARNING,
    "crashed": Role.CRITICAL,
}
"""State -> role; others are muted."""
LEAST_TREND = 12
"""Minimum width of the sparkline."""
NOTE_GAP, _LEAST_NOTE = "  ", 6
"""What is between a name and the note about the run, and the minimum width of a note."""
_DAY = 86400.0


class Listing(Struct, frozen=True):
    """The state that all rows share."""

    now: float
    symbols: Symbols
    alerts: Mapping[int, int] = field(default_factory=dict)
    """Run id -> number of active alerts."""
    base: Run | None = None
    """The run that the others are compared with."""
    marked: frozenset[str] = frozenset()
    """Paths of the runs in the overlay."""
    pinned: frozenset[str] = frozenset()
    """Paths of the runs at the top of the list."""
    hidden: frozenset[str] = frozenset()
    """Paths of hidden runs."""
    shared: int = 0
    """Length of the directory prefix that all names share, which is not displayed."""
    shared_path: int = 0
    """Length of the directory prefix that all paths share, which filters ignore."""
    critical: frozenset[int] = frozenset()
    """Ids of the runs with an active critical alert."""
    failed: frozenset[int] = frozenset()
    """Ids of the runs that are not healthy (`failed_runs`)."""
    common: int = 0
    """Length of the words that all names begin with; they are cut from names that do not fit."""
    metric: str = ""
    """Metric that the user has chosen as a column, or ""."""
    notes: Mapping[str, RunNote] = field(default_factory=dict)
    """Notes of the user by the paths of the runs."""
    levels: RunLevels = field(default_factory=RunLevels)
    """Levels at the end of each run."""
    markers: Mapping[int, Span] = field(default_factory=dict)
    """Markers and roles of the marked runs by their ids, see `distinct_markers`."""

    unchecked: int = 0
    """Number of runs whose alerts are not known yet."""

    def marker(self, run: Run) -> Span:
        """Return the marker and role of a run."""
        return self.markers.get(run.id) or marker_of(run.id, self.symbols)

    def note(self, run: Run) -> RunNote:
        """Return the note about a run, which may be empty."""
        return note_in(self.notes, run.path)


class Column(Struct, frozen=True):
    """A column of the list of runs."""

    id: str
    head: str
    width: int
    by: Callable[[Run, Listing], Any]
    """Sort key; rows with None or NaN come last."""
    cell: Callable[[Run, Listing, int], Row]
    """(run, listing, width) -> content of the cell."""
    drop: int
    """Columns with the highest number are left out first if there is no room; 0 is never left out."""
    right: bool = True
    useful: Callable[[Run, Listing], bool] = field(default=lambda run, listing: True)
    """Whether the cell of a run has content; columns without any content are left out."""
    down: bool = False
    """Sort in descending order."""
    full: str = ""
    """Longer heading, for a column with room for it."""


def _state_rank(run: Run, listing: Listing) -> int:
    return list(SIGNS).index(state_at(run, listing.now))


def _state(run: Run, listing: Listing, width: int) -> Row:
    state = state_at(run, listing.now)
    critical = run.id in listing.critical
    sign = state_sign(state, listing.symbols is Symbols.ASCII, critical)
    role = Role.CRITICAL if critical else _ROLES.get(state, Role.MUTED)
    if state == "reading" and width > 1 and 0 < (percent := percent_read((run,))) < 100:
        state = f"{percent}% read"
    return ((sign if width < len(state) + 2 else f"{sign} {state}", role),)


def _name(run: Run, listing: Listing, width: int) -> Row:
    name = clean(run.name[listing.shared :])
    if cell_width(name) > width and listing.shared < listing.common < len(run.name):
        name = f"…{clean(run.name[listing.common :])}"
    room = width - cell_width(name) - len(NOTE_GAP)
    note = listing.note(run).line if room >= _LEAST_NOTE and listing.notes else ""
    return (fit(name, width, "ends").rstrip() if note else fit(name, width, "ends"), Role.TEXT), *(
        ((f"{NOTE_GAP}{fit(note, room).rstrip()}", Role.MUTED),) if note else ()
    )


def _step(run: Run, listing: Listing, width: int) -> Row:
    progress = progress_of(run, listing.now)
    if progress.position is None:
        return ()
    step = str(progress.position) if progress.position < 10**6 else format_value(progress.position)
    total = progress.total
    of = "" if total is None else f"/{total}" if total < 10**6 else f"/{format_value(total)}"
    return (step, Role.VALUE), (of if len(step) + len(of) <= width else "", Role.MUTED)


def _age(run: Run, listing: Listing) -> float:
    """Return the seconds since the last point, or else since the last change of a file; NaN if unknown."""
    return progress_of(run, listing.now).age


def age_text(seconds: float) -> str:
    """Format an age (s) coarsely, so that a list is not redrawn every second: <10 s, 20 s, 3 m, 5 h; "-" if unknown."""
    if not math.isfinite(seconds):
        return "-"
    for size, unit, least in ((365 * _DAY, "y", 2), (_DAY, "d", 2), (3600.0, "h", 2), (60.0, "m", 1)):
        if seconds >= least * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds // 10 * 10)} s" if seconds >= 10 else "<10 s"


def _difference(run: Run, listing: Listing) -> float | None:
    """Return the difference of the levels of the main metrics, see `level_difference`; None if unknown."""
    base = listing.base
    return None if base is None or run.id == base.id else level_difference(main_of(run), main_of(base))


def _delta(run: Run, listing: Listing, width: int) -> Row:
    if listing.base is not None and run.id == listing.base.id:
        return (("base", Role.MUTED),)
    delta, reading = _difference(run, listing), main_of(run)
    return (signed(delta, reading.meaning.direction),) if delta is not None and reading is not None else ()


def _trend(run: Run, listing: Listing, width: int) -> Row:
    reading = main_of(run)
    line = "" if reading is None else spark(reading.curve, reading.factor, width, listing.symbols)
    return ((line, listing.marker(run)[1]),) if line else ()


def _alert_count(run: Run, listing: Listing) -> int:
    return listing.alerts.get(run.id, 0)


def _alerts(run: Run, listing: Listing, width: int) -> Row:
    count = _alert_count(run, listing)
    return ((str(count), Role.CRITICAL if run.id in listing.critical else Role.WARNING),) if count else ()


def _metric_column(id: str, reader: Reader, drop: int, down: bool, head: str = "", width: int = 8) -> Column:
    def level(run: Run, listing: Listing) -> float | None:
        return listing.levels.level(run, reader)

    def useful(run: Run, listing: Listing) -> bool:
        return reader(run) is not None

    def cell(run: Run, listing: Listing, width: int) -> Row:
        return level_cell(reader(run), width, level(run, listing))

    return Column(id, head or id, width, level, cell, drop, useful=useful, down=down)


COLUMNS = (
    Column("state", "state", 10, _state_rank, _state, 0, right=False),
    Column("name", "run", 0, lambda run, listing: natural_order(run.name.lower()), _name, 0, right=False),
    Column("step", "step", 11, lambda run, listing: progress_of(run, listing.now).step, _step, 2, down=True),
    Column("age", "age", 5, _age, lambda run, listing, width: ((age_text(_age(run, listing)), Role.TEXT),), 4),
    _metric_column("reward", reward_of, 3, True),
    Column("base", "Δ base", 9, _difference, _delta, 6, useful=lambda _, listing: listing.base is not None, down=True),
    _metric_column("loss", loss_of, 5, False),
    _metric_column("objective", objective_of, 3, True),
    Column("trend", "curve", LEAST_TREND, lambda run, listing: run.point_count, _trend, 7, right=False, down=True),
    Column("alerts", "!", 3, _alert_count, _alerts, 1, useful=lambda run, listing: run.id in listing.alerts, down=True),
)
RESULTS = {"reward": reward_of, "loss": loss_of, "objective": objective_of}
"""Id of a column with a result -> function that returns the metric of a run in this column."""
METRIC = "metric"
"""Id of the column of the chosen metric."""
LAST_DROP = max(column.drop for column in COLUMNS)
"""`drop` of the columns that are left out first."""
_METRIC_WIDTH = 8, 18
"""Minimum and maximum width of the column of the chosen metric."""


def columns_of(listing: Listing) -> tuple[Column, ...]:
    """Return COLUMNS, with the column of the chosen metric in front of that of the reward."""
    return _with_metric(listing.metric) if listing.metric else COLUMNS


@lru_cache(maxsize=8)
def _with_metric(metric: str) -> tuple[Column, ...]:
    least, most = _METRIC_WIDTH
    head, falls = clean(metric), is_name_of_falling(metric)
    width = max(least, min(cell_width(head) + 1, most))
    column = _metric_column(METRIC, reader_of(metric), 1, not falls, head, width)

    def by(run: Run, listing: Listing) -> float | None:
        return listing.levels.value(run, metric)

    def cell(run: Run, listing: Listing, width: int) -> Row:
        reading, value = metric_of(run, metric), by(run, listing)
        if reading is None or value is None or not is_renamed(reading, metric):
            return level_cell(reading, width, value)
        return (("*", Role.MUTED), *level_cell(reading, width - 1, value))

    column = replace(column, by=by, cell=cell)
    place = next(index for index, other in enumerate(COLUMNS) if other.id == "reward")
    return (*COLUMNS[:place], column, *COLUMNS[place:])


def headed(columns: Iterable[Column], runs: Sequence[Run]) -> tuple[Column, ...]:
    """Return the columns, those of reward, loss and objective with the name of the metric if all of these runs show the
    same one: that of the objective always, that of the others if some runs log several metrics of the quantity."""
    result = []
    for column in columns:
        fact = RESULTS.get(column.id)
        readings = [(run, reading) for run in runs if (reading := fact(run))] if fact is not None else []
        labels = {label_of(reading.meaning) for _, reading in readings}
        full = heading_of((run, reading.metric) for run, reading in readings) if len(labels) == 1 else ""
        result.append(replace(column, full=clean(full)) if full != column.full else column)
    return tuple(result)


def useful_columns(runs: Iterable[Run], listing: Listing) -> frozenset[str]:
    """Return the ids of the columns with content for at least one of these runs."""
    shown = list(runs)
    return frozenset(column.id for column in columns_of(listing) if any(column.useful(run, listing) for run in shown))


def repeated_columns(runs: Sequence[Run], metric: str) -> frozenset[str]:
    """Return the ids of the columns of reward, loss and objective that have the levels of a chosen metric for all of
    these runs."""
    metric, statistic = split_statistic(metric)
    if not metric or statistic:
        return frozenset()
    chosen = {run.id: reading.metric for run in runs if (reading := metric_of(run, metric)) is not None}
    shown = {id: [(run, reading) for run in runs if (reading := fact(run))] for id, fact in RESULTS.items()}
    return frozenset(
        id for id, pairs in shown.items() if all(chosen.get(run.id) == reading.metric for run, reading in pairs)
    )
