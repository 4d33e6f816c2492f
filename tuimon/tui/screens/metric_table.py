"""Base of the tables of runs in which the user can choose any metric as a column."""

from __future__ import annotations

from dataclasses import replace

from tuimon.panels.lists.run_metrics import metric_with_words
from tuimon.panels.lists.runs import METRIC
from tuimon.tui.action import Action
from tuimon.tui.run_choice import RunChoice
from tuimon.tui.screens.table import Table, TableScreen


class MetricTableScreen(TableScreen):
    """Table whose input line takes a filter or the metric that becomes a column. That metric is a part of the choice of
    runs, so that all such tables show the same one."""

    def __init__(self, actions: tuple[Action, ...], body: Table) -> None:
        super().__init__(actions, body)
        self._asks_metric = False
        """Whether the input line is for the metric that becomes a column, not for the filter."""
        self._before: RunChoice | None = None
        """The choice before the metric was typed."""

    def begin_filter(self) -> None:
        self._asks_metric = False
        self.filter_bar.open(self.query_text, self.PROMPT, self.PLACEHOLDER)

    def begin_metric(self) -> None:
        """Open the input line for the metric that becomes a column."""
        self._asks_metric, self._before = True, self.dashboard.state.runs
        self.filter_bar.open(
            "", "metric", "words of its name: val loss, best(reward), last(reward); nothing: no column"
        )

    def go_back(self) -> bool:
        """Leave the prompt for a metric with the columns as they were, or remove the filter."""
        if not (self._asks_metric and self.filter_bar.display and self._before is not None):
            return super().go_back()
        self.filter_bar.close()
        self._asks_metric = False
        self.dashboard.state.runs = self._before
        self.dashboard.redraw()
        return True

    def filter_edited(self, text: str) -> None:
        if not self._asks_metric:
            super().filter_edited(text)
        elif metric := metric_with_words(self.dashboard.snapshot.runs, text):
            self.show_metric(metric)

    def filter_submitted(self, text: str) -> None:
        """Apply the filter, or show the metric as a column, or remove that column if no word was typed."""
        if not self._asks_metric:
            super().filter_submitted(text)
            return
        self._asks_metric = False
        metric = metric_with_words(self.dashboard.snapshot.runs, text)
        if text.strip() and not metric:
            self.say(f"No metric of these runs matches {text}")
        else:
            self.show_metric(metric)

    def show_metric(self, metric: str) -> None:
        """Show a metric as a column; "" removes the column."""
        choice = self.dashboard.state.runs
        sort = "found" if not metric and choice.sort == METRIC else choice.sort
        self.dashboard.state.runs = replace(choice, metric=metric, sort=sort)
        self.dashboard.redraw()
