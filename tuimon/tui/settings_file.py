"""Read and change the user's TOML files. tomlkit keeps comments and the form of all that a change does not concern."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tuimon import lazy_re as re
from tuimon.config import config_path
from tuimon.errors import UsageError
from tuimon.replacing import replace_content
from tuimon.store import Snapshot

_MOST_BYTES = 1 << 18
_PROPOSED = re.compile(r'console_patterns = \[("(?:[^"\\]|\\.){1,4000}"(?:, )?){1,9}\]')


@contextmanager
def changed(file: Path) -> Iterator[Any]:
    """Yield the content of a file as a document of tomlkit, and write what is changed in it.

    Raises UsageError if the file is invalid; OSError if it cannot be written."""
    import tomlkit  # 15 ms, for an action that few sessions have

    before = text_of(file) if file.exists() else ""
    parsed(before)
    document = tomlkit.parse(before)
    yield document
    after = tomlkit.dumps(document)
    if after == before:
        return
    if parsed(after) != document.unwrap():
        raise UsageError(f"{file} is written in a form that cannot be changed; edit it by hand")
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else None
    replace_content(Path(os.path.realpath(file)), after.encode(), mode)


def text_of(file: Path) -> str:
    """Return the content of a file. Raise UsageError if it cannot be read or is larger than 256 KiB."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"it is larger than {_MOST_BYTES >> 10} KiB")
        return file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"it cannot be read: {error}") from error


def parsed(text: str) -> dict[str, Any]:
    """Parse TOML text. Raise UsageError if it is invalid."""
    import tomllib  # not imported if there is no file

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"it is no TOML: {error}") from error


def valid_text(text: str) -> str:
    """Return text that a file can hold: without the surrogates of bytes that are not UTF-8."""
    return text.encode("utf-8", "replace").decode()


# ---------------------------------------------------------------------- rules and patterns of config.toml


def add_rule(rule: str) -> Path:
    """Append a rule to config.toml and return the path of the file. Raises as `changed` does."""
    import tomlkit

    with changed(config_path()) as document:
        if not _rules(document):
            document["rules"] = tomlkit.aot()
        document["rules"].append(tomlkit.item({"rule": valid_text(rule)}, _parent=document["rules"]))
    return config_path()


def remove_rule(rule: str) -> Path | None:
    """Remove a rule from config.toml and return the path of the file; None if it has no such rule.

    rule: as `rule_text` returns it. Raises as `changed` does."""
    with changed(config_path()) as document:
        found = [place for place, table in enumerate(_rules(document)) if rule_text(table) == rule]
        for place in reversed(found):
            del document["rules"][place]
        if found and not document["rules"]:
            del document["rules"]
    return config_path() if found else None


def rule_text(table: Mapping[str, Any]) -> str:
    """Return the text of a rule, a table as in [[rules]], with single blanks."""
    return " ".join(str(table.get("rule", "")).split())


def _rules(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    rules = document.get("rules", [])
    if not (isinstance(rules, list) and all(isinstance(table, dict) for table in rules)):
        raise UsageError(f"{config_path()}: rules must be tables: [[rules]]")
    return rules


def proposed_patterns(snapshot: Snapshot) -> list[str]:
    """Return the patterns that are proposed for the first log without points, such as ["zzz {step} qwx {qwx}"]."""
    streams = (stream for run in snapshot.runs if not run.point_count for stream in run.streams)
    for status in (stream.status for stream in streams):
        if status and (match := _PROPOSED.search(status.message)):
            return list(parsed(match[0])["console_patterns"])
    return []


def add_patterns(patterns: Sequence[str]) -> Path:
    """Add patterns before those of config.toml and return the path of the file. Raises as `changed` does."""
    import tomlkit

    with changed(config_path()) as document:
        known = document.get("console_patterns")
        if known is None:
            document["console_patterns"] = known = tomlkit.array()
        if not isinstance(known, list):
            raise UsageError(f"{config_path()}: console_patterns must be a list")
        for place, pattern in enumerate(patterns):
            known.insert(place, valid_text(pattern))
    return config_path()
