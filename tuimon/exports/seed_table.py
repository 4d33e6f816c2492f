"""The results of runs that differ only in their seed as a table: one row for each combination of settings.

A group with runs that are not healthy has a second row without them. Text and LaTeX have rounded numbers, CSV and JSON
every digit. SD and SE are those of the levels of the runs (see analysis.seed_means); they are unknown for one run.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct

from tuimon.analysis.comparing import seedless_name
from tuimon.analysis.seed_means import SEED_HEADS, MeanRow, SeedMeans, mean_rows, seed_cells, seed_title
from tuimon.analysis.words import setting_text
from tuimon.exports.documents import Count, known, one_of
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


class SeedRow(Struct, frozen=True, kw_only=True):
    """Runs that differ only in their seed."""

    name: str
    """Name without the seed, and the number of seeds."""
    settings: Mapping[str, Any]
    """Settings that differ between the groups, by dotted name; null: not set."""
    runs: tuple[str, ...]
    """Names of the runs of this row."""
    not_healthy: tuple[str, ...]
    """Those of these runs with a failure."""
    left_out: tuple[str, ...]
    """Runs of the group with a failure that are left out of this row."""
    without_result: tuple[str, ...]
    """Runs of the group that ended too early or have no finite level."""
    n: Count
    mean: float | None
    """Mean of the levels of the runs."""
    sd: float | None
    """Standard deviation of the levels of the runs; null for one run."""
    se: float | None
    """Standard error of the mean, sd / sqrt(n); null for one run."""
    min: float | None
    max: float | None


class SeedTable(Struct, frozen=True, kw_only=True):
    """The groups, the best first; one with failures has a second row without these runs."""

    metric: str
    """Metric of the verdict, or else the first one, in the first run that logged it."""
    by: Annotated[str, one_of("setting", "name")]
    """Whether a setting is the seed, or the names of the runs have it."""
    results: Annotated[str, one_of("levels", "best values")]
    step: int | None
    """Step up to which the levels are taken.

    Null if the runs have no steps in common or are compared along another axis."""
    x: float | None
    """Position on the axis of --x up to which the levels are taken; null if the runs have none in common."""
    rows: tuple[SeedRow, ...]


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


def as_entry(means: SeedMeans, labels: Sequence[str]) -> SeedTable:
    """Return the table for JSON. labels: names of the runs."""

    def named(runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(labels[run] for run in runs)

    rows = (
        SeedRow(
            name=row.name,
            settings=dict(zip(means.settings, row.group.settings, strict=True)),
            runs=named(row.result.runs),
            not_healthy=named(run for run in row.group.failed if run not in row.left_out),
            left_out=named(row.left_out),
            without_result=named(row.group.missing),
            n=len(row.result.runs),
            mean=known(row.result.mean),
            sd=known(row.result.deviation),
            se=known(row.result.error),
            min=known(row.result.low),
            max=known(row.result.high),
        )
        for row in mean_rows(means, labels)
    )
    return SeedTable(
        metric=means.metric.name,
        by="name" if means.by_name else "setting",
        results=means.results,
        step=means.limit if isinstance(means.limit, int) else None,
        x=means.limit,
        rows=tuple(rows),
    )


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
