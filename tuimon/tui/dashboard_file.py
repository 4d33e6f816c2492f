"""Files with the user's dashboard: config.toml, or a `.tuimon.toml` found upward from the path.

A project file has `[dashboard]` and `[runs]` only. It may come with logs of unknown origin, so it cannot set commands,
webhooks or keys, and one that tries is ignored with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tuimon.config import Settings, config_path
from tuimon.errors import UsageError
from tuimon.panels import OwnDashboard, parse_dashboard
from tuimon.sources.overrides import PROJECT_FILE, project_file, project_tables, runs_table
from tuimon.text import clean


def load_dashboard(settings: Settings, paths: Iterable[str]) -> tuple[OwnDashboard, str]:
    """Return the user's dashboard and, if a project file is ignored, the reason.

    The project file of the first path that has one replaces the table of config.toml. Raises UsageError if config.toml
    has an invalid table.
    """
    own = parse_dashboard(settings.dashboard, str(config_path()))
    file = next(filter(None, map(project_file, paths)), None)
    if file is None:
        return own, ""
    try:
        return _of_project(file), ""
    except UsageError as error:
        return own, f"{PROJECT_FILE} is ignored: {error} ({clean(str(file))})"  # the end is cut off on a narrow screen


def _of_project(file: Path) -> OwnDashboard:
    values = project_tables(file)
    others = [clean(name) for name in values if name not in ("dashboard", "runs")]
    if others:
        raise UsageError(
            f"it sets {', '.join(others)}; a project file can set [dashboard] and [runs], no commands, webhooks or keys"
        )
    runs_table(file)
    table = values.get("dashboard", {})
    if not isinstance(table, dict):
        raise UsageError("dashboard must be a table: [dashboard]")
    return parse_dashboard(table, "")
