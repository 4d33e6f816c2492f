"""Command palette: finds actions by label, key and description."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tuimon.tui.action import Action, Dashboard, key_names
from tuimon.tui.screens.work_screen import WorkScreen

_BY_HELP = 0.5
"""Weight of a match in the description relative to one in the label."""
_BY_WORDS = 5.0
"""Score of an action for which the query is another word, such as "zoom in" for "closer"."""


class ActionProvider(Provider):
    """The actions of the screen on which the palette was opened."""

    async def discover(self) -> Hits:
        """Yield the actions of the footer first, then the others in the order of the help."""
        for action, title in sorted(self._actions(), key=lambda pair: pair[0].footer or 99):
            yield DiscoveryHit(title, partial(action.do, self._dashboard), help=action.help)

    async def search(self, query: str) -> Hits:
        """Yield an exact key or label first, then matches in labels, then matches in descriptions."""
        matcher = self.matcher(query)
        text = query.strip()
        for action, title in self._actions():
            by_key = bool(action.keys) and text in (*action.keys.split(","), *key_names(action.keys).split())
            by_help = _BY_HELP * matcher.match(action.help) if text.lower() in action.help.lower() else 0.0
            by_words = _BY_WORDS if text and action.matches(text) else 0.0
            exact = by_key or text.lower() == action.label
            score = 1000.0 if exact else max(matcher.match(title), by_help, by_words)
            if score > 0:
                yield Hit(score, matcher.highlight(title), partial(action.do, self._dashboard), help=action.help)

    def _actions(self) -> Iterator[tuple[Action, str]]:
        """Yield the actions of the screen with their titles."""
        where = self.screen.WHERE if isinstance(self.screen, WorkScreen) else "dashboard"
        for action in self._dashboard.actions:
            if where in action.where:
                yield action, f"{action.label} ({key_names(action.keys)})" if action.keys else action.label

    @property
    def _dashboard(self) -> Dashboard:
        return cast(Dashboard, self.app)
