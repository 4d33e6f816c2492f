"""The list of runs as a tree of one level: runs grouped by their directory or by the value of a setting."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from tuimon.analysis.comparing import compared_settings, flat, is_seed, seed_groups, seedless_name, settings_key
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.statistics import statistics
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import fit_row
from tuimon.draw.table import cursor_sign
from tuimon.model.views import Role, Row, Span
from tuimon.panels._charts.overlay_lines import seed_group_key
from tuimon.panels._metrics import MetricReading
from tuimon.panels._run_facts import settings_of
from tuimon.panels._text import plural
from tuimon.panels.lists.hparam_rows import sort_key
from tuimon.panels.lists.run_metrics import falls, main_reader
from tuimon.panels.lists.run_selection import shared_directory
from tuimon.panels.lists.runs import Listing
from tuimon.sources.layout import array_of_task
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

NONE, DIRECTORY, SEEDS = "", "directory", "seeds"
MOST_VALUES = 24
"""Maximum number of groups by a setting; a setting with more values, such as a seed or a path, makes no groups."""
_MOST_SETTINGS = 12
"""Maximum number of settings that the key offers."""
_LONGEST_NAME = 24
_OTHERS = "other directories"


class RunGroup(Struct, frozen=True):
    """Heading of a group."""

    title: str
    runs: tuple[Run, ...]
    folded: bool


Entry: TypeAlias = "Run | RunGroup"


def groupings(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return by what these runs can be grouped: NONE, DIRECTORY, and the settings that differ between some of them.

    Seeds and folds are left out: runs with the same one have nothing else in common. So are directories that put all
    runs in one group, or each run in a group of its own."""
    different, _ = compared_settings([settings_of(run) for run in runs])
    few = [name for name, values in different if 1 < len({_title(value) for value in values}) <= MOST_VALUES]
    few = [name for name in few if not (name.startswith("_") or is_seed(name))][:_MOST_SETTINGS]
    shared = shared_directory([run.path for run in runs])
    counts = Counter(_directory(run, shared) for run in runs)
    directories = [DIRECTORY] if 1 < len(counts) < len(runs) else []
    return (NONE, *directories, *few)


def entries(
    runs: Sequence[Run], by: str, folded: frozenset[str], listing: Listing, by_value: bool = False
) -> tuple[Entry, ...]:
    """Return headings, each followed by its runs unless it is folded, in the order of the first run of each group.

    by: NONE, DIRECTORY (or job array; runs that are alone in their directories are a group, the last one), SEEDS (runs
    without others that differ only in the seed have no heading), or a setting. by_value: groups by a setting are in the
    order of its values.
    """
    if not by:
        return tuple(runs)
    if by == SEEDS:
        return _merged(runs, folded, listing)
    if by_value and by != DIRECTORY:
        runs = sorted(runs, key=lambda run: _value_order(run, by))
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(_group_of(run, by, listing), []).append(run)
    alone = [title for title, members in groups.items() if by == DIRECTORY and len(members) == 1]
    if len(alone) > 1:
        groups[_OTHERS] = [run for title in alone for run in groups.pop(title)]
    listed: list[Entry] = []
    for title, members in groups.items():
        listed.append(RunGroup(title, tuple(members), title in folded))
        if title not in folded:
            listed += members
    return tuple(listed)


def _merged(runs: Sequence[Run], folded: frozenset[str], listing: Listing) -> tuple[Entry, ...]:
    titles = seed_titles(runs, listing)
    members: dict[str, list[Run]] = {}
    for run in runs:
        if run.id in titles:
            members.setdefault(titles[run.id], []).append(run)
    listed: dict[Entry, None] = {}
    for run in runs:
        title = titles.get(run.id)
        if title is None:
            listed[run] = None
        elif (group := RunGroup(title, tuple(members[title]), title in folded)) not in listed:
            listed |= dict.fromkeys((group, *(() if group.folded else group.runs)))
    return tuple(listed)


def seed_titles(runs: Sequence[Run], listing: Listing) -> dict[int, str]:
    """Map the ids of the runs that differ from others only in their seed to the title of their group."""
    titles: dict[int, str] = {}
    for positions in seed_groups([seed_group_key(run) for run in runs]):
        title = seedless_name(runs[positions[0]].name[listing.shared :])
        while title in titles.values():  # groups that differ only in their settings
            title += "'"
        titles |= {runs[position].id: title for position in positions}
    return titles


def group_row(group: RunGroup, listing: Listing, selected: bool, width: int, values: Row) -> Row:
    """Return the row of a heading: its arrow, title, number of runs, number of runs with alerts, and their values, see
    `group_values`."""
    alarmed = sum(run.id in listing.alerts for run in group.runs)
    critical = any(run.id in listing.critical for run in group.runs)
    spans: list[Span] = [
        cursor_sign(selected),
        ("▸ " if group.folded else "▾ ", Role.MUTED),
        (clean(group.title), Role.ACCENT if selected else Role.TITLE),
        (f"  {plural(len(group.runs), 'run')}", Role.MUTED),
    ]
    if alarmed:
        spans.append((f"  {alarmed} with alerts", Role.CRITICAL if critical else Role.WARNING))
    return fit_row((*spans, *values), width)


def group_values(runs: Sequence[Run], listing: Listing) -> Row:
    """Return the best of the values that the column of the chosen metric, the reward or else the loss shows, with its
    run, and their mean with its standard error (SE) and their standard deviation (SD)."""
    return tuple(_values(runs, listing))


def _values(runs: Sequence[Run], listing: Listing) -> Iterator[Span]:
    reader = main_reader(runs, listing.metric)
    pairs = ((run, reader(run)) for run in runs)
    readings = [(run, reading) for run, reading in pairs if reading is not None and reading.curve.min is not None]
    levels, chosen = listing.levels, listing.metric
    values = [(levels.value(run, chosen) if chosen else levels.level(run, reader), run) for run, _ in readings]
    known = [(value, run) for value, run in values if value is not None and math.isfinite(value)]
    if not known:
        return
    label = clean(chosen) if chosen else _label(readings[0][1])
    alike = len(known) > 1 and _are_alike(runs, readings)
    if alike:
        numbers = [value for value, _ in known]
        deviation = statistics(np.array(numbers)).deviation
        error = format_value(deviation / math.sqrt(len(known)))
        yield f"  {label} ", Role.MUTED
        yield f"{format_value(sum(numbers) / len(known))} ± {error} SE, SD {format_value(deviation)}", Role.VALUE
    is_falling = falls(readings[0][1].meaning)
    value, run = (min if is_falling else max)(known, key=lambda pair: pair[0])
    if len(known) > 1 and not alike:
        label = next(clean(reading.metric) for own, reading in readings if own is run)
    of = "" if alike else f"{label} "
    yield f"  {of}{'lowest' if is_falling else 'best'} ", Role.MUTED
    yield format_value(value), Role.VALUE
    if len(readings) > 1:
        name = clean(run.name[listing.shared :])
        yield f" ({fit(name, min(cell_width(name), _LONGEST_NAME), 'ends')})", Role.MUTED


def _are_alike(runs: Sequence[Run], readings: Sequence[tuple[Run, MetricReading]]) -> bool:
    """Return whether the values of runs can be averaged: the metric has one name, and the settings are equal except for
    the seed and texts with the run's name; without any settings, the metrics of the runs are the same."""
    if len({reading.metric for _, reading in readings}) > 1:
        return False
    settings = [_flat_settings(run) for run in runs]
    if not any(settings):
        return len({frozenset(run.metrics) for run in runs}) == 1
    return len({settings_key(run.name, own) for run, own in zip(runs, settings, strict=True)}) == 1


def _label(reading: MetricReading) -> str:
    return reading.meaning.panel if reading.meaning.panel in ("reward", "loss") else clean(reading.metric)


def _directory(run: Run, shared: int) -> str:
    """Return the directory that a run is in, below the one that is common to all, or its own if it is in that one; of a
    task of a job array the path of its logs without the task."""
    below = run.path[shared:]
    directory, _, name = below.rpartition("/")
    if array := array_of_task(name):
        return f"{directory}/{array}" if directory else array
    return directory or below


def _group_of(run: Run, by: str, listing: Listing) -> str:
    if by == DIRECTORY:
        return _directory(run, listing.shared_path)
    return f"{by} {_title(_flat_settings(run).get(by))}"


def _value_order(run: Run, setting: str) -> tuple[Any, ...]:
    """Return a key that sorts runs by the value of a setting: numbers, texts, then runs without it."""
    value = _flat_settings(run).get(setting)
    return value is None, *sort_key(value)


@cached_per_run
def _flat_settings(run: Run) -> Mapping[str, Any]:
    return dict(flat(settings_of(run)))


def _title(value: object) -> str:
    return "not set" if value is None else setting_text(value, 80)
