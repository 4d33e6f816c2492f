"""What the sources of a metric say beside the points that are drawn: superseded points, and other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tuimon.model.points import Floats, Indices, Steps

TEXT = 10
"""Highest rank of sources that are text for people, whose values are rounded."""


class SupersededPoints(NamedTuple):
    """Points that are not drawn, in logged order."""

    steps: Steps
    values: Floats
    wall_times: Floats
    segments: Indices
    """Number of the segment of each point."""
    hiding_steps: Steps
    """Step at which the segment that hides each point takes over."""


Superseded: TypeAlias = Callable[[], SupersededPoints]
"""Returns superseded points."""


class Disagreement(NamedTuple):
    """A metric has different values in two sources."""

    step: int
    """First step at which they differ."""
    here: float
    """Value as drawn."""
    there: float
    """Value in the other source."""
    source: str
    """Name of the other source."""
    steps: int
    """Number of steps at which they differ."""
