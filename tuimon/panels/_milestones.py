"""Where a run was saved and evaluated: marks on a chart that has the screen to itself, and what they mean."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from tuimon.draw.marks import glyph_of
from tuimon.model.views import Mark, Role, Row, Symbols
from tuimon.panels._select import by_concept, curve_or_none
from tuimon.panels._text import plural
from tuimon.store import Curve, Run, Scale
from tuimon.store.distinct import distinct
from tuimon.vocabulary import classify


def milestones(run: Run, names: Sequence[str], scale: Scale, low: float, high: float, columns: int) -> tuple[Mark, ...]:
    """Marks of the checkpoints, and of the evaluations where the chart (of these metrics, the first leads) shows no
    validation metric itself; at most one of a kind in a column."""
    width = (high - low) / columns
    marks: dict[Mark, None] = {}
    if names[0] in run.main_metrics:
        leading = run.curve(names[0])
        places = np.array([leading.x_at(step, scale) for step in run.checkpoints])
        marks |= dict.fromkeys(_in_columns("checkpoint", places, low, width, columns))
    evaluation = None if any(classify(name).split == "val" for name in names) else _evaluation(run)
    if evaluation is not None:
        filled = np.flatnonzero(np.isfinite(evaluation[1].envelope(low, high, columns, scale).low))
        marks |= dict.fromkeys(Mark(low + (column + 0.5) * width, "evaluation") for column in filled.tolist())
    return tuple(marks)


def _in_columns(kind: str, places: np.ndarray, low: float, width: float, columns: int) -> Iterable[Mark]:
    inside = places[(places >= low) & (places <= low + columns * width)]
    for column in distinct(np.clip((inside - low) // width, 0, columns - 1)).tolist():
        yield Mark(low + (column + 0.5) * width, kind)


def told(run: Run, cursor: int | None, symbols: Symbols) -> Row:
    """What the marks mean, and which of them is the last one, or the last one before a step; () without any."""
    said: list[str] = []
    if run.checkpoints:
        said.append(_in_words("checkpoint", run.checkpoints, cursor, symbols))
    evaluation = _evaluation(run)
    if evaluation is not None:
        said.append(_in_words("evaluation", evaluation[1].steps.tolist(), cursor, symbols))
    return (("   ".join(said), Role.MUTED),) if said else ()


def _in_words(kind: str, steps: Sequence[int], cursor: int | None, symbols: Symbols) -> str:
    glyph = glyph_of(kind, symbols)
    if cursor is None:
        return f"{glyph} {plural(len(steps), kind)}, the last at {steps[-1]}"
    at = bisect_right(steps, cursor) - 1
    if at < 0:
        return f"{glyph} first {kind} at {steps[0]}"
    return f"{glyph} {kind} {'here' if steps[at] == cursor else f'at {steps[at]}'}, {at + 1} of {len(steps)}"


def _evaluation(run: Run) -> tuple[str, Curve] | None:
    """A metric that was logged whenever the run was evaluated, and its curve."""
    metric = _validation(run.metrics)
    curve = curve_or_none(run, metric) if metric is not None and metric in run.main_metrics else None
    return None if metric is None or curve is None else (metric, curve)


@lru_cache(maxsize=32)
def _validation(metrics: tuple[str, ...]) -> str | None:
    """The metric of the validation that says most; None without any."""
    known = by_concept(metrics)
    for names in (known.get("reward.val", ()), known.get("loss.total", ()), metrics):
        found = next((name for name in names if classify(name).split == "val"), None)
        if found is not None:
            return found
    return None
