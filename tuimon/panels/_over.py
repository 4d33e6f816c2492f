"""What is drawn over each other: runs, and runs that differ only in their seed as one."""

from __future__ import annotations

from msgspec import Struct

from tuimon.model.views import SERIES_ROLES, Role, Span, Symbols
from tuimon.store import Run

MARKERS = {Symbols.BRAILLE: "●▲■◆○△□◇", Symbols.BLOCK: "●▲■◆○△□◇", Symbols.ASCII: "o^#+x*%@"}


class Over(Struct, frozen=True):
    """One line of every chart."""

    runs: tuple[Run, ...]
    """One, or those that differ only in their seed: their mean is drawn, with all of them as an area around it."""
    label: str
    sign: str
    role: Role


def marker_of(run: Run, symbols: Symbols) -> Span:
    """The sign of a run, the same wherever it is drawn: colour and shape by its number, no two alike among 64."""
    shapes = MARKERS[symbols]
    return shapes[(run.id + run.id // len(SERIES_ROLES)) % len(shapes)], SERIES_ROLES[run.id % len(SERIES_ROLES)]
