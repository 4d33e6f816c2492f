"""Warnings about the settings: names that are unknown, and a project file that is ignored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tuimon.errors import UsageError

if TYPE_CHECKING:
    from tuimon.store import Run


def setting_warnings(paths: Sequence[str], runs: Sequence[Run], rules: bool) -> Iterator[str]:
    """Yield a sentence for each setting that is probably wrong; for invalid settings their error message.

    rules: also name rules that check no metric.
    """
    from tuimon.monitor.settings import load
    from tuimon.tui.dashboard_file import load_dashboard

    try:
        settings = load()
        own, ignored = load_dashboard(settings, paths)
        if ignored:
            yield ignored
        if settings.keys or settings.rules or own.entries or own.values or own.thresholds:
            from tuimon.tui.settings_check import warnings_of

            yield from warnings_of(settings, own, runs, rules)
    except UsageError as error:
        yield f"{error.message}. {error.hint}".rstrip(". ") if error.hint else error.message
