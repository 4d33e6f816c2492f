"""first_line(): what the first two rows of a comparison show, in one sentence of at most about 20 words.

    lr3e-6 is ahead of lr1e-6: reward 0.6103 against 0.5103; one run each
    No run is ahead in reward: a 0.5103, b 0.5100, within noise; one run each

A row is ahead if noise does not explain its difference to the next one, and if one of its runs is healthy.
"""

from __future__ import annotations

from tuimon.analysis.comparison_axis import equal_words
from tuimon.analysis.comparison_rows import MetricRows, Row
from tuimon.draw.numbers import format_number


def first_line(metric: MetricRows | None) -> str:
    """Return the sentence about the metric that was asked for; "" if nothing can be compared."""
    if metric is None or not metric.better or not metric.rows:
        return ""
    what = f"best {metric.label}" if metric.kind == "best" else metric.label
    if len(metric.ranked) < 2:
        row = metric.rows[0]
        level, error = (format_number(number, metric.unit) for number in (row.level, row.error))
        return f"{row.name}: mean {what} {level} ± {error} SE" if len(row.runs) > 1 else ""
    first, second = metric.ranked[:2]
    own, other = (format_number(row.level, metric.unit) for row in (first, second))
    is_alone = len(first.runs) == len(second.runs) == 1
    at = "" if metric.axis == "step" else f" at equal {equal_words(metric.axis).removesuffix(' since the start')}"
    if doubt := _doubt(metric, first, second, is_alone):
        said = f"No run is ahead in {what}: {first.name} {own}, {second.name} {other}{at}, {doubt}"
    else:
        said = f"{first.name} is ahead of {second.name}: {what} {own} against {other}{at}"
    return f"{said}; one run each" if is_alone and second.behind.is_known else said


def _doubt(metric: MetricRows, first: Row, second: Row, is_alone: bool) -> str:
    """Return why the first row is not ahead of the second; "" if it is."""
    if metric.kind == "best" and is_alone:
        return "best values have no error"
    if not second.behind.is_known:
        return "too few points to judge"
    if second.is_tied:
        return "equal" if first.level == second.level else "within noise"
    return "the first is not healthy" if len(first.not_healthy) == len(first.runs) else ""
