"""Command palette: finds actions by label, key and description, and the panels and metrics of the run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tuimon.panels import Panel, arrange
from tuimon.text import clean
from tuimon.tui.action import Action, Dashboard, key_names, relevance
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.vocabulary import classify

_CHART = 5.0
"""Weight of the title of a panel or metric: more than other words for an action, less than its label."""
_MOST_METRICS = 20_000
"""Number of metrics that are searched."""
_MOST_CHARTS = 20
"""Number of charts that are offered."""
_SHORTEST = 3
"""Number of letters from which labels with these letters in this order are found, too."""


class ActionProvider(Provider):
    """The actions of the screen on which the palette was opened, and the charts of the run."""

    async def discover(self) -> Hits:
        """Yield the actions of the footer first, then the others in the order of the help."""
        for action, title in sorted(self._actions(), key=lambda pair: pair[0].footer or 99):
            yield DiscoveryHit(title, partial(action.do, self._dashboard), help=action.help)

    async def search(self, query: str) -> Hits:
        """Yield what has the words of the query, or else actions whose label has its letters in order."""
        matcher, hits = self.matcher(query), []
        for action, title in self._actions():
            if score := action.relevance(query):
                hits.append(Hit(score, matcher.highlight(title), partial(action.do, self._dashboard), help=action.help))
        hits += self._charts(query)
        if not hits and len(query.strip()) >= _SHORTEST:
            for action, title in self._actions():
                if score := matcher.match(action.label):
                    do = partial(action.do, self._dashboard)
                    hits.append(Hit(score, matcher.highlight(title), do, help=action.help))
        for hit in hits:
            yield hit

    def _charts(self, query: str) -> list[Hit]:
        """Return the panels and metrics of the run that have the words of the query."""
        run = self._dashboard.run_shown
        if run is None or not query.strip():
            return []
        found: list[tuple[float, str, str, partial[None]]] = []
        for panel in arrange(run):
            names = " ".join(getattr(panel, "metrics", ()))
            if score := relevance(query, ((panel.title, _CHART), (panel.id.replace("_", " "), _CHART / 2))):
                show = partial(show_panel, self._dashboard, panel)
                found.append((score + 0.5, clean(panel.title), clean(names) or "A panel of the dashboard", show))
        titles = {title.lower() for _, title, _, _ in found}
        for name in run.metrics[:_MOST_METRICS]:
            label = classify(name).label
            if name.lower() not in titles and (score := relevance(query, ((_words(name), _CHART), (label, _CHART)))):
                do = partial(self._dashboard.show_metrics, (name,), name)
                found.append((score, clean(name), label or "A metric of the run", do))
        found.sort(key=lambda item: -item[0])
        return [Hit(score, f"show {title}", do, help=text) for score, title, text, do in found[:_MOST_CHARTS]]

    def _actions(self) -> Iterator[tuple[Action, str]]:
        """Yield the actions of the screen with their titles."""
        where = self.screen.WHERE if isinstance(self.screen, WorkScreen) else "dashboard"
        for action in self._dashboard.actions:
            if where in action.where:
                yield action, f"{action.label} ({key_names(action.keys)})" if action.keys else action.label

    @property
    def _dashboard(self) -> Dashboard:
        return cast(Dashboard, self.app)


def show_panel(app: Dashboard, panel: Panel) -> None:
    """Close any other screen and display a panel of the dashboard, zoomed."""
    run, state = app.run_shown, app.state
    state.query, state.chosen, state.together, state.all_metrics = "", (), (), False
    if run is not None:
        app.show_run(run)
    index = next((index for index, shown in enumerate(app.board.panels) if shown.id == panel.id), None)
    if index is None:
        app.say(f"{clean(panel.title)} is not part of your dashboard")
    else:
        app.board.open(index)
        app.redraw()


def _words(name: str) -> str:
    """Return the name of a metric followed by its parts, so that each part begins a word."""
    return f"{name} {name.replace('_', ' ')}"
