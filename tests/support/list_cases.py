"""Tables of made runs and of the list of runs: its order, its cells and the headings of its groups.

["the best value of a metric can be a column"]
runs = { a = { loss = [3, 2] }, b = { loss = [3, 1] } }         see support.view_cases
lists = [{ metric = "best(loss)", sort = "metric", names = ["b", "a"] }]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from support.made_run import START, text
from support.tables import column_of, fitted_runs, run_rows
from support.view_cases import MadeRuns
from tuimon.analysis.run_filter import parse
from tuimon.draw.table import Order
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.run_groups import RunGroup, entries, group_row, group_values, groupings
from tuimon.panels.lists.run_metrics import RunLevels, metric_with_words, other_names, value_of
from tuimon.panels.lists.run_selection import filter_problem, list_runs, totals
from tuimon.panels.lists.runs import Listing, run_columns
from tuimon.store import Run

_HOW = ("metric", "sort", "reverse", "query", "by", "width", "now", "settings", "critical", "pinned", "hidden",
        "alerts", "base", "show_hidden", "unchecked", "wanted", "said", "folded", "by_value")  # fmt: skip
"""Keys of a list that say how it is shown; the others are fields of it."""


def compared(case: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Return what is found and what is expected for each list of a case."""
    runs = MadeRuns(case).runs
    for wanted in case["lists"]:
        shown = ShownList(runs, wanted)
        expected = {name: value for name, value in wanted.items() if name not in _HOW}
        yield {name: getattr(shown, name) for name in expected}, expected


class ShownList:
    """A list of runs, and its fields."""

    def __init__(self, runs: tuple[Run, ...], how: Mapping[str, Any]) -> None:
        """how: the fields of a Listing, with runs by their names; sort, reverse, query; by: grouping; width."""
        self.runs, self._how = runs, how
        of = {run.name: run for run in runs}
        self.width = how.get("width", 120)
        self.listing = Listing(
            START + how.get("now", 0),
            Symbols.BRAILLE,
            {of[name].id: count for name, count in how.get("alerts", {}).items()},
            of.get(how.get("base", "")),
            pinned=frozenset(of[name].path for name in how.get("pinned", ())),
            hidden=frozenset(of[name].path for name in how.get("hidden", ())),
            critical=frozenset(of[name].id for name in how.get("critical", ())),
            metric=how.get("metric", ""),
            settings=different_settings(runs) if how.get("settings") else None,
            all_settings=how.get("settings", False),
            levels=RunLevels(runs) if how.get("settings") else RunLevels(),
            unchecked=how.get("unchecked", 0),
            shared_path=len("/logs/"),
        )

    @property
    def names(self) -> list[str]:
        how = self._how
        query = parse(how["query"]) if "query" in how else None
        shown = (how.get("sort", "found"), how.get("reverse", False), how.get("show_hidden", False))
        return [run.name for run in list_runs(self.runs, self.listing, query, *shown)]

    @property
    def suggested(self) -> list[str]:
        """The metrics that are proposed for a query of one that no run has."""
        problem = filter_problem(self.runs, self.listing, parse(self._how["query"]), 0)
        return [name for run in self.runs for name in run.metrics if name in re.split(r"[\s?,]+", problem)]

    @property
    def totals(self) -> str:
        """The most detailed form."""
        return totals(self.runs, self.listing)[0]

    @property
    def columns(self) -> list[str]:
        return [column.id for column, _ in fitted_runs(self.runs, self.listing, self.width)]

    @property
    def rows(self) -> list[str]:
        """The head and the rows, with one blank where they have several."""
        order = Order(self._how.get("sort", ""), self._how.get("reverse", False))
        return [" ".join(text(row).split()) for row in run_rows(self.runs, self.listing, self.width, order=order)]

    @property
    def head(self) -> str:
        return self.rows[0]

    @property
    def cells(self) -> list[str]:
        """The cells of the column of the list's metric, 8 wide."""
        column = column_of(run_columns(self.listing), "metric")
        return [text(column.show(run, 8)).strip() for run in self.runs]

    @property
    def values(self) -> list[float | str]:
        """The value of the metric `wanted` of each run; "" of a run without it."""
        found = (value_of(run, self._how["wanted"]) for run in self.runs)
        return ["" if value is None else value for value in found]

    @property
    def means(self) -> str:
        """The metric that the words `said` mean."""
        return metric_with_words(self.runs, self._how["said"])

    @property
    def others(self) -> list[str]:
        """Names of the list's metric in other runs."""
        return list(other_names(self.runs, self.listing.metric))

    @property
    def groupings(self) -> list[str]:
        return list(groupings(self.runs))

    @property
    def headings(self) -> list[str]:
        """The headings of the groups, with values."""
        rows = (
            group_row(group, self.listing, False, 120, group_values(group.runs, self.listing))
            for group in self._entries
            if isinstance(group, RunGroup)
        )
        return [" ".join(text(row).split()) for row in rows]

    @property
    def grouped(self) -> dict[str, list[str]]:
        """The runs of each group."""
        return {one.title: [run.name for run in one.runs] for one in self._entries if isinstance(one, RunGroup)}

    @property
    def listed(self) -> list[str]:
        """Titles of groups and names of runs, one below the other."""
        return [one.title if isinstance(one, RunGroup) else one.name for one in self._entries]

    @property
    def _entries(self) -> tuple[Run | RunGroup, ...]:
        how = self._how
        folded = frozenset(how.get("folded", ()))
        return tuple(entries(self.runs, how["by"], folded, self.listing, how.get("by_value", False)))

    @property
    def differing(self) -> dict[str, list[Any]]:
        """The settings that differ, and the value of each run, "" of one without it."""
        settings = different_settings(self.runs)
        columns = zip(*settings.values.values(), strict=True)
        return {
            name: ["" if value is None else value for value in column]
            for name, column in zip(settings.names, columns, strict=True)
        }
