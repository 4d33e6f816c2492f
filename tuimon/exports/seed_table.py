"""The results of runs that differ only in their seed as a table: one row for each combination of settings.

A group with runs that are not healthy has a second row without them. Text and LaTeX have rounded numbers, CSV and JSON
every digit. SD and SE are those of the levels of the runs (see analysis.seed_means); they are unknown for one run.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tuimon.analysis.comparing import seedless_name
from tuimon.analysis.seed_means import SEED_HEADS, MeanRow, SeedMeans, mean_rows, seed_cells, seed_title
from tuimon.analysis.words import setting_text
from tuimon.exports._shared import known
from tuimon.exports.table import Column, table
from tuimon.text import clean

_LONGEST = 24
"""Maximum characters of a setting."""
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def as_text(means: SeedMeans, labels: Sequence[str], word: str, width: int | None) -> Iterator[str]:
    """Yield the lines of the table with its heading. labels: names of the runs."""
    rows = list(mean_rows(means, labels))
    cells = [seed_cells(row) for row in rows]
    columns = [Column(head, [row[i] for row in cells], need=min(i, 3)) for i, head in enumerate(SEED_HEADS)]
    columns += [
        Column(clean(name.rpartition(".")[2]), [_setting(row.group.settings[i]) for row in rows], need=4, left=True)
        for i, name in enumerate(means.settings)
    ]
    yield seed_title(means, word)
    yield from table("runs", [row.name for row in rows], columns, width, notes=[row.remark for row in rows])


def as_fields(means: SeedMeans, labels: Sequence[str]) -> dict[str, Any]:
    """Return the table as an object of JSON."""
    return {
        "metric": means.metric.name,
        "by": "name" if means.by_name else "setting",
        "results": means.results,
        "step": means.limit if isinstance(means.limit, int) else None,
        "x": means.limit,
        "rows": [
            {
                "name": row.name,
                "settings": dict(zip(means.settings, row.group.settings, strict=True)),
                "runs": [labels[run] for run in row.result.runs],
                "not_healthy": [labels[run] for run in row.group.failed if run not in row.left_out],
                "left_out": [labels[run] for run in row.left_out],
                "without_result": [labels[run] for run in row.group.missing],
                "n": len(row.result.runs),
                "mean": known(row.result.mean),
                "sd": known(row.result.deviation),
                "se": known(row.result.error),
                "min": known(row.result.low),
                "max": known(row.result.high),
            }
            for row in mean_rows(means, labels)
        ],
    }


def as_csv(means: SeedMeans, labels: Sequence[str]) -> str:
    """Return the table as CSV, with every digit; SD and SE of one run are empty."""
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(["name", *means.settings, "metric", *(head.lower() for head in SEED_HEADS), "runs", "left_out"])
    for row in mean_rows(means, labels):
        own = row.result
        numbers = (own.mean, own.deviation, own.error, own.low, own.high)
        settings = ("" if value is None else value for value in row.group.settings)
        texts = ["; ".join(labels[run] for run in runs) for runs in (own.runs, row.left_out)]
        written = ("" if math.isnan(number) else repr(number) for number in numbers)
        writer.writerow([_name(row, labels), *settings, _metric(means), len(own.runs), *written, *texts])
    return lines.getvalue()


def as_latex(means: SeedMeans, labels: Sequence[str]) -> str:
    """Return the table as a tabular of LaTeX that needs no package."""
    lines = [rf"\begin{{tabular}}{{l{'r' * len(SEED_HEADS)}}}", r"\hline"]
    lines += [" & ".join([_latex(_metric(means)), *SEED_HEADS]) + r" \\", r"\hline"]
    for row in mean_rows(means, labels):
        name = f"{_name(row, labels)}{f', {row.remark}' if row.remark else ''}"
        lines.append(" & ".join([_latex(name), *map(_latex_number, seed_cells(row))]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _metric(means: SeedMeans) -> str:
    """Return the name of the metric, or "best(val_loss)" if the results are best values."""
    return means.metric.name if means.results == "levels" else f"best({means.metric.name})"


def _name(row: MeanRow, labels: Sequence[str]) -> str:
    """Return the name that the runs of the group have in common, or else that of the table on the screen."""
    names = {seedless_name(labels[run]) for run in row.group.every.runs}
    return clean(names.pop()) if len(names) == 1 else row.name


def _latex(text: str) -> str:
    return clean(text).translate(_LATEX)


def _latex_number(cell: str) -> str:
    """Return a number in math mode: $-0.4862$, $2.27 \\times 10^{-4}$, $12.3\\mathrm{k}$; "--" if it is unknown."""
    if cell == "-":
        return "--"
    number, exponent, power = cell.partition("e")
    if exponent:
        return rf"${number} \times 10^{{{int(power)}}}$"
    return f"${cell}$" if cell[-1].isdigit() else rf"${cell[:-1]}\mathrm{{{cell[-1]}}}$"


def _setting(value: object) -> str:
    return "-" if value is None else setting_text(value, _LONGEST)
