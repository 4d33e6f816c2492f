"""The settings of a run as a tree: config, best checkpoint, final metrics. Secrets are hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from tuimon.analysis.words import day, duration, setting_text, time_of_day
from tuimon.panels._charts.marks import STEP_KEYS, checkpoint_step
from tuimon.panels._run_facts import facts_about
from tuimon.redact import redacted
from tuimon.run_notes import NO_NOTE, RunNote
from tuimon.store import Run
from tuimon.text import clean

SETTINGS_SOURCES = "a tracker, Hydra or config.yaml adds them"
"""What writes settings beside the logs, for runs that have none."""
_MOST = 20_000
"""Maximum number of rows."""
_LONGEST = 2000
"""Maximum characters of a value."""


class Setting(Struct, frozen=True):
    """A row of the tree."""

    path: tuple[str, ...]
    """The keys from the root, as logged."""
    value: str
    """Sanitised text; "" for a branch."""
    branch: bool

    @property
    def depth(self) -> int:
        return len(self.path) - 1

    @property
    def name(self) -> str:
        """The last key, sanitised."""
        return clean(self.path[-1])


def settings_tree(run: Run, note: RunNote = NO_NOTE) -> tuple[Setting, ...]:
    """Return all rows, unfolded. note: the user's note, whose notes at steps come first."""
    checkpoint = dict(run.best_checkpoint or {})
    if not checkpoint.keys() & {*STEP_KEYS} and (step := checkpoint_step(checkpoint)) is not None:
        checkpoint = {"step": step, **checkpoint}
    parts = {
        "run": _about(run),
        "best checkpoint": checkpoint,
        "final metrics": run.final_metrics,
        "config": run.config,
    }
    if note.steps:
        parts = {"notes at steps": {f"{sign}  step {at}": text for sign, at, text in note.signed_steps}, **parts}
    rows = _rows({name: dict(redacted(part)) for name, part in parts.items() if part}, ())
    return tuple(islice(rows, _MOST))


def _about(run: Run) -> dict[str, Any]:
    """Return the directory of the run, what the logs say about it, and when it began."""
    known = {"directory": run.path, **facts_about(run)}
    if isinstance(known.get("started"), float):
        known["started"] = f"{day(known['started'])} {time_of_day(known['started'])}"
    if run.duration > 0:
        first, last = (f"{day(when)} {time_of_day(when)}" for when in (run.first_wall_time, run.last_wall_time))
        known["points"] = f"{first} to {last}, {duration(run.duration)}"
    return known if len(known) > 1 else {}


def visible_rows(rows: Sequence[Setting], folded: frozenset[tuple[str, ...]], query: str) -> list[Setting]:
    """Return the rows outside folded branches; with a query, the rows that match it and the branches above them.

    A row matches if its path or value contains each word of the query, ignoring case.
    """
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
        elif isinstance(inner, (list, tuple)) and any(isinstance(item, Mapping) for item in inner):
            yield Setting(here, "", True)
            yield from _rows({str(index): item for index, item in enumerate(inner)}, here)
        else:
            yield Setting(here, setting_text(inner, _LONGEST), False)
