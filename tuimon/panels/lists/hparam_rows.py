"""The settings that differ between runs, as columns of the run list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tuimon.analysis.comparing import MISSING, compared_settings
from tuimon.draw.numbers import format_exact, format_value
from tuimon.draw.table import Column
from tuimon.model.views import Role, Row
from tuimon.panels._run_facts import settings_of
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit

_MOST_SETTINGS = 60
_NARROWEST, _WIDEST = 4, 16
"""Minimum and maximum width of the column of a setting."""
_SAMPLE = 200
"""Number of runs whose values decide how wide a column is."""
_KEEP = 14
"""`Column.keep` of the first setting: less than those of results."""
_DIGITS = 12
"""Maximum characters of a number."""
SETTING = "setting."
"""What the ids of the columns of settings begin with."""


class Settings(Struct, frozen=True, eq=False):
    """The settings that differ between runs; secrets are hidden."""

    names: tuple[str, ...] = ()
    values: Mapping[int, tuple[Any, ...]] = {}
    """Run id -> value of each of them, None where a run does not have it."""
    equal: int = 0
    """Number of settings that are equal in all runs."""
    widths: tuple[int, ...] = ()
    """Cells that the column of each of them needs."""


def different_settings(runs: Sequence[Run]) -> Settings:
    """Return the settings that differ between the runs; of a single run all of them.

    The last result is kept: comparing the settings of 2,000 runs takes 25 ms, and few snapshots change them.
    """
    settings = tuple(map(settings_of, runs))
    ids = tuple(run.id for run in runs)
    for known, found in _LAST:
        if tuple(found.values) == ids and known == settings:
            return found
    different, equal = compared_settings(settings)
    if len(runs) == 1:  # nothing to compare with: list every setting
        different, equal = tuple((name, (value,)) for name, value in equal), ()
    listed = [entry for entry in different if not entry[0].startswith("_")][:_MOST_SETTINGS]
    columns = [[None if value is MISSING else value for value in values] for _, values in listed]
    rows = zip(*columns, strict=True) if columns else ((),) * len(runs)
    names = tuple(name for name, _ in listed)
    widths = tuple(_width(name, values) for name, values in zip(names, columns, strict=True))
    found = Settings(names, dict(zip(ids, map(tuple, rows), strict=True)), len(equal), widths)
    _LAST[:] = [(settings, found)]
    return found


_LAST: list[tuple[tuple[Mapping[str, Any], ...], Settings]] = []
"""The settings that were compared last, with the result."""


def sort_key(value: Any) -> tuple[bool, float, str]:
    """Return a key that sorts numbers, also if they are texts ("1e-5"), before other texts."""
    if isinstance(value, int | float):
        return False, float(value) if abs(value) < 1e300 else math.copysign(math.inf, value), ""
    try:
        return False, float(value), ""  # YAML reads 1e-5 as text
    except (TypeError, ValueError):
        return True, 0.0, str(value).lower()


def cell_text(value: Any, is_result: bool = False) -> str:
    """Return a value as cleaned text: settings with every digit that fits, results with four."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return format_value(value) if is_result else format_exact(value, _DIGITS)
    return clean(str(value), 60)


def setting_columns(settings: Settings) -> tuple[Column[Run], ...]:
    """Return a column for each setting; the first ones are left out last."""
    return tuple(_setting_column(settings, place) for place in range(len(settings.names)))


def _setting_column(settings: Settings, place: int) -> Column[Run]:
    def value(run: Run) -> Any:
        known = setting(run)
        return None if known is None else sort_key(known)

    def show(run: Run, width: int) -> Row:
        text = cell_text(setting(run))
        return ((fit(text, min(cell_width(text), width), "ends"), Role.TEXT),)

    def setting(run: Run) -> Any:
        return settings.values.get(run.id, _UNKNOWN)[place]

    name, least = settings.names[place], settings.widths[place]
    head = _head(name)
    return Column(SETTING + name, head, value, show, least, _KEEP - place, most=max(least, cell_width(head) + 2))


def _width(name: str, values: Sequence[Any]) -> int:
    """Return the cells of the head, with room for an arrow, or of the widest value."""
    texts = max((cell_width(cell_text(value)) for value in values[:_SAMPLE]), default=0)
    return max(_NARROWEST, min(_WIDEST, max(cell_width(_head(name)) + 1, texts)))


def _head(name: str) -> str:
    return clean(name.rpartition(".")[2])


_UNKNOWN = (None,) * _MOST_SETTINGS
