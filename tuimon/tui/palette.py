"""The command palette: the actions that the keys have, found by their label, their keys and what they do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tuimon.tui.actions import Action, key_names
from tuimon.tui.work_screen import WorkScreen

if TYPE_CHECKING:
    from tuimon.tui.app import TuimonApp

_BY_HELP = 0.5
"""What a match in the description is worth beside one in the label."""


class ActionProvider(Provider):
    """Those that work on the screen from which the palette was opened."""

    async def discover(self) -> Hits:
        for action, title in sorted(self._actions(), key=lambda found: found[1]):
            yield DiscoveryHit(title, partial(action.do, self._tuimon), help=action.help)

    async def search(self, query: str) -> Hits:
        """A key, typed as it is, comes first; what is found in a description comes after what is found in a label."""
        matcher = self.matcher(query)
        wanted = query.strip()
        for action, title in self._actions():
            by_key = wanted in (*action.keys.split(","), *key_names(action.keys).split())
            by_help = _BY_HELP * matcher.match(action.help) if wanted.lower() in action.help.lower() else 0.0
            score = 1000.0 if by_key else max(matcher.match(title), by_help)
            if score > 0:
                yield Hit(score, matcher.highlight(title), partial(action.do, self._tuimon), help=action.help)

    def _actions(self) -> Iterator[tuple[Action, str]]:
        """Each with its title."""
        where = self.screen.WHERE if isinstance(self.screen, WorkScreen) else "dashboard"
        for action in self._tuimon.actions:
            if where in action.where:
                yield action, f"{action.label} ({key_names(action.keys)})"

    @property
    def _tuimon(self) -> TuimonApp:
        return cast("TuimonApp", self.app)
