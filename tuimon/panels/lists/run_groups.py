"""The list of runs as a tree of one level: runs grouped by their directory or by the value of a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from tuimon.analysis.comparing import compared_settings, flat
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.words import setting_text
from tuimon.draw.rows import fit_row
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._run_facts import settings_of
from tuimon.panels._text import plural
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run
from tuimon.text import clean

NONE, DIRECTORY = "", "directory"
_MOST_VALUES = 24
"""Maximum number of groups by a setting; a setting with more values, such as a seed or a path, makes no groups."""
_MOST_SETTINGS = 12
"""Maximum number of settings that the key offers."""


class RunGroup(Struct, frozen=True):
    """Heading of a group."""

    title: str
    runs: tuple[Run, ...]
    folded: bool


Entry: TypeAlias = "Run | RunGroup"


def groupings(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return by what these runs can be grouped: NONE, DIRECTORY, and the settings that differ between some of them."""
    different, _ = compared_settings([settings_of(run) for run in runs])
    few = [name for name, values in different if len({_title(value) for value in values}) <= _MOST_VALUES]
    few = [name for name in few if not name.startswith("_")][:_MOST_SETTINGS]
    return (NONE, DIRECTORY, *few) if len(runs) > 1 else (NONE,)


def entries(runs: Sequence[Run], by: str, folded: frozenset[str], listing: Listing) -> tuple[Entry, ...]:
    """Return headings, each followed by its runs unless it is folded, in the order of the first run of each group."""
    if not by:
        return tuple(runs)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(_group_of(run, by, listing), []).append(run)
    listed: list[Entry] = []
    for title, members in groups.items():
        listed.append(RunGroup(title, tuple(members), title in folded))
        if title not in folded:
            listed += members
    return tuple(listed)


def group_row(group: RunGroup, listing: Listing, selected: bool, width: int) -> Row:
    """Return the row of a heading: its arrow, title, number of runs, and number of runs with alerts."""
    ascii_only = listing.symbols is Symbols.ASCII
    cursor, arrow = (">" if ascii_only else "▌"), ("+-" if ascii_only else "▸▾")[not group.folded]
    alarmed = sum(run.id in listing.alerts for run in group.runs)
    critical = any(run.id in listing.critical for run in group.runs)
    spans: list[Span] = [
        (cursor if selected else " ", Role.ACCENT),
        (f"{arrow} ", Role.MUTED),
        (clean(group.title), Role.ACCENT if selected else Role.TITLE),
        (f"  {plural(len(group.runs), 'run')}", Role.MUTED),
    ]
    if alarmed:
        spans.append((f"  {alarmed} with alerts", Role.CRITICAL if critical else Role.WARNING))
    return fit_row(spans, width)


def _group_of(run: Run, by: str, listing: Listing) -> str:
    if by == DIRECTORY:
        return run.name[listing.shared :].rpartition("/")[0] or "."
    return f"{by} {_title(_flat_settings(run).get(by))}"


@cached_per_run
def _flat_settings(run: Run) -> Mapping[str, Any]:
    return dict(flat(settings_of(run)))


def _title(value: object) -> str:
    return "not set" if value is None else setting_text(value, 80)
