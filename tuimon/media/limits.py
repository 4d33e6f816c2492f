"""Limits that bound the memory of what is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tuimon.media import Content, Distribution

MAX_BUCKETS = 256
"""Buckets that are kept of a histogram; neighbours are merged if there are more."""
MAX_TEXT = 16 << 10
"""Characters that are kept of a text."""
CHUNK = 1 << 20
"""Bytes that are read at once."""


def distribution(edges: Sequence[float], counts: Sequence[float]) -> Distribution | None:
    """Return a histogram without empty buckets at its ends, or None if the edges are not finite and ascending, or a
    count is negative or not finite."""
    if len(edges) != len(counts) + 1 or not counts:
        return None
    ascending = all(a <= b for a, b in pairwise(edges))
    if not ascending or not all(map(math.isfinite, edges)) or not all(0 <= count < math.inf for count in counts):
        return None
    first = next((index for index, count in enumerate(counts) if count), 0)
    last = next((index for index in range(len(counts) - 1, -1, -1) if counts[index]), len(counts) - 1)
    return Distribution(tuple(map(float, edges[first : last + 2])), tuple(map(float, counts[first : last + 1])))


def merged(content: Content) -> Content:
    """Return a histogram with at most MAX_BUCKETS buckets, and other content as it is."""
    if not isinstance(content, Distribution) or len(content.counts) <= MAX_BUCKETS:
        return content
    edges, counts, together = content.edges, content.counts, -(-len(content.counts) // MAX_BUCKETS)
    starts = range(0, len(counts), together)
    return content._replace(
        edges=(*(edges[start] for start in starts), edges[-1]),
        counts=tuple(math.fsum(counts[start : start + together]) for start in starts),
    )


def without_infinite_ends(edges: Sequence[float]) -> list[float]:
    """Return the edges with outermost values of ±1e308 or more, which mean "no limit", replaced by their neighbours."""
    kept = list(edges)
    if len(kept) > 2:
        kept[0] = kept[0] if abs(kept[0]) < 1e300 else kept[1]
        kept[-1] = kept[-1] if abs(kept[-1]) < 1e300 else kept[-2]
    return kept
