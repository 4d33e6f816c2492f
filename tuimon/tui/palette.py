"""Command palette: finds actions by label, key and description, and the panels and metrics of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from textual import work
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.markup import escape
from textual.message import Message

from tuimon.panels import Panel, all_panels, arrange, header_panel, why_empty
from tuimon.text import clean
from tuimon.tui.action import Action, TuimonApp, footer, key_names, relevance
from tuimon.tui.screens.work_screen import labelled_actions, place_of
from tuimon.vocabulary import classify

_CHART = 5.0
"""Weight of the title of a panel or metric: more than other words for an action, less than its label."""
_MOST_METRICS = 20_000
"""Number of metrics that are searched."""
_MOST_CHARTS = 20
"""Number of charts that are offered."""
_LACKING = 0.9
"""Factor of the relevance of a panel that the run has no data for, which comes after the charts of the run."""
_ELSEWHERE = 0.001
"""Factor of the relevance of actions of other screens, which come last."""
_SCREENS = {"runs": "run list", "metrics": "metric list"}
"""Names of screens that differ from those in `Action.where`."""


class Palette(CommandPalette):
    """The command palette. Keys of a burst, messages and timers that come while it closes do nothing."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close the palette once: a second Enter would close the screen below it."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    async def _dispatch_message(self, message: Message) -> None:
        """Handle a message, unless the parts of the palette that it is about are removed."""
        with suppress(NoMatches):
            await super()._dispatch_message(message)

    async def _watch__show_busy(self) -> None:
        """Show that a search goes on, unless the palette was closed."""
        with suppress(NoMatches):
            await super()._watch__show_busy()

    def _action_command_list(self, action: str) -> None:
        """Move in the list of commands, unless it was closed, or not laid out since it changed."""
        with suppress(LookupError, NoMatches):
            super()._action_command_list(action)

    def _action_cursor_down(self) -> None:
        """Open the list, or move down in it, unless it was closed."""
        with suppress(LookupError, NoMatches):
            super()._action_cursor_down()

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP, exit_on_error=False)
    async def _gather_commands(self, search_value: str) -> None:
        """Search, unless the palette was closed before the search has begun; if it closes meanwhile, that fails."""
        if self.query(CommandList):
            await CommandPalette._gather_commands.__wrapped__(self, search_value)  # type: ignore[attr-defined]


class ActionProvider(Provider):
    """The actions of the screen on which the palette was opened, charts of the run, and actions of other screens."""

    app: TuimonApp

    async def discover(self) -> Hits:
        """Yield the actions of the footer first, then the others in the order of the help."""
        places = {action.id: place for place, action in enumerate(footer(self.app.actions, self._where))}
        for action, title in sorted(self._actions(), key=lambda pair: places.get(pair[0].id, len(places))):
            yield DiscoveryHit(title, partial(self._act, partial(self._do, action)), help=escape(action.help))

    async def search(self, query: str) -> Hits:
        """Yield what has the words of the query."""
        matcher, hits = self.matcher(query), []
        for action, title in self._actions():
            if score := action.relevance(query):
                hits.append(self._hit(score, matcher.highlight(title), partial(self._do, action), action.help))
        hits += (*self._charts(query), *self._lacking(query))
        for hit in (*hits, *self._elsewhere(query)):
            yield hit

    def _hit(self, score: float, title: Content, do: Callable[[], object], text: str) -> Hit:
        """Return a hit whose text is shown as it is: "[notify]" in it is no style."""
        return Hit(score, title, partial(self._act, do), help=escape(text))

    def _act(self, do: Callable[[], object]) -> None:
        do()
        self.app.redraw()

    def _do(self, action: Action) -> None:
        """Do an action, unless another screen is shown by now than the one that the palette was opened on."""
        if self.app.screen is self.screen:
            action.do(self.app)

    def _elsewhere(self, query: str) -> Iterator[Hit]:
        """Yield the actions of other screens, such as "run list: hide (H)"."""
        for action in self.app.actions:
            if self._where not in action.where and (score := action.relevance(query)):
                screen = _SCREENS.get(action.where[0], action.where[0])
                do = partial(open_screen_of, self.app, self._where, action)
                yield self._hit(score * _ELSEWHERE, Content(f"{screen}: {_title(action)}"), do, action.help)

    def _charts(self, query: str) -> list[Hit]:
        """Return the panels and metrics of the run that have the words of the query."""
        run = self.app.run_shown
        if run is None or not query.strip():
            return []
        charts: list[tuple[float, str, str, partial[None]]] = []
        for panel in arrange(run):
            names = " ".join(getattr(panel, "metrics", ()))
            words = (panel.title, _CHART), (panel.also, _CHART), (panel.id.replace("_", " "), _CHART / 2)
            if score := relevance(query, words):
                show = partial(show_panel, self.app, panel)
                charts.append((score + 0.5, clean(panel.title), clean(names) or "A panel of the dashboard", show))
        titles = {title.lower() for _, title, _, _ in charts}
        for name in run.metrics[:_MOST_METRICS]:
            label = classify(name).label
            if name.lower() not in titles and (score := relevance(query, ((_words(name), _CHART), (label, _CHART)))):
                do = partial(self.app.show_metrics, (name,), name)
                charts.append((score, clean(name), label or "A metric of the run", do))
        charts.sort(key=lambda item: -item[0])
        return [
            self._hit(score, Content(f"show {title}"), do, text) for score, title, text, do in charts[:_MOST_CHARTS]
        ]

    def _lacking(self, query: str) -> Iterator[Hit]:
        """Yield the panels that have the words of the query and that the run has no data for, with the reason."""
        run = self.app.run_shown
        if run is None:
            return
        shown = {header_panel().id, *(panel.id for panel in arrange(run))}
        for panel in all_panels():
            names = (panel.title, _CHART), (panel.id.replace("_", " "), _CHART / 2)
            if panel.id not in shown and (score := relevance(query, names)):
                reason = why_empty(panel.id, panel.title)
                do = partial(self.app.say, reason)
                yield self._hit(score * _LACKING, Content(f"no {panel.title} in this run"), do, reason)

    def _actions(self) -> Iterator[tuple[Action, str]]:
        """Yield the actions of the screen with their titles."""
        for action in labelled_actions(self.app.actions, self.screen):
            if self._where in action.where:
                yield action, _title(action)

    @property
    def _where(self) -> str:
        """Name of the screen, as in `Action.where`."""
        return place_of(self.screen)


def show_panel(app: TuimonApp, panel: Panel) -> None:
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


def open_screen_of(app: TuimonApp, where: str, action: Action) -> None:
    """Do an action of the dashboard on that of the selected run; of any other, open the screen, or name it if the
    screen `where` has no key that opens it."""
    run = app.run_selected
    if action.where[0] == "dashboard" and run is not None:
        app.show_run(run)
        action.do(app)
        return
    opener = next((other for other in app.actions if other.opens in action.where and where in other.where), None)
    if opener is None:
        app.perform(action)
    else:
        opener.do(app)


def _title(action: Action) -> str:
    return f"{action.label} ({key_names(action.keys)})" if action.keys else action.label


def _words(name: str) -> str:
    """Return the name of a metric followed by its parts, so that each part begins a word."""
    return f"{name} {name.replace('_', ' ')}"
