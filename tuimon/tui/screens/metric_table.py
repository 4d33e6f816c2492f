"""Base of the tables of runs in which the user can choose any metric as a column."""

from __future__ import annotations

from collections.abc import Callable
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
        self._answer: Callable[[str], object] | None = None
        """What is done with the text of the input line if it answers a question, else None."""
        self._before: RunChoice | None = None
        """The choice before the metric was typed."""

    def ask(self, prompt: str, hint: str, on_answer: Callable[[str], object], text: str = "") -> None:
        """Open the input line for the answer to a question."""
        self._asks_metric, self._answer = False, on_answer
        self.filter_bar.open(text, prompt, hint)

    def begin_filter(self) -> None:
        self._asks_metric, self._answer = False, None
        self.filter_bar.open(self.query_text, self.PROMPT, self.PLACEHOLDER)

    def begin_metric(self) -> None:
        """Open the input line for the metric that becomes a column."""
        self._asks_metric, self._answer, self._before = True, None, self.dashboard.state.runs
        self.filter_bar.open(
            "", "metric", "words of its name: val loss, best(reward), last(reward); nothing: no column"
        )

    def go_back(self) -> bool:
        """Leave the prompt for a metric with the columns as they were, or a question, or remove the filter."""
        if self._answer is not None and self.filter_bar.display:
            self._answer = None
            self.filter_bar.close()
            return True
        if not (self._asks_metric and self.filter_bar.display and self._before is not None):
            return super().go_back()
        self.filter_bar.close()
        self._asks_metric = False
        self.dashboard.state.runs = self._before
        self.dashboard.redraw()
        return True

    def filter_edited(self, text: str) -> None:
        if self._answer is not None:
            return
        if not self._asks_metric:
            super().filter_edited(text)
        elif metric := metric_with_words(self.dashboard.snapshot.runs, text):
            self.show_metric(metric)

    def filter_submitted(self, text: str) -> None:
        """Apply the filter, or show the metric as a column, or remove that column if no word was typed."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(text)
            return
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
