"""A comparison of runs as text, and its first table as CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.comparison_rows import MetricRows
from tuimon.draw.numbers import format_exact
from tuimon.draw.table import TextColumn, TextTable
from tuimon.exports.compare_json import row_entry
from tuimon.exports.table import no_room, table_text, wrapped
from tuimon.panels.lists.comparison import Comparison
from tuimon.panels.lists.comparison_tables import comparison_tables, metric_table, reached_texts
from tuimon.text import cell_width, clean

_RUN = 24
"""Maximum cells of the name of a run that is the head of a column."""
_NUMBER = re.compile(r"([-+]?[\d.]+)(?:e([-+]?\d+)|([a-zA-Z%]))?")
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
    sentences = list(filter(None, (comparison.first_line, comparison.axis.sentence)))
    for sentence in sentences:
        yield from wrapped(sentence, width)
    left_out: list[str] = []
    for number, own in enumerate(comparison_tables(comparison, now, full)):
        if number or sentences:
            yield ""
        if own.is_by_run:
            yield from _by_run(own, width)
        else:
            yield from wrapped(own.title, width)
            yield from table_text(own, width, left_out=left_out.append)
        if own.note:
            yield from wrapped(f"  {own.note}", width, 2)
    yield from no_room(left_out, width)


def _by_run(own: TextTable, width: int | None) -> Iterator[str]:
    """Yield a table with one column per run, split into several tables if the runs do not fit the width."""
    if not own.names:
        yield own.title
        return
    columns = [replace(column, head=column.head[-_RUN:]) for column in own.columns]
    room = math.inf if width is None else width - 2 - min(max(map(cell_width, (own.title, *own.names))), 28)
    parts: list[list[TextColumn]] = [[]]
    left = room
    for column in columns:
        cells = 2 + max(map(cell_width, (column.head, *column.cells)))
        if parts[-1] and cells > left:
            parts.append([])
            left = room
        parts[-1].append(column)
        left -= cells
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from table_text(replace(own, columns=part), width)


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


# ---------------------------------------------------------------------- the rows of the metric that decides


def as_csv(comparison: Comparison) -> str:
    """Return the rows of the metric that decides as CSV, with every digit; what is unknown is empty."""
    main = comparison.main
    assert main is not None
    rows = [row_entry(comparison, row) for row in main.rows]
    settings = list(rows[0].settings)
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(["name", *settings, "metric", "n", "mean", "sd", "se", "min", "max", "runs"])
    for row in rows:
        own, numbers = row.settings.values(), (row.level, row.sd, row.se, row.min, row.max)
        writer.writerow([row.name, *own, _metric(main), row.n, *numbers, "; ".join(row.runs)])
    return lines.getvalue()


def as_latex(comparison: Comparison) -> str:
    """Return the table of the metric that decides as a tabular of LaTeX that needs no package."""
    main = comparison.main
    assert main is not None
    own = metric_table(comparison, main)
    lines = [rf"\begin{{tabular}}{{l{'r' * len(own.columns)}}}", r"\hline"]
    heads = _metric(main), *(column.head for column in own.columns)
    for number, row in enumerate((heads, *zip(own.names, *(column.cells for column in own.columns), strict=True))):
        lines.append(" & ".join(_latex(clean(cell)) for cell in row) + r" \\")
        lines += [] if number else [r"\hline"]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _metric(metric: MetricRows) -> str:
    """Return the name of the metric, or "best(val_loss)" if the results are best values."""
    return metric.name if metric.kind == "level" else f"best({metric.name})"


def _latex(cell: str) -> str:
    """Return a cell; a number is in math mode: $-0.4862$, $2.27 \\times 10^{-4}$, $12.3\\mathrm{k}$."""
    if match := _NUMBER.fullmatch(cell):
        power = rf" \times 10^{{{int(match[2])}}}" if match[2] else rf"\mathrm{{{match[3]}}}" if match[3] else ""
        return f"${match[1]}{power}$"
    return cell.translate(_LATEX)
