"""Choice among many runs: how they are listed, which ones are overlaid, and which one is the base of comparisons.

Runs are identified by their paths, so that a choice is valid for the next start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tuimon.analysis.run_filter import RunFilter, parse
from tuimon.analysis.run_states import failed_runs
from tuimon.model.views import Symbols
from tuimon.panels import OverlayLine, distinct_markers, overlay_lines, seed_group_key, transient
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.run_groups import SEEDS
from tuimon.panels.lists.run_metrics import RunLevels
from tuimon.panels.lists.run_selection import count_alerts, list_runs, shared_directory, shared_words, worst_alerts
from tuimon.panels.lists.runs import Listing
from tuimon.run_notes import notes
from tuimon.store import Run, Snapshot


@dataclass(frozen=True, slots=True)
class RunChoice:
    """The default is the choice before any key is pressed."""

    marked: tuple[str, ...] = ()
    """Runs that are overlaid on the run that is shown."""
    over: bool = True
    """Whether the marked runs are overlaid."""
    pinned: tuple[str, ...] = ()
    """Runs that come first in the list."""
    hidden: tuple[str, ...] = ()
    base: str = ""
    """Path of the run that the others are compared with, or ""."""
    grouped: bool = False
    """Whether runs that differ only in their seed are merged."""
    sort: str = "found"
    """Order of the list: "found", the id of a column, or "urgent"."""
    reverse: bool = False
    metric: str = ""
    """Metric that is shown as a column of its own, or ""."""
    group: str = ""
    """By what the list is grouped: "directory", the name of a setting, or "" for no groups."""
    folded: tuple[str, ...] = ()
    """Titles of the groups whose runs are not listed."""
    all_settings: bool = False
    """Whether the list has a column for each setting that differs, in place of progress and curves."""
    query: str = transient("")
    """Filter of the run list."""
    show_hidden: bool = transient(False)

    def toggled(self, field: str, path: str) -> RunChoice:
        """Return the choice with a run added to `field` (marked, pinned or hidden), or removed if it is in there."""
        before: tuple[str, ...] = getattr(self, field)
        others = tuple(other for other in before if other != path)
        changes: dict[str, Any] = {field: others if path in before else (*others, path)}
        return replace(self, **changes)

    @property
    def grouping(self) -> str:
        """By what the list is grouped: `group`, or the seeds if these are merged."""
        return self.group or (SEEDS if self.grouped else "")

    @property
    def filter(self) -> RunFilter:
        """Parsed query."""
        return _parsed(self.query)


@lru_cache(maxsize=8)
def _parsed(query: str) -> RunFilter:
    return parse(query)


def listing_of(snapshot: Snapshot, choice: RunChoice, now: float, symbols: Symbols) -> Listing:
    """Return the data that all rows of the run list share."""
    marked = frozenset(choice.marked)
    return Listing(
        now,
        symbols,
        count_alerts(snapshot.alerts),
        base_of(snapshot, choice),
        marked,
        frozenset(choice.pinned),
        frozenset(choice.hidden),
        shared_directory([run.name for run in snapshot.runs]),
        shared_directory([run.path for run in snapshot.runs]),
        frozenset(alert.run for alert in snapshot.alerts if alert.severity == "critical"),
        failed_runs(snapshot.alerts),
        shared_words([run.name for run in snapshot.runs]),
        choice.metric,
        notes(),
        settings=different_settings(snapshot.runs) if len(snapshot.runs) > 1 or choice.all_settings else None,
        all_settings=choice.all_settings,
        levels=RunLevels(snapshot.runs if choice.all_settings else ()),
        markers=distinct_markers([run.id for run in snapshot.runs if run.path in marked]),
        unchecked=snapshot.unchecked,
        worst=worst_alerts(snapshot.alerts),
    )


def run_with_id(snapshot: Snapshot, id: int) -> Run | None:
    """Return the run with an id, or the newest one if that has gone; None without runs."""
    try:
        return snapshot.run(id)
    except KeyError:
        return snapshot.newest_run


def base_of(snapshot: Snapshot, choice: RunChoice) -> Run | None:
    """Return the run that the others are compared with, or None."""
    return next((run for run in snapshot.runs if run.path == choice.base), None) if choice.base else None


def seeds_of(snapshot: Snapshot, base: Run | None) -> tuple[Run, ...]:
    """Return the base and the runs that differ from it only in their seed; () without a base."""
    if base is None:
        return ()
    key = seed_group_key(base)
    return (base, *(run for run in snapshot.runs if run is not base and key is not None and seed_group_key(run) == key))


def runs_to_compare(snapshot: Snapshot, choice: RunChoice, selected: Run | None) -> list[Run]:
    """Return the base, the selected run if fewer than two are marked, and the marked runs, in this order.

    If these are fewer than two, return all runs; there may be fewer than two of them.
    """
    marked = [run for run in snapshot.runs if run.path in choice.marked]
    more = [selected] if len(marked) < 2 else []
    runs = list(dict.fromkeys(run for run in (base_of(snapshot, choice), *more, *marked) if run is not None))
    return list(snapshot.runs) if len(runs) < 2 else runs


def has_several_runs(snapshot: Snapshot) -> bool:
    """Return whether there are several runs with points, or with logs that have not been read yet."""
    unread = not snapshot.progress.caught_up
    return sum(run.point_count > 0 or (unread and _is_unread(run)) for run in snapshot.runs) > 1


def _is_unread(run: Run) -> bool:
    return any(stream.status is None or stream.status.state == "reading" for stream in run.streams)


def runs_of(snapshot: Snapshot, choice: RunChoice, now: float, symbols: Symbols) -> tuple[Run, ...]:
    """Return the runs in the order of the run list, without the runs that it leaves out."""
    if choice == _PLAIN:
        return snapshot.runs
    return listed_runs(snapshot, choice, listing_of(snapshot, choice, now, symbols))


def listed_runs(snapshot: Snapshot, choice: RunChoice, listing: Listing) -> tuple[Run, ...]:
    """Return the runs in the order of the run list, given what its rows share."""
    return list_runs(snapshot.runs, listing, choice.filter, choice.sort, choice.reverse, choice.show_hidden)


def lines_of(snapshot: Snapshot, choice: RunChoice, shown: Run | None) -> tuple[OverlayLine, ...]:
    """Return the lines that charts overlay: the run that is shown, then the marked runs in the order in which they were
    found; () if nothing is overlaid."""
    if shown is None or not (choice.grouped or (choice.over and choice.marked)):
        return ()
    marked = frozenset(choice.marked if choice.over else ())
    chosen = [shown, *(run for run in snapshot.runs if run.path in marked and run.id != shown.id)]
    among = [run for run in snapshot.runs if run.path not in choice.hidden] if choice.grouped else []
    return overlay_lines(chosen, among, choice.grouped, failed=failed_runs(snapshot.alerts))


_PLAIN = RunChoice()
