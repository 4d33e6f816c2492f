"""Which lines the runs that a person has marked make: each its own, or with those that differ only in their seed."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.analysis.comparing import seed_groups, seedless_name, telling_names
from tuimon.model.views import Symbols
from tuimon.panels._briefs import seedless_of
from tuimon.panels._over import Over, marker_of
from tuimon.store import Run


def drawn_over(chosen: Sequence[Run], among: Sequence[Run], grouped: bool, symbols: Symbols) -> tuple[Over, ...]:
    """The lines for the chosen runs, in their order; () for a single run, which needs none.

    grouped: runs that differ from others of `among` only in their seed are drawn with these as one line.
    """
    groups: dict[int, tuple[Run, ...]] = {}
    if grouped:
        for positions in seed_groups([seedless_of(run) for run in among]):
            members = tuple(among[at] for at in positions)
            groups |= {run.id: members for run in members}
    lines = list(dict.fromkeys(groups.get(run.id, (run,)) for run in chosen))
    if len(lines) < 2 and all(len(runs) == 1 for runs in lines):
        return ()
    names = [runs[0].name if len(runs) == 1 else seedless_name(runs[0].name) for runs in lines]
    labels = [
        name if len(runs) == 1 else f"{name} ×{len(runs)}"
        for name, runs in zip(telling_names(names), lines, strict=True)
    ]
    return tuple(Over(runs, label, *marker_of(runs[0], symbols)) for runs, label in zip(lines, labels, strict=True))
