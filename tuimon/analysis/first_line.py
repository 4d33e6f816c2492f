"""first_line(): what the first two rows of a comparison show, in one sentence of at most about 20 words.

    lr3e-6 is ahead of lr1e-6: reward 0.6103 against 0.5103; one run each
    No run is ahead in reward: a 0.5103, b 0.5100, within noise; one run each
    No proof by one run each: best is lr 3e-06, reward 0.5103, next 0.5100

A row is ahead if noise does not explain its difference to the next one, and if one of its runs is healthy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuimon.analysis.comparing import MISSING, is_output, is_seed
from tuimon.analysis.comparison_axis import equal_words
from tuimon.analysis.comparison_rows import MetricRows, Row
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_number
from tuimon.text import clean

_MOST = 2
"""Number of settings of a grid that are named."""
_LONGEST = 24
"""Maximum characters of a setting."""


def first_line(metric: MetricRows | None, settings: Sequence[tuple[str, Sequence[Any]]] = ()) -> str:
    """Return the sentence about the metric that was asked for; "" if nothing can be compared.

    settings: (name, value in each run) that differ; a grid without seeds is told by the best value of one of them.
    """
    if metric is None or not metric.better:
        return ""
    ranked = metric.ranked
    if len(ranked) < 2:
        return _only(metric)
    first, second = ranked[:2]
    what = f"best {metric.label}" if metric.kind == "best" else metric.label
    own, other = (format_number(row.level, metric.unit) for row in (first, second))
    at = "" if metric.axis == "step" else f" at equal {equal_words(metric.axis).removesuffix(' since the start')}"
    alone = "; one run each" if len(first.runs) == len(second.runs) == 1 else ""
    values = f"{first.name} {own}, {second.name} {other}{at}"
    if not second.behind.is_known and not (alone and metric.kind == "best"):
        return f"No run is ahead in {what}: {values}, too few points to judge"
    if metric.kind == "best" and alone:
        return f"{first.name} has the {what}, {own}; {second.name} {other}{at}; one run each proves nothing"
    if second.is_tied and alone and (value := _grid_value(metric, first, settings)):
        return f"No proof by one run each: best is {value}, {what} {own}, next {other}{at}"
    if second.is_tied:
        return (
            f"No run is ahead in {what}: {values}, {'equal' if first.level == second.level else 'within noise'}{alone}"
        )
    if len(first.not_healthy) < len(first.runs):
        return f"{first.name} is ahead of {second.name}: {what} {own} against {other}{at}{alone}"
    values = f"the {metric.better} {what} than {second.name}, {own} against {other}{at}"
    return f"{first.name} has {values}, but {'is not' if alone else 'none of its runs is'} healthy"


def _only(metric: MetricRows) -> str:
    """Return the result of runs that all differ only in their seed; "" for other runs."""
    row = next(iter(metric.rows), None)
    if row is None or len(row.runs) < 2:
        return ""
    what = f"best {metric.label}" if metric.kind == "best" else metric.label
    level, error = format_number(row.level, metric.unit), format_number(row.error, metric.unit)
    return f"{row.name}: mean {what} {level} ± {error} SE"


def _grid_value(metric: MetricRows, row: Row, settings: Sequence[tuple[str, Sequence[Any]]]) -> str:
    """Return the settings of a run of at least three that differ in at most two settings: "lr 3e-06"; "" for others."""
    (run,) = row.runs
    differing = [
        (name, values) for name, values in settings if not (is_seed(name) or is_output(name) or name.startswith("_"))
    ]
    if len(metric.ranked) < 3 or len(differing) > _MOST or any(MISSING in values for _, values in differing):
        return ""
    texts = (f"{clean(name.rpartition('.')[2])} {setting_text(values[run], _LONGEST)}" for name, values in differing)
    return ", ".join(texts)
