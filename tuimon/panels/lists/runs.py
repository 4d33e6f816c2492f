"""Columns of the list of runs. Which runs it has, and in which order: run_selection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from tuimon.analysis.comparing import is_seed
from tuimon.analysis.log_files import percent_read
from tuimon.analysis.progress_inputs import progress_of, state_at
from tuimon.analysis.run_states import SIGNS as STATES
from tuimon.analysis.run_states import state_sign
from tuimon.draw.numbers import format_value
from tuimon.draw.table import KEPT, Column, cursor_sign
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._charts.overlay_lines import marker_of
from tuimon.panels._charts.traces import spark
from tuimon.panels._metrics import label_of, level_difference
from tuimon.panels._run_facts import heading_of, loss_of, main_of, objective_of, reward_of
from tuimon.panels._text import STATE_ROLES, signed
from tuimon.panels.lists.hparam_rows import Settings, setting_columns
from tuimon.panels.lists.run_metrics import (
    METRIC,
    RESULTS,
    Reader,
    RunLevels,
    is_name_of_falling,
    is_renamed,
    level_cell,
    metric_of,
)
from tuimon.run_notes import RunNote, note_in
from tuimon.sources.grouped_files import natural_order
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

NOTE_GAP, _LEAST_NOTE = "  ", 6
"""What is between a name and the note about the run, and the width from which a note is cut to its room."""
_DAY = 86400.0
_LONGEST_NAME, _LONGEST_HEAD = 80, 24
"""Maximum width of a name with its note, and of the name of a metric above its column."""
_LEAST_WORDS, _MOST_WORDS = 24, 60
"""Cells of the column of alerts from which it has words, and up to which it grows."""
_METRIC_WIDTH = 8, 18
"""Minimum and maximum width of the column of the chosen metric."""
_PROGRESS = ("step", "age", "base", "trend")
"""Columns that the settings take the place of."""
_FEW_SETTINGS = 2
"""Number of settings that have columns beside progress and curves."""
SIGNS, GAP = 5, 1
"""Cells of the signs before the first column, and between two columns."""
Value: TypeAlias = Callable[..., Any]
Show: TypeAlias = "Callable[[Run, Listing, int], Row]"


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

    settings: Settings | None = None
    """The settings that differ between the runs; None: without columns of settings."""
    all_settings: bool = False
    """Whether all of them have columns, in place of progress and curves, not only the first ones."""
    unchecked: int = 0
    """Number of runs whose alerts are not known yet."""
    worst: Mapping[int, str] = field(default_factory=dict)
    """Run id -> words of its most severe alert."""

    def marker(self, run: Run) -> Span:
        """Return the marker and role of a run."""
        return self.markers.get(run.id) or marker_of(run.id)

    def note(self, run: Run) -> RunNote:
        """Return the note about a run, which may be empty."""
        return note_in(self.notes, run.path)


def _state_rank(run: Run, listing: Listing) -> int:
    return list(STATES).index(state_at(run, listing.now))


def _state(run: Run, listing: Listing, width: int) -> Row:
    state = state_at(run, listing.now)
    critical = run.id in listing.critical
    sign = state_sign(state, critical)
    role = Role.CRITICAL if critical else STATE_ROLES.get(state, Role.MUTED)
    if state == "reading" and width > 1 and 0 < (percent := percent_read((run,))) < 100:
        state = f"{percent}% read"
    return ((sign if width < len(state) + 2 else f"{sign} {state}", role),)


def _name(run: Run, listing: Listing, width: int) -> Row:
    name = clean(run.name[listing.shared :])
    if cell_width(name) > width and listing.shared < listing.common < len(run.name):
        name = f"…{clean(run.name[listing.common :])}"
    room = width - cell_width(name) - len(NOTE_GAP)
    note = listing.note(run).line if listing.notes else ""
    return (fit(name, width, "ends").rstrip(), Role.TEXT), *(
        ((f"{NOTE_GAP}{fit(note, room).rstrip()}", Role.MUTED),)
        if note and room >= min(_LEAST_NOTE, cell_width(note))
        else ()
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
    if base is None or run.id == base.id:
        return None if base is None else 0.0
    return level_difference(main_of(run), main_of(base))


def _delta(run: Run, listing: Listing, width: int) -> Row:
    if listing.base is not None and run.id == listing.base.id:
        return (("base", Role.MUTED),)
    delta, reading = _difference(run, listing), main_of(run)
    return (signed(delta, reading.meaning.direction),) if delta is not None and reading is not None else ()


def _trend(run: Run, listing: Listing, width: int) -> Row:
    reading = main_of(run)
    line = "" if reading is None else spark(reading.curve, reading.factor, width, listing.symbols)
    return ((line, listing.marker(run)[1]),) if line else ()


def _alert_count(run: Run, listing: Listing) -> int | None:
    return listing.alerts.get(run.id)


def _alerts(run: Run, listing: Listing, width: int) -> Row:
    count = _alert_count(run, listing)
    if not count:
        return ()
    text, words = str(count), listing.worst.get(run.id, "")
    if words and width >= _LEAST_WORDS:
        text = f"{text} {fit(words, width - len(text) - 1).rstrip()}"
    return ((text, Role.CRITICAL if run.id in listing.critical else Role.WARNING),)


def run_columns(listing: Listing) -> tuple[Column[Run], ...]:
    """Return the columns of the list of runs, with the metric that the user has chosen in front of the reward."""

    def column(id: str, head: str, value: Value, show: Show, least: int, keep: int, **more: Any) -> Column[Run]:
        return Column(id, head, partial(value, listing=listing), partial(_shown, show, listing), least, keep, **more)

    def metric(id: str, reader: Reader, keep: int, down: bool) -> Column[Run]:
        return column(
            id,
            id,
            lambda run, listing: listing.levels.level(run, reader),
            lambda run, listing, width: level_cell(reader(run), width, listing.levels.level(run, reader)),
            *(_METRIC_WIDTH[0], keep),
            most=_LONGEST_HEAD,
            down=down,
        )

    def chosen() -> Column[Run]:
        least, most = _METRIC_WIDTH
        head = clean(listing.metric)
        width = max(least, min(cell_width(head) + 1, most))
        falls = is_name_of_falling(listing.metric)
        return column(METRIC, head, _chosen_value, _chosen, width, 19, down=not falls)

    alert_words = ((9, _LEAST_WORDS),) if listing.worst else ()
    word, names = ((12, 10),), ((13, 16), (11, 20), (10, 32))
    settings = () if listing.settings is None else setting_columns(listing.settings)
    columns = (
        column("state", "state", _state_rank, _state, 1, KEPT, wish=word, right=False),
        column("name", "run", _name_order, _name, 10, KEPT, wish=names, most=_LONGEST_NAME, right=False),
        column("step", "step", _last_step, _step, 11, 18, down=True),
        column("age", "age", _age, _age_cell, 5, 16),
        *((chosen(),) if listing.metric else ()),
        metric("reward", reward_of, 17, True),
        column("base", "base" if listing.symbols is Symbols.ASCII else "Δ base", _difference, _delta, 9, 14, down=True),
        metric("loss", loss_of, 15, False),
        metric("objective", objective_of, 17, True),
        column("trend", "curve", _points, _trend, 12, 9, most=120, fills=True, right=False, down=True),
        column("alerts", "!", _alert_count, _alerts, 3, 19, wish=alert_words, most=_MOST_WORDS, right=False, down=True),
    )
    if listing.all_settings:
        return (*(column for column in columns if column.id not in _PROGRESS), *settings)
    few = [column for column in settings if not is_seed(column.id)][:_FEW_SETTINGS]
    return (*columns[:-2], *(replace(column, keep=8) for column in few), *columns[-2:])


def _shown(show: Show, listing: Listing, run: Run, width: int) -> Row:
    return show(run, listing, width)


def _name_order(run: Run, listing: Listing) -> Any:
    return natural_order(run.name.lower())


def _last_step(run: Run, listing: Listing) -> int | None:
    return progress_of(run, listing.now).step


def _age_cell(run: Run, listing: Listing, width: int) -> Row:
    return ((age_text(_age(run, listing)), Role.TEXT),)


def _points(run: Run, listing: Listing) -> int:
    return run.point_count


def _chosen_value(run: Run, listing: Listing) -> float | None:
    return listing.levels.value(run, listing.metric)


def _chosen(run: Run, listing: Listing, width: int) -> Row:
    """Return the value of the chosen metric, with a sign if the run logs it by another name."""
    reading, value = metric_of(run, listing.metric), _chosen_value(run, listing)
    if reading is None or value is None or not is_renamed(reading, listing.metric):
        return level_cell(reading, width, value)
    return (("*", Role.MUTED), *level_cell(reading, width - 1, value))


def run_signs(run: Run, listing: Listing, selected: bool) -> Row:
    """Return the SIGNS before the first column: cursor, overlay marker, flag (hidden, base, pinned)."""
    sign, role = listing.marker(run)
    is_base = listing.base is not None and run.id == listing.base.id
    flag = "h" if run.path in listing.hidden else "B" if is_base else "P" if run.path in listing.pinned else " "
    return (
        cursor_sign(selected),
        (sign if run.path in listing.marked else " ", role),
        (f" {flag} ", Role.MUTED),
    )


def headed(columns: Iterable[Column[Run]], runs: Sequence[Run]) -> tuple[Column[Run], ...]:
    """Return the columns, those of reward, loss and objective with the name of the metric if all of these runs show the
    same one: that of the objective always, that of the others if some runs log several metrics of the quantity."""
    result = []
    for column in columns:
        fact = RESULTS.get(column.id)
        readings = [(run, reading) for run in runs if (reading := fact(run))] if fact is not None else []
        labels = {label_of(reading.meaning) for _, reading in readings}
        full = heading_of((run, reading.metric) for run, reading in readings) if len(labels) == 1 else ""
        result.append(replace(column, full=clean(full)) if full else column)
    return tuple(result)
