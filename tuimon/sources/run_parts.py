"""Find the run directory of each file, and the prefix of its metrics if it is a part of the run.

See `tuimon.reader.grouping`, "Parts", for the rules."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict

from msgspec import Struct

from tuimon.sources import layout
from tuimon.sources.grouped_files import Located, Parts, RunDirectory


class _Directories(Struct):
    """_Directories that hold metric files."""

    events: set[RunDirectory]
    """_Directories with event files."""
    others: set[RunDirectory]
    """_Directories with other metric files."""
    roles: Counter[RunDirectory]
    """Number of roles in each parent directory."""


def find_parts(located: list[Located]) -> None:
    """Set home and prefix of each file from its directory."""
    events = {item.directory for item in located if item.file.directory_is_source}
    others = {item.directory for item in located if not (item.file.directory_is_source or item.file.companion)}
    roles = Counter((base, parts[:-1]) for base, parts in events | others if parts and layout.is_role(parts[-1]))
    directories = _Directories(events, others, roles)
    homes: dict[RunDirectory, tuple[RunDirectory, str]] = {}
    for item in located:
        if item.directory not in homes:
            base, parts = item.directory
            parts, prefix = _part(base, _within_unit(parts), directories)
            homes[item.directory] = (base, without_facets(parts, base)), prefix
        item.home, item.prefix = homes[item.directory]
    _prefix_tables(located)


def _prefix_tables(located: list[Located]) -> None:
    """Set the prefix of tables in one directory that have common metric names and are named after the parts of a run:
    CatBoost's learn_error.tsv and test_error.tsv, or train.csv and val.csv."""
    tables: dict[tuple[RunDirectory, str, str], list[tuple[str, Located]]] = defaultdict(list)
    for item in located:
        if not item.file.metric_names:
            continue
        words = re.split(r"[-_. ]", posixpath.splitext(posixpath.basename(item.file.path))[0])
        roles = [word for word in words if layout.is_role(word)]
        if len(roles) == 1:
            words.remove(roles[0])
            tables[item.directory, item.file.format, "_".join(words)].append((roles[0], item))
    for entries in tables.values():
        for role, item in entries:
            others = (other.file.metric_names for name, other in entries if name != role)
            if any(item.file.metric_names & names for names in others):
                item.prefix += f"{role}/"


def _part(base: str, parts: Parts, directories: _Directories) -> tuple[Parts, str]:
    """(directory that `parts` is a part of, prefix of its metrics), or (parts, "") if it is not a part."""
    events, others = directories.events, directories.others
    if layout.WORKERS in parts:
        cut = parts.index(layout.WORKERS)
        inner = [part for part in parts[cut + 1 :] if not layout.is_facet(part)]
        return parts[:cut], "/".join([*inner, ""])
    if (base, parts) in events and (base, parts) not in others:
        for cut in range(len(parts) - 1, -1, -1):
            if layout.is_own(parts[cut]) or layout.is_facet(parts[cut]):
                break
            holder = base, parts[:cut]
            if holder in events:
                owner, prefix = _part(*holder, directories)
                return owner, prefix + "/".join([*parts[cut:], ""])
            if holder in others:
                break
    if parts and layout.is_role(parts[-1]):
        above = base, parts[:-1]
        owner, prefix = _part(*above, directories)
        siblings = directories.roles[above] - ((base, parts) in events or (base, parts) in others)
        if siblings or above in events or above in others:
            prefix += parts[-1] + "/"
        return owner, prefix
    return parts, ""


def _within_unit(parts: Parts) -> Parts:
    """Cut the path after the directory of a tracker run, or before a container of plots."""
    for index, part in enumerate(parts):
        if layout.is_unit(part):
            return parts[: index + 1]
        if part in layout.CONTAINERS:
            return parts[:index]
    return parts


def without_facets(parts: Parts, base: str = "") -> Parts:
    """base: the directory that `parts` is below, if its name counts."""
    while parts and layout.is_facet(parts[-1]):
        parts = parts[:-1]
    holder = parts[-2] if len(parts) > 1 else posixpath.basename(base)
    return parts[:-1] if parts and layout.is_parameters(parts[-1], holder) else parts
