"""Files with the user's dashboard: config.toml, or a `.tuimon.toml` found upward from the path.

A dashboard is saved for the path that is shown, not for all: next to the run, never below its directory.

A project file has `[dashboard]` only. It may come with logs of unknown origin, so it cannot set commands,
webhooks or keys, and one that tries is ignored with a sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tuimon.config import Settings, config_path
from tuimon.errors import UsageError
from tuimon.monitor.piped import StdinPath
from tuimon.monitor.remote_names import remote_among
from tuimon.panels import OwnDashboard, parse_dashboard
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui.settings_file import blocks, parsed, quoted, rewrite, text_of

PROJECT_FILE = ".tuimon.toml"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def project_file(paths: Iterable[str]) -> Path | None:
    """Return the nearest `.tuimon.toml` in a directory of the first local path or above it; None if there is none."""
    for path in paths:
        start = Path(os.path.abspath(path))
        for directory in (start, *start.parents):
            file = directory / PROJECT_FILE
            if os.path.isfile(file):  # noqa: PTH113  # False also if the directory may not be read
                return file
    return None


def load_dashboard(settings: Settings, paths: Iterable[str]) -> tuple[OwnDashboard, str]:
    """Return the user's dashboard and, if a project file is ignored, the reason.

    A project file replaces the table of config.toml. Raises UsageError if config.toml has an invalid table.
    """
    own = parse_dashboard(settings.dashboard, str(config_path()))
    file = project_file(paths)
    if file is None:
        return own, ""
    try:
        return _of_project(file), ""
    except UsageError as error:
        return own, f"{PROJECT_FILE} is ignored: {error} ({clean(str(file))})"  # the end is cut off on a narrow screen


def _of_project(file: Path) -> OwnDashboard:
    values = parsed(text_of(file))
    others = [clean(name) for name in values if name != "dashboard"]
    if others:
        raise UsageError(
            f"it sets {', '.join(others)}; a project file can set [dashboard] only, no commands, webhooks or keys"
        )
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
    file = project_file(paths)
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

    Other contents of the file are kept. Raises UsageError if the file is below a run's directory, is invalid, or has
    the table in a form that cannot be replaced; OSError if it cannot be written.
    """
    file = file_to_save(paths, runs)
    before = _writable(file, paths, runs)
    after = _without_table(before).rstrip("\n")
    after = f"{after}\n\n{dashboard_toml(own)}" if after else dashboard_toml(own)
    rewrite(file, before, after, "dashboard", parsed(dashboard_toml(own))["dashboard"])
    return file


def reset_dashboard(paths: Sequence[str], runs: Sequence[Run]) -> Path | None:
    """Remove the dashboard from the project file that applies, or else from config.toml; return the path of the file,
    or None if it has no dashboard. A project file that has nothing else is deleted. Raises as `save_dashboard` does.
    """
    file = project_file(paths) or config_path()
    before = _writable(file, paths, runs)
    if "dashboard" not in parsed(before):
        return None
    after = _without_table(before).rstrip("\n")
    if not after.strip() and file.name == PROJECT_FILE:
        file.unlink()
    else:
        rewrite(file, before, f"{after}\n" if after else "", "dashboard", None)
    return file


def _writable(file: Path, paths: Sequence[str], runs: Sequence[Run]) -> str:
    """Return the text of a file that is about to be changed. Raise UsageError if it is below a run's directory."""
    if _is_in_run(file, paths, runs):
        raise UsageError(f"{file} is below the directory of a run, where nothing is written")
    return text_of(file) if file.exists() else ""


def _without_table(text: str) -> str:
    """Return TOML text without the tables whose name begins with dashboard."""
    return "".join(lines for name, lines in blocks(text) if name != "dashboard")


def dashboard_toml(own: OwnDashboard) -> str:
    """Return the `[dashboard]` table as TOML."""
    lines = ["[dashboard]"]
    if own.entries:
        lines.append("panels = [")
    for entry in own.entries:
        metrics = ", ".join(map(quoted, entry.patterns))
        lines.append(f"  {{title = {quoted(entry.title)}, metrics = [{metrics}]}}," if entry.title else f"  {metrics},")
    if own.entries:
        lines += ["]", f"others = {'true' if own.others else 'false'}"]
    if own.values:
        lines.append(f"values = [{', '.join(map(quoted, own.values))}]")
    if own.thresholds:
        lines += ["", "[dashboard.thresholds]"]
    for name, values in own.thresholds:
        key = name if _BARE.fullmatch(name) else quoted(name)
        lines.append(f"{key} = {list(values) if len(values) > 1 else values[0]}")
    return "\n".join(lines) + "\n"
