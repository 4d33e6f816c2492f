"""A comparison of runs as text, and its first table as CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from typing import Any

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.comparing import MISSING, seedless_name
from tuimon.analysis.comparison_rows import MetricRows, Row
from tuimon.draw.numbers import format_exact, format_value
from tuimon.draw.table import Column
from tuimon.exports.table import no_room, table, text_column, wrapped
from tuimon.panels.lists.comparison import Comparison
from tuimon.panels.lists.comparison_tables import Table, comparison_tables, reached_texts
from tuimon.text import cell_width, clean

_RUN = 24
"""Maximum cells of the name of a run that is the head of a column."""
_NEEDED = 3
"""Columns of a table after the name that are never left out."""
_NUMBERS = ("n", "mean", "SD", "SE", "min", "max")
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def as_text(comparison: Comparison, now: float, width: int | None = None, full: bool = False) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited). full: print every metric in full, and every setting."""
    sentences = list(filter(None, (comparison.first_line, comparison.speed, comparison.axis.sentence)))
    for sentence in sentences:
        yield from wrapped(sentence, width)
    left_out: list[str] = []
    for number, own in enumerate(comparison_tables(comparison, now, full)):
        if number or sentences:
            yield ""
        yield from _by_run(own, width) if own.is_by_run else _table(own, width, left_out)
        if own.note:
            yield from wrapped(f"  {own.note}", width, 2)
    yield from no_room(left_out, width)


def _table(own: Table, width: int | None, left_out: list[str]) -> Iterator[str]:
    """Yield a table whose last columns are left out if they do not fit; its heading is a line of its own."""
    names = [row[0] for row in own.rows]
    columns = [
        text_column(head, [row[i] for row in own.rows], max(i - _NEEDED, 0), head in own.texts)
        for i, head in enumerate(own.heads)
        if i
    ]
    yield from wrapped(own.title, width)
    yield from table(own.heads[0], names, columns, width, left_out=left_out.append)


def _by_run(own: Table, width: int | None) -> Iterator[str]:
    """Yield a table with one column per run, split into several tables if the runs do not fit the width."""
    if not own.rows:
        yield own.title
        return
    names = [row[0] for row in own.rows]
    columns = [text_column(head[-_RUN:], [row[i] for row in own.rows]) for i, head in enumerate(own.heads) if i]
    room = math.inf if width is None else width - 2 - min(max(map(cell_width, (own.title, *names))), 28)
    parts: list[list[Column[int]]] = [[]]
    for column in columns:
        if parts[-1] and sum(2 + part.least for part in (*parts[-1], column)) > room:
            parts.append([])
        parts[-1].append(column)
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from table(own.title, names, part, width)


def reached_sentence(comparison: Comparison) -> str:
    """Return where a single run reaches the value of `Comparison.reaches`."""
    metric, (name, *_), value = comparison.main, comparison.labels, comparison.reaches
    if metric is None or value is None:
        return f"{clean(name)} has no metric to compare"
    what, (own,), (text,) = f"{clean(name)}: {clean(metric.name)}", comparison.reached, reached_texts(comparison)
    if own is None:
        return f"{what} never reaches {format_exact(value)}"
    steps = common_step_name(comparison.runs)
    place = "" if comparison.axis.name == "step" else f"{comparison.axis.noun} {text}, "
    return f"{what} first reaches {format_exact(value)} at {place}{steps} {own[0]}"


# ---------------------------------------------------------------------- the rows of the main metric


def row_settings(comparison: Comparison, row: Row) -> Mapping[str, Any]:
    """Return the settings that differ between rows, with the value of this one; None if it is not set."""
    return {
        name: None if values[row.runs[0]] is MISSING else values[row.runs[0]]
        for name, values in comparison.differences
        if all(len({repr(values[run]) for run in group}) == 1 for group in comparison.groups)
    }


def as_csv(comparison: Comparison, metric: MetricRows) -> str:
    """Return the rows as CSV, with every digit; SD and SE of one run are empty."""
    lines = io.StringIO()
    writer = csv.writer(lines)
    settings = list(row_settings(comparison, metric.rows[0]))
    writer.writerow(["name", *settings, "metric", *(head.lower() for head in _NUMBERS), "runs", "left_out"])
    for row in metric.rows:
        own = row_settings(comparison, row)
        numbers = ["" if math.isnan(number) else repr(number) for number in _numbers(row)]
        texts = ["; ".join(comparison.labels_of(runs)) for runs in (row.runs, row.left_out)]
        values = ("" if own[name] is None else own[name] for name in settings)
        writer.writerow([_name(comparison, row), *values, _metric(metric), len(row.runs), *numbers, *texts])
    return lines.getvalue()


def as_latex(comparison: Comparison, metric: MetricRows) -> str:
    """Return the rows as a tabular of LaTeX that needs no package, with rounded numbers."""
    lines = [rf"\begin{{tabular}}{{l{'r' * len(_NUMBERS)}}}", r"\hline"]
    lines += [" & ".join([_latex(_metric(metric)), *_NUMBERS]) + r" \\", r"\hline"]
    for row in metric.rows:
        without = f", without {', '.join(comparison.labels_of(row.left_out))}" if row.left_out else ""
        cells = ["--" if math.isnan(number) else _latex_number(format_value(number)) for number in _numbers(row)]
        name = _latex(f"{_name(comparison, row)}{without}")
        lines.append(" & ".join([name, _latex_number(str(len(row.runs))), *cells]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _numbers(row: Row) -> tuple[float, ...]:
    """Return mean, SD, SE, minimum and maximum of the runs; NaN for SD and SE of one run."""
    return row.level, row.deviation, row.error if len(row.runs) > 1 else math.nan, row.low, row.high


def _metric(metric: MetricRows) -> str:
    """Return the name of the metric, or "best(val_loss)" if the results are best values."""
    return metric.name if metric.kind == "level" else f"best({metric.name})"


def _name(comparison: Comparison, row: Row) -> str:
    """Return the name that the runs of the row have in common, or else that of the table on the screen."""
    names = {seedless_name(label) for label in comparison.labels_of((*row.runs, *row.left_out))}
    return clean(names.pop()) if len(names) == 1 and len(row.runs) + len(row.left_out) > 1 else row.name


def _latex(text: str) -> str:
    return clean(text).translate(_LATEX)


def _latex_number(cell: str) -> str:
    """Return a number in math mode: $-0.4862$, $2.27 \\times 10^{-4}$, $12.3\\mathrm{k}$."""
    number, exponent, power = cell.partition("e")
    if exponent:
        return rf"${number} \times 10^{{{int(power)}}}$"
    return f"${cell}$" if cell[-1].isdigit() else rf"${cell[:-1]}\mathrm{{{cell[-1]}}}$"
