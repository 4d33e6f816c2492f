"""Lines of an overlay of runs: which runs share a line, and its label, marker and colour."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tuimon.analysis.comparing import distinct_names, seed_groups, seedless, seedless_name
from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.views import SERIES_ROLES, Role, Span, Symbols
from tuimon.store import Run

SHAPES = {Symbols.BRAILLE: "●▲■◆○△□◇", Symbols.BLOCK: "●▲■◆○△□◇", Symbols.ASCII: "o^#+x*%@"}
"""Markers that distinguish the lines of a chart without colour."""


class OverlayLine(Struct, frozen=True):
    """One line of every chart of an overlay."""

    runs: tuple[Run, ...]
    """One run, or runs that differ only in their seed: drawn as their mean in a band from minimum to maximum."""
    label: str
    marker: str
    role: Role


def marker_of(run: Run, symbols: Symbols) -> Span:
    """Return the marker and role of a run, derived from its id: the same in all charts, distinct for 64 runs."""
    shapes = SHAPES[symbols]
    return shapes[(run.id + run.id // len(SERIES_ROLES)) % len(shapes)], SERIES_ROLES[run.id % len(SERIES_ROLES)]


def overlay_lines(
    chosen: Sequence[Run], among: Sequence[Run], grouped: bool, symbols: Symbols
) -> tuple[OverlayLine, ...]:
    """Return the lines for the chosen runs, in their order; () for a single run.

    grouped: draw runs that differ from others of `among` only in their seed with these as one line.
    """
    groups: dict[int, tuple[Run, ...]] = {}
    if grouped:
        for positions in seed_groups([seed_group_key(run) for run in among]):
            members = tuple(among[position] for position in positions)
            groups |= {run.id: members for run in members}
    lines = list(dict.fromkeys(groups.get(run.id, (run,)) for run in chosen))
    if len(lines) < 2 and all(len(runs) == 1 for runs in lines):
        return ()
    names = [runs[0].name if len(runs) == 1 else seedless_name(runs[0].name) for runs in lines]
    return tuple(
        OverlayLine(runs, name if len(runs) == 1 else f"{name} ×{len(runs)}", *marker_of(runs[0], symbols))
        for name, runs in zip(distinct_names(names), lines, strict=True)
    )


@cached_per_run
def seed_group_key(run: Run) -> tuple[object, ...] | None:
    """Return a key that runs share if they differ only in their seed; None if the run has no seed."""
    return seedless(run.name, run.config, run.path)
