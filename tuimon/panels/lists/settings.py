"""The settings of a run as a tree of rows: what was set, the best checkpoint, the result. Secrets are hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tuimon.draw.numbers import format_value
from tuimon.redact import redacted
from tuimon.store import Run
from tuimon.text import clean

_MOST = 20_000
"""Rows; a config that is larger is no config."""
_LONGEST = 2000


class Setting(Struct, frozen=True):
    """A row of the tree."""

    path: tuple[str, ...]
    """The keys that lead to it, as written."""
    value: str
    """Made safe to show; "" for a branch."""
    branch: bool

    @property
    def depth(self) -> int:
        return len(self.path) - 1

    @property
    def name(self) -> str:
        """Its own key, made safe to show."""
        return clean(self.path[-1])


def settings_tree(run: Run) -> tuple[Setting, ...]:
    """Every row, unfolded."""
    parts = {"best checkpoint": run.best_checkpoint, "final metrics": run.final_metrics, "config": run.config}
    found: list[Setting] = []
    for setting in _rows({name: dict(redacted(part)) for name, part in parts.items() if part}, ()):
        found.append(setting)
        if len(found) == _MOST:
            break
    return tuple(found)


def visible(rows: Sequence[Setting], folded: frozenset[tuple[str, ...]], query: str) -> list[Setting]:
    """The rows that are not within a folded branch; with a query those that hold each of its words, in the path or in
    the value and in any case, and the branches that lead to them."""
    words = query.lower().split()
    if not words:
        hidden: tuple[str, ...] | None = None
        shown: list[Setting] = []
        for row in rows:
            if hidden is not None and row.path[: len(hidden)] == hidden:
                continue
            hidden = row.path if row.branch and row.path in folded else None
            shown.append(row)
        return shown
    leading: set[tuple[str, ...]] = set()
    for row in rows:
        text = f"{'.'.join(row.path)} {row.value}".lower()
        if not row.branch and all(word in text for word in words):
            leading.update(row.path[:length] for length in range(1, len(row.path) + 1))
    return [row for row in rows if row.path in leading]


def _rows(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Setting]:
    for key, inner in value.items():
        here = (*path, str(key))
        if isinstance(inner, Mapping) and inner:
            yield Setting(here, "", True)
            yield from _rows(inner, here)
        elif isinstance(inner, (list, tuple)) and any(isinstance(one, Mapping) for one in inner):
            yield Setting(here, "", True)
            yield from _rows({str(number): one for number, one in enumerate(inner)}, here)
        else:
            yield Setting(here, _shown(inner), False)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return format_value(value)
    if isinstance(value, (list, tuple)):
        return clean("[" + ", ".join(_shown(one) for one in value) + "]", _LONGEST)
    return clean(str(value), _LONGEST)
