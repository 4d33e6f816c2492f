"""Many runs: which of them are listed, in what order, and what is said of each. Only what is asked for is made.

A column is a line of COLUMNS: what it is sorted by, and what stands in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_filter import RunFilter
from tuimon.draw.numbers import format_value
from tuimon.draw.spark import spark_columns, sparkline
from tuimon.model.alerts import Alert
from tuimon.model.views import Role, Row, Symbols
from tuimon.panels._briefs import loss_of, main_of, reward_of, settings_of
from tuimon.panels._over import marker_of
from tuimon.panels._reading import Reading, difference
from tuimon.panels._text import signed, unit_text
from tuimon.panels._traces import scaled
from tuimon.store import Run
from tuimon.text import clean, fit

_STATES = {
    "running": ("●", "*", Role.GOOD),
    "finished": ("✓", "+", Role.TEXT),
    "stalled": ("!", "!", Role.WARNING),
    "crashed": ("✗", "x", Role.CRITICAL),
    "quiet": ("·", ".", Role.MUTED),
    "waiting": ("○", "o", Role.MUTED),
    "unknown": ("?", "?", Role.MUTED),
}
"""State -> its glyph, that in ASCII, its role; in the order in which they are sorted."""
LEAST_TREND = 12
"""Cells of the curve, where there is no room for more."""
_DAY = 86400.0


class Listing(Struct, frozen=True):
    """What all rows have in common."""

    now: float
    symbols: Symbols
    alerts: Mapping[int, int] = field(default_factory=dict)
    """Run id -> how many stand."""
    base: Run | None = None
    """What the others are compared with."""
    marked: frozenset[str] = frozenset()
    """Paths of the runs that are drawn over each other; the next two likewise."""
    pinned: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    shared: int = 0
    """Characters with which all names begin: a directory that need not be said of each."""
    critical: frozenset[int] = frozenset()
    """Ids of the runs of which an alert that stands is critical."""


def shared_directory(names: Sequence[str]) -> int:
    """Length of the directories with which all these names begin."""
    if len(names) < 2:
        return 0
    first, last = min(names), max(names)  # what these two begin with, all do
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first.rfind("/", 0, same) + 1


def count_alerts(alerts: Iterable[Alert]) -> Mapping[int, int]:
    """Run id -> how many alerts stand."""
    return Counter(alert.run for alert in alerts)


class Column(Struct, frozen=True):
    """One thing that is said of every run."""

    id: str
    head: str
    width: int
    by: Callable[[Run, Listing], Any]
    """What it is sorted by; None or NaN is unknown, and comes last."""
    cell: Callable[[Run, Listing, int], Row]
    """What is said, in at most so many cells."""
    drop: int
    """Which column goes first where there is no room: the one with the highest number; 0 never."""
    right: bool = True
    useful: Callable[[Run, Listing], bool] = field(default=lambda run, listing: True)
    """Whether it says something of a run: a column that says nothing of any is left out."""
    down: bool = False
    """The highest first."""


def _state(run: Run, listing: Listing, width: int) -> Row:
    state = progress_of(run, listing.now).state
    glyph, plain, role = _STATES.get(state, _STATES["unknown"])
    sign = plain if listing.symbols is Symbols.ASCII else glyph
    return ((sign if width < len(state) + 2 else f"{sign} {state}", role),)


def _name(run: Run, listing: Listing, width: int) -> Row:
    return ((fit(clean(run.name[listing.shared :]), width, "ends"), Role.TEXT),)


def _step(run: Run, listing: Listing, width: int) -> Row:
    said = progress_of(run, listing.now)
    if said.step is None:
        return ()
    step = str(said.step) if said.step < 10**6 else format_value(said.step)
    of = "" if said.total is None else f"/{said.total}" if said.total < 10**6 else f"/{format_value(said.total)}"
    return (step, Role.VALUE), (of if len(step) + len(of) <= width else "", Role.MUTED)


def _age(run: Run, listing: Listing) -> float:
    newest = run.last_wall_time if math.isfinite(run.last_wall_time) else run.last_change
    return max(0.0, listing.now - newest)


def age_text(seconds: float) -> str:
    """How long ago, so coarse that a list need not be drawn again every second: 20 s, 3 m, 5 h, 12 d."""
    if not math.isfinite(seconds):
        return ""
    for size, unit, least in ((365 * _DAY, "y", 2), (_DAY, "d", 2), (3600.0, "h", 2), (60.0, "m", 1)):
        if seconds >= least * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds // 10 * 10)} s"


def _value(reading: Reading | None) -> Row:
    if reading is None:
        return ()
    text = format_value(reading.last, unit_text(reading.meaning.unit))
    return ((text, Role.VALUE if math.isfinite(reading.last) else Role.CRITICAL),)


def _last(reading: Reading | None) -> float | None:
    return reading.last if reading is not None else None


def _difference(run: Run, base: Run | None) -> float | None:
    """How far its main metric lies from the base's at the last step that both have reached; None unknown."""
    return None if base is None or run.id == base.id else difference(main_of(run), main_of(base))


def _delta(run: Run, listing: Listing, width: int) -> Row:
    if listing.base is not None and run.id == listing.base.id:
        return (("base", Role.MUTED),)
    found, reading = _difference(run, listing.base), main_of(run)
    return (signed(found, reading.meaning.direction),) if found is not None and reading is not None else ()


def _trend(run: Run, listing: Listing, width: int) -> Row:
    reading = main_of(run)
    limits = reading.curve.limits() if reading is not None else None
    if reading is None or limits is None:
        return ()
    low, high = limits if limits[0] < limits[1] else (limits[0], limits[0] + 1)
    envelope = scaled(reading.curve.envelope(low, high, spark_columns(width, listing.symbols)), reading.factor)
    return ((sparkline(envelope, width, listing.symbols), marker_of(run, listing.symbols)[1]),)


def _alerts(run: Run, listing: Listing, width: int) -> Row:
    count = listing.alerts.get(run.id, 0)
    return ((str(count), Role.CRITICAL if run.id in listing.critical else Role.WARNING),) if count else ()


COLUMNS = (
    Column(
        "state",
        "state",
        10,
        lambda run, listing: list(_STATES).index(progress_of(run, listing.now).state),
        _state,
        0,
        right=False,
    ),
    Column("name", "run", 0, lambda run, listing: run.name.lower(), _name, 0, right=False),
    Column("step", "step", 11, lambda run, listing: progress_of(run, listing.now).step, _step, 2, down=True),
    Column("age", "age", 5, _age, lambda run, listing, width: ((age_text(_age(run, listing)), Role.TEXT),), 4),
    Column(
        "reward",
        "reward",
        8,
        lambda run, listing: _last(reward_of(run)),
        lambda run, listing, width: _value(reward_of(run)),
        1,
        useful=lambda run, listing: reward_of(run) is not None,
        down=True,
    ),
    Column(
        "base",
        "Δ base",
        9,
        lambda run, listing: _difference(run, listing.base),
        _delta,
        3,
        useful=lambda run, listing: listing.base is not None,
        down=True,
    ),
    Column(
        "loss",
        "loss",
        8,
        lambda run, listing: _last(loss_of(run)),
        lambda run, listing, width: _value(loss_of(run)),
        5,
        useful=lambda run, listing: loss_of(run) is not None,
    ),
    Column("trend", "curve", LEAST_TREND, lambda run, listing: run.point_count, _trend, 6, right=False, down=True),
    Column(
        "alerts",
        "!",
        3,
        lambda run, listing: listing.alerts.get(run.id, 0),
        _alerts,
        7,
        useful=lambda run, listing: run.id in listing.alerts,
        down=True,
    ),
)
SORTS = ("found", *(column.id for column in COLUMNS))
"""What a list can be sorted by: the order in which runs were found, or a column."""


class Asked(Struct, frozen=True):
    """A run as a filter asks it."""

    run: Run
    listing: Listing

    def field(self, name: str) -> object:
        """See run_filter.FIELDS."""
        if name == "name":
            return self.run.name
        if name == "state":
            return progress_of(self.run, self.listing.now).state
        return next(column.by(self.run, self.listing) for column in COLUMNS if column.id == name)

    @property
    def config(self) -> Mapping[str, Any]:
        return settings_of(self.run)


def listed(
    runs: Sequence[Run],
    listing: Listing,
    wanted: RunFilter | None = None,
    sort: str = "found",
    reverse: bool = False,
    show_hidden: bool = False,
) -> tuple[Run, ...]:
    """The runs that a list shows, in its order: those that the filter means, pinned ones first, without hidden ones."""
    if not show_hidden and listing.hidden:
        runs = [run for run in runs if run.path not in listing.hidden]
    if wanted is not None and wanted.alternatives:
        runs = [run for run in runs if wanted.holds(Asked(run, listing))]
    column = next((column for column in COLUMNS if column.id == sort), None)
    if column is not None:
        keys = {run.id: column.by(run, listing) for run in runs}
        known = [run for run in runs if _known(keys[run.id])]
        known.sort(key=lambda run: keys[run.id], reverse=column.down != reverse)
        runs = [*known, *(run for run in runs if not _known(keys[run.id]))]
    elif reverse:
        runs = runs[::-1]
    if listing.pinned:
        runs = sorted(runs, key=lambda run: run.path not in listing.pinned)
    return tuple(runs)


def _known(key: object) -> bool:
    return key is not None and key == key


def useful_columns(runs: Iterable[Run], listing: Listing) -> frozenset[str]:
    """Ids of the columns that say something of one of these runs."""
    shown = list(runs)
    return frozenset(column.id for column in COLUMNS if any(column.useful(run, listing) for run in shown))
