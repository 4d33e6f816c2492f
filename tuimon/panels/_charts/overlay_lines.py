"""Lines of an overlay of runs: which runs share a line, and its label, marker and colour."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec import Struct

from tuimon.analysis.comparing import distinct_names, seed_groups, seedless, seedless_name
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.run_states import state_sign
from tuimon.model.views import SERIES_ROLES, Role, Span
from tuimon.store import Run

SHAPES = "●▲■◆○△□◇"
"""Markers that distinguish the lines of a chart without colour."""

FAILURE_SIGN = state_sign("", critical=1)
"""Sign of a run that is not healthy."""
_MOST_DISTINCT = 64
"""Number of pairs of a marker and a role; later runs have those of `marker_of`."""


class OverlayLine(Struct, frozen=True):
    """One line of every chart of an overlay."""

    runs: tuple[Run, ...]
    """One run, or runs that differ only in their seed: drawn as their mean in a band from minimum to maximum."""
    label: str
    marker: str
    role: Role
    failed: frozenset[int] = frozenset()
    """Ids of those of several runs that are not healthy, see `failures_of`; the label has their sign."""

    @property
    def remark(self) -> str:
        """How many of several runs are not healthy: "1 of 4 not healthy"; "" if all are healthy."""
        return f"{len(self.failed)} of {len(self.runs)} not healthy" if self.failed else ""


def marker_of(id: int) -> Span:
    """Return the marker and role of the run with this id: the same in all charts, distinct for 64 runs."""
    return SHAPES[(id + id // len(SERIES_ROLES)) % len(SHAPES)], SERIES_ROLES[id % len(SERIES_ROLES)]


def distinct_markers(ids: Iterable[int]) -> dict[int, Span]:
    """Map the ids of runs that are drawn together to markers and roles; none is repeated before all are used.

    A run has those of `marker_of` unless a run with a lower id has the marker or the role, so that the order of the
    runs makes no difference.
    """
    markers: dict[int, Span] = {}
    for id in sorted(ids):
        shapes = {shape for shape, _ in markers.values()}
        roles = {role for _, role in markers.values()}
        known = [marker_of(id + more) for more in range(_MOST_DISTINCT)]
        free = [marker for marker in known if marker not in markers.values()] or known
        markers[id] = min(free, key=lambda marker: (marker[0] in shapes) + (marker[1] in roles))
    return markers


def overlay_lines(
    chosen: Sequence[Run],
    among: Sequence[Run],
    grouped: bool,
    markers: Mapping[int, Span] | None = None,
    failed: Container[int] = (),
) -> tuple[OverlayLine, ...]:
    """Return the lines for the chosen runs, in their order; () for a single run.

    grouped: draw runs that differ from others of `among` only in their seed with these as one line. markers: id of a
    run -> its marker and role if these are not those of `marker_of`; None: `distinct_markers` of the lines. failed: ids
    of runs that are not healthy, which the lines of several runs mention.
    """
    groups: dict[int, tuple[Run, ...]] = {}
    if grouped:
        for positions in seed_groups([seed_group_key(run) for run in among]):
            members = tuple(among[position] for position in positions)
            groups |= {run.id: members for run in members}
    lines = list(dict.fromkeys(groups.get(run.id, (run,)) for run in chosen))
    if len(lines) < 2 and all(len(runs) == 1 for runs in lines):
        return ()
    if markers is None:
        markers = distinct_markers([runs[0].id for runs in lines])
    signs = [markers.get(runs[0].id) or marker_of(runs[0].id) for runs in lines]
    names = [runs[0].name if len(runs) == 1 else seedless_name(runs[0].name) for runs in lines]
    result = []
    for name, runs, sign in zip(distinct_names(names), lines, signs, strict=True):
        bad = frozenset(run.id for run in runs if len(runs) > 1 and run.id in failed)
        label = name if len(runs) == 1 else f"{name} ×{len(runs)}"
        result.append(OverlayLine(runs, f"{label} {FAILURE_SIGN}" if bad else label, *sign, bad))
    return tuple(result)


@cached_per_run
def seed_group_key(run: Run) -> tuple[object, ...] | None:
    """Return a key that runs share if they differ only in their seed; None if the run has no seed."""
    return seedless(run.name, run.config, run.path)
