"""Which of many runs a person looks at: how they are listed, which are drawn over each other, what they are held to.

Runs are named by their paths, so that a choice means the same runs when tuimon is started again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tuimon.analysis.run_filter import RunFilter, parse
from tuimon.model.views import Symbols
from tuimon.panels import Over, drawn_over, passing
from tuimon.panels.lists.runs import Listing, count_alerts, listed, shared_directory
from tuimon.store import Run, Snapshot


@dataclass(frozen=True, slots=True)
class RunChoice:
    """The default is what a person sees who has pressed nothing."""

    marked: tuple[str, ...] = ()
    """Drawn over the run that is shown."""
    over: bool = True
    """False: not now, but they stay marked."""
    pinned: tuple[str, ...] = ()
    """First in every list."""
    hidden: tuple[str, ...] = ()
    base: str = ""
    """What the others are compared with; "" nothing."""
    grouped: bool = False
    """Runs that differ only in their seed are drawn as one."""
    sort: str = "found"
    """One of panels.SORTS."""
    reverse: bool = False
    query: str = passing("")
    """What was typed into the filter over runs."""
    show_hidden: bool = passing(False)

    def toggled(self, field: str, path: str) -> RunChoice:
        """With the run added to marked, pinned or hidden, or taken out of it."""
        held: tuple[str, ...] = getattr(self, field)
        changed: dict[str, Any] = {field: tuple(one for one in held if one != path) if path in held else (*held, path)}
        return replace(self, **changed)

    @property
    def filter(self) -> RunFilter:
        """The query, read."""
        return _read(self.query)


@lru_cache(maxsize=8)
def _read(query: str) -> RunFilter:
    return parse(query)


def listing_of(snapshot: Snapshot, choice: RunChoice, now: float, symbols: Symbols) -> Listing:
    """What all rows of the list have in common."""
    return Listing(
        now,
        symbols,
        count_alerts(snapshot.alerts),
        base_of(snapshot, choice),
        frozenset(choice.marked),
        frozenset(choice.pinned),
        frozenset(choice.hidden),
        shared_directory([run.name for run in snapshot.runs]),
        frozenset(alert.run for alert in snapshot.alerts if alert.severity == "critical"),
    )


def base_of(snapshot: Snapshot, choice: RunChoice) -> Run | None:
    """The run that the others are compared with."""
    return next((run for run in snapshot.runs if run.path == choice.base), None) if choice.base else None


def runs_of(snapshot: Snapshot, choice: RunChoice, now: float, symbols: Symbols) -> tuple[Run, ...]:
    """The runs in the order of the list, without those that it does not show: what one goes through run by run."""
    if choice == _PLAIN:
        return snapshot.runs
    listing = listing_of(snapshot, choice, now, symbols)
    return listed(snapshot.runs, listing, choice.filter, choice.sort, choice.reverse, choice.show_hidden)


def lines_of(snapshot: Snapshot, choice: RunChoice, shown: Run | None, symbols: Symbols) -> tuple[Over, ...]:
    """What charts lay over each other: the run that is shown, and the marked ones in the order in which all were found;
    () where that is one run."""
    if shown is None or not (choice.grouped or (choice.over and choice.marked)):
        return ()
    marked = frozenset(choice.marked if choice.over else ())
    chosen = [shown, *(run for run in snapshot.runs if run.path in marked and run.id != shown.id)]
    among = [run for run in snapshot.runs if run.path not in choice.hidden] if choice.grouped else []
    return drawn_over(chosen, among, choice.grouped, symbols)


_PLAIN = RunChoice()
