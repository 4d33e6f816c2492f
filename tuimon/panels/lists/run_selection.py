"""Which runs the list of runs has, in which order, and what it says about all of them."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tuimon.analysis.alert_words import sentence_of
from tuimon.analysis.log_files import percent_read
from tuimon.analysis.progress_inputs import state_at
from tuimon.analysis.run_filter import SYNONYMS, RunFilter, unknown
from tuimon.analysis.run_states import SIGNS
from tuimon.draw.numbers import thousands
from tuimon.draw.table import Column, Order, sort_items
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.panels._run_facts import settings_of
from tuimon.panels.lists.run_metrics import metric_names
from tuimon.panels.lists.runs import Listing, run_columns
from tuimon.store import Run
from tuimon.text import clean

_RECENT = 3600.0
"""Age (s) up to which a run can be running, in the order of urgency."""
_TOTALS = {"finished": "done", "ended": "done", "crashed": "failed"}
"""States that the totals count together, as one word; others are counted by their names."""


def shared_directory(names: Sequence[str]) -> int:
    """Return the length of the directory prefix that all these names share."""
    return _shared(names).rfind("/") + 1


def shared_words(names: Sequence[str]) -> int:
    """Return the length of the words, with the separator after the last of them, that all these names begin with."""
    prefix = _shared(names)
    return max(prefix.rfind(separator) for separator in "/-_ ") + 1


def _shared(names: Sequence[str]) -> str:
    """Return the prefix that all names share; "" for fewer than two names."""
    return os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071  by characters


def count_alerts(alerts: Iterable[Alert]) -> Mapping[int, int]:
    """Return run id -> number of alerts; those of severity info do not count."""
    return Counter(alert.run for alert in alerts if alert.severity != "info")


def worst_alerts(alerts: Iterable[Alert]) -> dict[int, str]:
    """Map the id of a run to the words of its most severe alert, the newest of these: "kl has risen from 0.06 to 0.58
    (9.4 times) since step 36"."""
    ranked = sorted(alerts, key=lambda alert: (SEVERITIES.index(alert.severity), alert.step or 0))
    return {alert.run: clean(sentence_of(alert).short) for alert in ranked}


def urgency(run: Run, listing: Listing) -> tuple[int, float]:
    """Return the sort key of the order "urgent": critical alerts, other alerts, running, then the newest first.

    The newest is the one that began last, so that runs that grow do not change places; until the history of the runs
    has been read, the one whose files changed last, because it is not known of all of them when they began.
    """
    known = math.isfinite(run.first_wall_time) and not run.is_reading
    began = run.first_wall_time if known else run.last_change
    newest = -began if math.isfinite(began) else math.inf
    if run.id in listing.critical:
        return 0, newest
    if run.id in listing.alerts:
        return 1, newest
    return 2 if _is_running(run, listing) else 3, newest


def _is_running(run: Run, listing: Listing) -> bool:
    """Return whether a run is running; only recent ones are examined, because the states of thousands take too long."""
    newest = max(run.last_wall_time, run.last_change, key=lambda time: time if math.isfinite(time) else -math.inf)
    return listing.now - newest < _RECENT and state_at(run, listing.now) == "running"


def totals(runs: Sequence[Run], listing: Listing) -> tuple[str, ...]:
    """Return "4 running, 1 with alerts, 48 done, 2 failed", as far as there are such, and a shorter text with "50 not
    running"; while the detectors go through the runs for the first time "1 with alerts so far, 93 to check", and while
    the runs are read "55 being read, 40 %"."""
    if any(run.is_reading for run in runs):
        percent = percent_read(runs)
        return (f"{thousands(len(runs))} being read{f', {percent} %' if percent else ''}",)
    states = Counter(state_at(run, listing.now) for run in runs)
    running = states.pop("running", 0)
    words = dict.fromkeys((_TOTALS.get(state, state) for state in SIGNS if states[state]), 0)
    for state, count in states.items():
        words[_TOTALS.get(state, state)] += count
    alarmed = sum(run.id in listing.alerts for run in runs)
    word = f"with alerts so far, {thousands(listing.unchecked)} to check" if listing.unchecked else "with alerts"
    parts = (running, "running"), (alarmed, word)
    whole, brief = ((*parts, *((n, word) for word, n in words.items())), (*parts, (len(runs) - running, "not running")))
    return tuple(
        ", ".join(f"{thousands(count)} {word}" for count, word in shown if count or "so far" in word)
        for shown in (whole, brief)
    )


class FilterFields(Struct, frozen=True):
    """The fields of a run that a filter can use."""

    run: Run
    listing: Listing
    columns: Mapping[str, Column[Run]]
    """Columns of the list by their ids, from which fields such as "reward" are read."""

    def field(self, name: str) -> object:
        """Return the value of one of run_filter.FIELDS, or a tuple of several."""
        if name == "name":
            return self.run.name, self.run.path[self.listing.shared_path :]
        if name == "note":
            return self.listing.note(self.run).name, self.listing.note(self.run).text
        if name == "tag":
            return self.listing.note(self.run).tags
        if name == "state":
            state = state_at(self.run, self.listing.now)
            alerts = ("alerts",) if self.run.id in self.listing.alerts else ()
            critical = ("critical",) if self.run.id in self.listing.critical else ()
            return state, *SYNONYMS.get(state, ()), *alerts, *critical
        if name == "alerts":
            return self.listing.alerts.get(self.run.id, 0)
        return self.columns[name].value(self.run)

    def metric(self, name: str) -> float | None:
        """Return the level of a metric, or its last or best value, see RunLevels.value."""
        return self.listing.levels.value(self.run, name)

    @property
    def config(self) -> Mapping[str, Any]:
        return settings_of(self.run)


def filter_problem(runs: Sequence[Run], listing: Listing, wanted: RunFilter, listed: int) -> str:
    """Return which word of a filter is unknown, see run_filter.unknown. listed: number of runs that match."""
    if not wanted.alternatives or not runs:
        return ""
    return unknown(wanted, _fields(runs, listing), metric_names(runs), listed)


def _fields(runs: Sequence[Run], listing: Listing) -> list[FilterFields]:
    columns = {column.id: column for column in run_columns(listing)}
    return [FilterFields(run, listing, columns) for run in runs]


def list_runs(
    runs: Sequence[Run],
    listing: Listing,
    wanted: RunFilter | None = None,
    sort: str = "found",
    reverse: bool = False,
    show_hidden: bool = False,
) -> tuple[Run, ...]:
    """Return the runs that match the filter, pinned ones first, without hidden ones.

    sort: "found" for the order in which they were found, the id of a column, or "urgent" (see `urgency`).
    """
    if not show_hidden and listing.hidden:
        runs = [run for run in runs if run.path not in listing.hidden]
    if wanted is not None and wanted.alternatives:
        runs = [fields.run for fields in _fields(runs, listing) if wanted.matches(fields)]
    if sort == "urgent":
        runs = sorted(runs, key=lambda run: urgency(run, listing), reverse=reverse)
    else:
        runs = sort_items(runs, run_columns(listing), Order(sort, reverse))
    if listing.pinned:
        runs = sorted(runs, key=lambda run: run.path not in listing.pinned)
    return tuple(runs)
