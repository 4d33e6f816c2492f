"""Files with the user's dashboard: config.toml, or a `.tuimon.toml` found upward from the path.

A dashboard is saved for the path that is shown, not for all: next to the run, never below its directory.

A project file has `[dashboard]` and `[runs]` only. It may come with logs of unknown origin, so it cannot set commands,
webhooks or keys, and one that tries is ignored with a sentence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tuimon.config import Settings, config_path
from tuimon.errors import UsageError
from tuimon.monitor.piped import StdinPath
from tuimon.monitor.remote_names import remote_among
from tuimon.panels import OwnDashboard, parse_dashboard
from tuimon.sources.overrides import PROJECT_FILE, project_file, runs_table
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui.settings_file import changed, parsed, text_of, valid_text


def load_dashboard(settings: Settings, paths: Iterable[str]) -> tuple[OwnDashboard, str]:
    """Return the user's dashboard and, if a project file is ignored, the reason.

    A project file replaces the table of config.toml. Raises UsageError if config.toml has an invalid table.
    """
    own = parse_dashboard(settings.dashboard, str(config_path()))
    file = _project_file(paths)
    if file is None:
        return own, ""
    try:
        return _of_project(file), ""
    except UsageError as error:
        return own, f"{PROJECT_FILE} is ignored: {error} ({clean(str(file))})"  # the end is cut off on a narrow screen


def _project_file(paths: Iterable[str]) -> Path | None:
    """Return the project file of the first path that has one; None if none has."""
    return next(filter(None, map(project_file, paths)), None)


def _of_project(file: Path) -> OwnDashboard:
    values = parsed(text_of(file))
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


def file_to_save(paths: Sequence[str], runs: Sequence[Run]) -> Path:
    """Return the file that a dashboard is saved to: the project file that applies, or else a new one in the nearest
    directory that belongs to no run, or else config.toml.

    No project file is made for logs on another machine or from standard input, in a home directory, or in a directory
    that others can write to.
    """
    file = _project_file(paths)
    if file is not None:
        return file
    if not _is_local(paths):
        return config_path()
    start = Path(os.path.realpath(paths[0]))
    for directory in (start, *start.parents):
        new = directory / PROJECT_FILE
        if directory.is_dir() and not _is_in_run(new, paths, runs):
            return new if _is_private(directory) and not os.path.lexists(new) else config_path()
    return config_path()


def _is_local(paths: Sequence[str]) -> bool:
    """Return whether the first path is that of a local file or directory."""
    return bool(paths) and not (isinstance(paths[0], StdinPath) or remote_among(paths[:1])) and os.path.exists(paths[0])  # noqa: PTH110


def _is_private(directory: Path) -> bool:
    """Return whether a directory belongs to this user alone, and is not the home directory."""
    if directory in (Path.home(), Path(directory.anchor)):
        return False
    status = directory.stat()
    return (
        not status.st_mode & 0o002
        and os.access(directory, os.W_OK)
        and (not hasattr(os, "getuid") or status.st_uid == os.getuid())
    )


def _is_in_run(file: Path, paths: Sequence[str], runs: Sequence[Run]) -> bool:
    """Return whether a file is below the directory of a run, also if the first path is only a part of that run."""
    real = os.path.realpath(file)
    directories = [os.path.realpath(run.directory) for run in runs]
    if _is_local(paths):
        start = os.path.realpath(paths[0])
        directory = next((path for path in directories if _is_below(f"{start}/", path)), "")
        from tuimon.reader.whole_run import whole_run  # imports the formats, for which the first frame would wait

        whole = whole_run(directory or start, bool(directory), texts=len(runs) < 2)
        directories += [whole] if directory or whole != start else []
    return any(_is_below(real, path) for path in directories)


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def save_dashboard(own: OwnDashboard, paths: Sequence[str], runs: Sequence[Run]) -> Path:
    """Write the dashboard to the file that `file_to_save` names, and return its path.

    Other contents of the file are kept. Raises UsageError if the file is below a run's directory or is invalid; OSError
    if it cannot be written.
    """
    file = file_to_save(paths, runs)
    _require_outside(file, paths, runs)
    with changed(file) as document:
        document["dashboard"] = dashboard_table(own)
        for panels in filter(None, [document["dashboard"].get("panels")]):
            panels.multiline(True)
    return file


def save_runs(join: Sequence[str], split: str, paths: Sequence[str], runs: Sequence[Run]) -> Path:
    """Add a join of paths, or a path to split, to [runs] of the project file, and return its path.

    A join that the path to split is part of is removed instead. Raises as `save_dashboard` does, and UsageError if no
    project file can be written for these paths.
    """
    file = file_to_save(paths, runs)
    if file.name != PROJECT_FILE:
        raise UsageError("no .tuimon.toml can be made for these paths; --join and --split say it for one start")
    table = runs_table(file) if file.exists() else {}
    joins, splits = [*table.get("join", [])], [*table.get("split", [])]
    if join:
        joins.append([os.path.relpath(path, file.parent) for path in join])
    if split:
        path = os.path.relpath(split, file.parent)
        kept = [paths for paths in joins if path not in paths]
        splits += [path] if len(kept) == len(joins) else []
        joins = kept
    _require_outside(file, paths, runs)
    with changed(file) as document:
        document["runs"] = {
            "join": [list(map(valid_text, group)) for group in joins],
            "split": list(map(valid_text, splits)),
        }
    return file


def reset_dashboard(paths: Sequence[str], runs: Sequence[Run]) -> Path | None:
    """Remove the dashboard from the project file that applies, or else from config.toml; return the path of the file,
    or None if it has no dashboard. A project file that has nothing else is deleted. Raises as `save_dashboard` does.
    """
    file = _project_file(paths) or config_path()
    _require_outside(file, paths, runs)
    with changed(file) as document:
        if document.pop("dashboard", None) is None:
            return None
    if file.name == PROJECT_FILE and not text_of(file).strip():
        file.unlink()
    return file


def _require_outside(file: Path, paths: Sequence[str], runs: Sequence[Run]) -> None:
    """Raise UsageError if a file is below a run's directory."""
    if _is_in_run(file, paths, runs):
        raise UsageError(f"{file} is below the directory of a run, where nothing is written")


def dashboard_table(own: OwnDashboard) -> dict[str, Any]:
    """Return the table [dashboard]."""
    table: dict[str, Any] = {}
    if own.entries:
        table["panels"] = [
            {"title": valid_text(entry.title), "metrics": list(map(valid_text, entry.patterns))}
            if entry.title
            else valid_text(entry.patterns[0])
            for entry in own.entries
        ]
        table["others"] = own.others
    if own.values:
        table["values"] = list(map(valid_text, own.values))
    if own.thresholds:
        table["thresholds"] = {
            valid_text(name): list(values) if len(values) > 1 else values[0] for name, values in own.thresholds
        }
    return table
