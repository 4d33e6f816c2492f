"""limits(): the steps up to which runs of different length are compared, as a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparison_axis import Place
from tuimon.analysis.verdict import deciding_metric
from tuimon.text import clean

_MOST_NAMED = 3
"""Maximum number of runs that are named because they ended early."""


def limits(
    labels: Sequence[str], metrics: Sequence[ComparedMetric], base: int | None = None, word: str = "step"
) -> str:
    """Return up to which steps the runs are compared on the deciding metric, or on the first one; "" if to their ends.

    dead ends at step 39 and is compared up to there; the others up to step 90, where short ends (long reaches 100)

    base: position of the run that each of the others is compared with (`ComparedMetric.pair`); None if there is none.
    """
    metric = deciding_metric(metrics) or next((m for m in metrics if sum(end is not None for end in m.ends) > 1), None)
    if metric is None or not metric.curves:
        return ""
    lasts = [metric.last_of(index) for index in range(len(metric.ends))]
    pairs = zip(labels, lasts, metric.ends, strict=True)
    runs = [(clean(label), last, end) for label, last, end in pairs if last is not None and end is not None]

    def text(place: Place) -> str:
        return metric.place_text(place, word)

    base_end = metric.ends[base] if base is not None else None
    step = base_end if base_end is not None else max((end for *_, end in runs), default=0)
    early = [(name, end) for name, _, end in runs if end < step]
    longer = [(name, last) for name, last, end in runs if last > step]
    parts = []
    if early:
        names = ", ".join(f"{name} ends at {text(end)}" for name, end in early[:_MOST_NAMED])
        more = f" and {len(early) - _MOST_NAMED} more end before {text(step)}" if len(early) > _MOST_NAMED else ""
        parts.append(f"{names}{more} and {'are' if len(early) > 1 else 'is'} compared up to there")
    if longer:
        shortest = next(name for name, last, _ in runs if last == step)
        name, last = longer[0]
        reached = last if metric.axis == "step" else text(last)
        subject = "the others" if early else "compared"
        parts.append(f"{subject} up to {text(step)}, where {shortest} ends; {name} reaches {reached}")
    return "; ".join(parts)
