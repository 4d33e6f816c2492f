"""Files with the user's dashboard: config.toml, or a `.tuimon.toml` found upward from the path.

A project file has `[dashboard]` only. It may come with logs of unknown origin, so it cannot set commands,
webhooks or keys, and one that tries is ignored with a sentence.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tuimon.config import Settings, config_path
from tuimon.errors import UsageError
from tuimon.panels import OwnDashboard, parse_dashboard
from tuimon.store import Run
from tuimon.text import clean
from tuimon.tui.replacing import replace_content

PROJECT_FILE = ".tuimon.toml"
_MOST_BYTES = 1 << 18
_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_-]+|\"[^\"]*\")")
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
        return own, f"{clean(str(file))} is ignored: {error}"


def _of_project(file: Path) -> OwnDashboard:
    values = _parsed(_text(file))
    others = [clean(name) for name in values if name != "dashboard"]
    if others:
        raise UsageError(
            f"it sets {', '.join(others)}; a project file can set [dashboard] only, no commands, webhooks or keys"
        )
    table = values.get("dashboard", {})
    if not isinstance(table, dict):
        raise UsageError("dashboard must be a table: [dashboard]")
    return parse_dashboard(table, PROJECT_FILE)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"it is larger than {_MOST_BYTES >> 10} KiB")
        return file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"it cannot be read: {error}") from error


def _parsed(text: str) -> dict[str, Any]:
    import tomllib  # not imported if there is no file

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"it is no TOML: {error}") from error


def save_dashboard(own: OwnDashboard, paths: Sequence[str], runs: Iterable[Run]) -> Path:
    """Write the dashboard to the project file, or else to config.toml, and return the path.

    Other contents of the file are kept. Raises UsageError if the file is below a run's directory, is invalid, or has
    the table in a form that cannot be replaced; OSError if it cannot be written.
    """
    file = project_file(paths) or config_path()
    real = os.path.realpath(file)
    for run in runs:
        directory = os.path.realpath(run.directory)
        if real.startswith(directory.rstrip("/") + "/"):
            raise UsageError(f"{file} is below the directory of a run, where nothing is written")
    before = _text(file) if file.exists() else ""
    after = _without_table(before).rstrip("\n")
    after = f"{after}\n\n{dashboard_toml(own)}" if after else dashboard_toml(own)
    old = _parsed(before)
    try:
        new = _parsed(after)
    except UsageError:
        new = {}
    old.pop("dashboard", None)
    if new.pop("dashboard", None) is None or new != old:
        raise UsageError(f"{file} has [dashboard] in a form that cannot be replaced; edit it by hand")
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else None
    replace_content(Path(os.path.realpath(file)), after.encode(), mode)
    return file


def _without_table(text: str) -> str:
    """Return TOML text without the tables whose name begins with dashboard."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header:
            inside = header[1].strip('"') == "dashboard"
        if not inside:
            kept.append(line)
    return "".join(kept)


def dashboard_toml(own: OwnDashboard) -> str:
    """Return the `[dashboard]` table as TOML."""
    lines = ["[dashboard]", "panels = ["]
    for entry in own.entries:
        metrics = ", ".join(map(_quoted, entry.patterns))
        lines.append(
            f"  {{title = {_quoted(entry.title)}, metrics = [{metrics}]}}," if entry.title else f"  {metrics},"
        )
    lines += ["]", f"others = {'true' if own.others else 'false'}"]
    if own.values:
        lines.append(f"values = [{', '.join(map(_quoted, own.values))}]")
    if own.thresholds:
        lines += ["", "[dashboard.thresholds]"]
    for name, values in own.thresholds:
        key = name if _BARE.fullmatch(name) else _quoted(name)
        lines.append(f"{key} = {list(values) if len(values) > 1 else values[0]}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a basic string of TOML."""
    valid = text.encode("utf-8", "replace").decode()
    return json.dumps(valid, ensure_ascii=False).replace("\x7f", "\\u007f")
