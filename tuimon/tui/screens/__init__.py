"""Full-screen views that open over the dashboard. Each is imported when an action first opens it.

Importing all of them at start-up would delay the first frame by a twentieth.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuimon.tui.screens.health import HealthScreen as HealthScreen
    from tuimon.tui.screens.help import HelpScreen as HelpScreen
    from tuimon.tui.screens.log_view import LogScreen as LogScreen
    from tuimon.tui.screens.media_view import MediaScreen as MediaScreen
    from tuimon.tui.screens.metric_browser import MetricBrowser as MetricBrowser
    from tuimon.tui.screens.ranks import RanksScreen as RanksScreen
    from tuimon.tui.screens.run_list import RunListScreen as RunListScreen
    from tuimon.tui.screens.texts_view import TextsScreen as TextsScreen

_MODULES = {
    "HealthScreen": "health",
    "HelpScreen": "help",
    "LogScreen": "log_view",
    "MediaScreen": "media_view",
    "MetricBrowser": "metric_browser",
    "RanksScreen": "ranks",
    "RunListScreen": "run_list",
    "TextsScreen": "texts_view",
}


def __getattr__(name: str) -> Any:
    """Import a screen on first use."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
