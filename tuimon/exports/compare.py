"""A comparison of runs as a document, as text, CSV and LaTeX; level and SE: see `analysis.level`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.comparing import MISSING
from tuimon.analysis.comparison_rows import MetricRows, Row, RunResult
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress_inputs import progress_of
from tuimon.draw.numbers import format_exact
from tuimon.draw.table import TextColumn
from tuimon.errors import UsageError
from tuimon.exports.documents import Count, Number, Split, State, StepValue, Version, filled, known, note_entry, one_of
from tuimon.exports.table import no_room, table_text, wrapped
from tuimon.panels.lists.comparison import Comparison
from tuimon.panels.lists.comparison_tables import comparison_tables, metric_table, reached_texts
from tuimon.redact import redacted
from tuimon.run_notes import RunNote
from tuimon.text import clean


class ReachesEntry(Struct, frozen=True, kw_only=True):
    """First point at which each run reaches a value."""

    metric: str
    """The metric that decides, or else the first one, in the first run that logged it."""
    value: float | None
    steps: tuple[int | None, ...]
    """Step of the first point whose value is at least this one, or at most where lower is better; null: none is."""
    x: tuple[float | None, ...]
    """Position of the same point on the axis of --x; null: none does, or it has no position."""


class EffectEntry(Struct, frozen=True, kw_only=True):
    """A setting that differs, with the difference of the results between runs that are equal in all others."""

    setting: str
    """Dotted name."""
    metric: str
    """The metric that decides, in the first run that logged it."""
    best: Any
    """Value with the better results."""
    worst: Any
    difference: float
    """Mean result with the best value less that with the worst, over the pairs; no cause is shown."""
    se: float | None
    """Standard error of the difference; null for one pair."""
    pairs: Count
    """Number of pairs of runs, seeds aside equal in all other settings."""
    beyond_noise: bool
    """Whether noise does not explain it (2 %, divided by the number of pairs of values); false if it is unknown."""


class ComparedRun(Struct, frozen=True, kw_only=True):
    """A run that is compared."""

    id: int
    name: str
    path: str
    note: RunNote | None
    """The user's note about the run; null: none."""
    state: State
    failure: str | None
    """What casts doubt on the results of the run, such as a critical alert; null: nothing."""
    step: int | None
    best_checkpoint: Mapping[str, Any] | None
    final_metrics: Mapping[str, Any]


class DifferingSetting(Struct, frozen=True):
    """A setting that differs."""

    setting: str
    """Dotted name."""
    values: tuple[Any, ...]
    """Of each run; null if it has no such setting."""


class DifferingFact(Struct, frozen=True):
    """What the logs say about the runs themselves, if it differs."""

    name: str
    values: tuple[Any, ...]
    """Of each run; null if its logs do not say it."""


class ComparedSettings(Struct, frozen=True, kw_only=True):
    """The settings of the runs."""

    differences: tuple[DifferingSetting, ...]
    same: Mapping[str, Any]
    """Settings that are equal in all runs, by dotted name."""


class ComparedFacts(Struct, frozen=True, kw_only=True):
    """What the logs say about the runs themselves."""

    differences: tuple[DifferingFact, ...]
    """Host, program, arguments, commit and versions that differ."""


class RunMetric(Struct, frozen=True, kw_only=True):
    """A metric in one run."""

    name: str
    """As this run logs it."""
    unit: str
    """Of the values as they are logged, as in `tuimon summary`."""
    points: Count
    last: Number
    """A logged value."""
    last_step: int
    best: StepValue | None
    """Best value up to the end of the comparison, in the unit of the metric."""
    level: float | None
    """Mean of the last tenth of the points, or of the last 5 if that is more (at most a quarter)."""
    se: float | None
    """Standard error of the level; null if it is unknown."""
    level_points: int
    """Number of points of the level."""


class RowEntry(Struct, frozen=True, kw_only=True):
    """A run, or runs that differ only in their seed."""

    name: str
    """Name, without the seed and with the number of seeds if there are several runs."""
    settings: Mapping[str, Any]
    """Settings that differ between the rows, by dotted name; null: not set."""
    runs: tuple[str, ...]
    """Names of the runs of this row."""
    not_healthy: tuple[str, ...]
    """Those of these runs with a failure."""
    left_out: tuple[str, ...] = ()
    """Always empty, as no run is left out; kept for readers of this version of the schema."""
    without_result: tuple[str, ...]
    """Runs of the group that ended too early or have no finite level."""
    n: Count
    level: float | None
    """Mean of the levels of the runs, or of their best values with --best."""
    se: float | None
    """Standard error of the level, sd / sqrt(n); of one run that of its curve."""
    sd: float | None
    """Standard deviation of the levels of the runs; null for one run."""
    min: float | None
    max: float | None
    end: float | None
    """Position on the axis up to which the level is taken; null: that of the last point."""
    best: StepValue | None
    rank: int | None
    """1 is the best level; null if the row is not compared."""
    tied: bool
    """Whether noise may explain the difference to the first row."""
    behind: float | None
    """Difference to the first row."""
    behind_se: float | None
    """Standard error of this difference; null if it is unknown."""


class ComparedMetric(Struct, frozen=True, kw_only=True):
    """A metric in all runs."""

    name: str
    """In the first run that logged it."""
    concept: str
    """What it means; other for an unknown name."""
    split: Split
    unit: str
    """Of the numbers of the rows; empty for plain numbers, or if the runs log several."""
    better: Annotated[str, one_of("higher", "lower")] | None
    """Which values are better; null if neither."""
    results: Annotated[str, one_of("level", "best")]
    """What is compared."""
    end: float | None
    """Position on the axis up to which the rows are compared; null if the runs have none in common."""
    rows: tuple[RowEntry, ...]
    """The best first, then those that ended early."""
    runs: tuple[RunMetric | None, ...]
    """One for each run; null if it has no such metric."""


class SeedTable(Struct, frozen=True, kw_only=True):
    """The rows of the metric that decides, if some runs differ only in their seed."""

    metric: str
    by: Annotated[str, one_of("setting", "name")]
    """Whether a setting is the seed, or the names of the runs have it."""
    results: Annotated[str, one_of("level", "best")]
    rows: tuple[RowEntry, ...]


class CompareDocument(Struct, frozen=True, kw_only=True):
    """A comparison of runs. Lists by run have the order of the runs."""

    schema: Version = 1
    verdict: str
    """One sentence: what the first two rows of the metric that decides show; empty if nothing can be compared."""
    seconds_per_step: tuple[float | None, ...]
    """Usual time per step of each run (s), with its share of the pauses, as in the summary; null if unknown."""
    axis: str
    """Axis of --x along which the runs are compared; time is duration, the time since the start."""
    reaches: ReachesEntry | None
    """First point at which each run reaches the value of --reaches; null without this option."""
    seeds: SeedTable | None
    """Runs that differ only in their seed; null without such runs."""
    effects: tuple[EffectEntry, ...]
    """Settings that differ, except seeds, in runs of which pairs are otherwise equal, the largest difference first."""
    runs: tuple[ComparedRun, ...]
    config: ComparedSettings
    about: ComparedFacts
    metrics: tuple[ComparedMetric, ...]


def comparison_document(comparison: Comparison, now: float) -> CompareDocument:
    """Return the document. now: wall time (s since epoch)."""
    runs = (
        filled(
            ComparedRun,
            run,
            name=label,
            note=note_entry(run.path),
            state=progress_of(run, now).state,
            failure=failure or None,
            step=run.last_step,
            best_checkpoint=redacted(run.best_checkpoint) if run.best_checkpoint else None,
            final_metrics=redacted(run.final_metrics),
        )
        for run, label, failure in zip(comparison.runs, comparison.labels, comparison.failures, strict=True)
    )
    main = comparison.main
    return CompareDocument(
        verdict=comparison.first_line,
        seconds_per_step=tuple(known(progress_of(run, now).seconds_per_step) for run in comparison.runs),
        axis=comparison.axis.name,
        reaches=_reaches(comparison, main),
        seeds=_seeds(comparison, main) if main is not None and comparison.has_groups else None,
        effects=tuple(_effects(comparison, main)) if main is not None else (),
        runs=tuple(runs),
        config=ComparedSettings(
            differences=tuple(DifferingSetting(name, _values(values)) for name, values in comparison.differences),
            same=dict(comparison.same),
        ),
        about=ComparedFacts(
            differences=tuple(DifferingFact(name, _values(values)) for name, values in comparison.about)
        ),
        metrics=tuple(_metric(comparison, metric) for metric in comparison.metrics),
    )


def _reaches(comparison: Comparison, main: MetricRows | None) -> ReachesEntry | None:
    if main is None or comparison.reaches is None:
        return None
    steps = tuple(None if own is None else own[0] for own in comparison.reached)
    places = tuple(None if own is None else own[1] for own in comparison.reached)
    return ReachesEntry(metric=main.name, value=known(comparison.reaches), steps=steps, x=places)


def _values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if value is MISSING else value for value in values)


def _seeds(comparison: Comparison, main: MetricRows) -> SeedTable:
    return SeedTable(
        metric=main.name,
        by="name" if comparison.is_by_name else "setting",
        results=main.kind,
        rows=tuple(row_entry(comparison, row) for row in main.rows),
    )


def _effects(comparison: Comparison, main: MetricRows) -> Iterator[EffectEntry]:
    for effect in comparison.effects:
        apart = effect.difference
        numbers = {"difference": apart.value, "se": known(apart.error)}
        values = {"best": effect.best, "worst": effect.worst}  # a setting may be infinite
        yield filled(EffectEntry, effect, setting=effect.name, metric=main.name, **numbers, **values)


def _metric(comparison: Comparison, metric: MetricRows) -> ComparedMetric:
    return filled(
        ComparedMetric,
        metric,
        concept=metric.meaning.concept,
        split=metric.meaning.split,
        better=metric.better or None,
        results=metric.kind,
        rows=tuple(row_entry(comparison, row) for row in metric.rows),
        runs=tuple(
            None if own is None else _run(own, meaning_of(run, own.curve.metric).logged_unit)
            for run, own in zip(comparison.runs, metric.runs, strict=True)
        ),
    )


def row_entry(comparison: Comparison, row: Row) -> RowEntry:
    """Return a row of a metric."""
    settings = {
        name: None if values[row.runs[0]] is MISSING else values[row.runs[0]]
        for name, values in comparison.differences
        if all(len({repr(values[run]) for run in group}) == 1 for group in comparison.groups)
    }
    return filled(
        RowEntry,
        row,
        settings=settings,
        runs=comparison.labels_of(row.runs),
        not_healthy=comparison.labels_of(row.not_healthy),
        without_result=comparison.labels_of(row.without_result),
        best=StepValue(*row.best) if row.best else None,
        rank=row.rank or None,
        behind=known(row.behind.value),
        behind_se=known(row.behind.error),
    )


def _run(own: RunResult, logged_unit: str) -> RunMetric:
    return RunMetric(
        name=own.curve.metric,
        unit=logged_unit,
        points=len(own.curve),
        last=float(own.curve.values[-1]),
        last_step=int(own.curve.steps[-1]),
        best=StepValue(*own.best) if own.best else None,
        level=known(own.level.value),
        se=known(own.level.error),
        level_points=own.level.count,
    )


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


def as_text(
    comparison: Comparison, now: float, width: int | None = None, full: bool = False, baseline: str = ""
) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited).

    - full: print every metric in full, and every setting.
    - baseline: name of a row or of one of its runs; the rows of the first table have their distance to it.
    """
    for sentence in comparison.sentences:
        yield from wrapped(sentence, width)
    left_out: list[str] = []
    for number, own in enumerate(comparison_tables(comparison, now, full)):
        if number or comparison.sentences:
            yield ""
        if not number and baseline:
            own = replace(own, columns=[*own.columns, _distances(comparison, baseline)])
        if not own.is_by_run:
            yield from wrapped(own.title, width)
        elif own.names:
            own = replace(own, columns=[replace(column, head=column.head[-_RUN:]) for column in own.columns])
        if own.names:
            yield from table_text(own, width, left_out=left_out.append)
        else:
            yield own.title
        if own.note:
            yield from wrapped(f"  {own.note}", width, 2)
    yield from no_room(left_out, width)


def _distances(comparison: Comparison, baseline: str) -> TextColumn:
    """Return the distance of each row of the metric that decides to the baseline: "+2.3 SE" of their difference.

    Raises UsageError if no row has this name.
    """
    main = comparison.main
    rows = main.rows if main is not None else ()
    base = next((row for row in rows if baseline in (row.name, *comparison.labels_of(row.runs))), None)
    if main is None or base is None:
        raise UsageError(
            f"--baseline: no run {clean(baseline)} is compared", f"Rows: {', '.join(r.name for r in rows)}."
        )
    apart = [main.difference(row, base) for row in rows]
    cells = [
        "baseline" if row is base else f"{own.value / own.error:+.1f} SE" if own.is_known and own.error else "-"
        for row, own in zip(rows, apart, strict=True)
    ]
    return TextColumn("to the baseline", cells)


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
        writer.writerow([row.name, *own, _metric_name(main), row.n, *numbers, "; ".join(row.runs)])
    return lines.getvalue()


def as_latex(comparison: Comparison) -> str:
    """Return the table of the metric that decides as a tabular of LaTeX that needs no package."""
    main = comparison.main
    assert main is not None
    own = metric_table(comparison, main)
    lines = [rf"\begin{{tabular}}{{l{'r' * len(own.columns)}}}", r"\hline"]
    heads = _metric_name(main), *(column.head for column in own.columns)
    for number, row in enumerate((heads, *zip(own.names, *(column.cells for column in own.columns), strict=True))):
        lines.append(" & ".join(_latex(clean(cell)) for cell in row) + r" \\")
        lines += [] if number else [r"\hline"]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _metric_name(metric: MetricRows) -> str:
    """Return the name of the metric, or "best(val_loss)" if the results are best values."""
    return metric.name if metric.kind == "level" else f"best({metric.name})"


def _latex(cell: str) -> str:
    """Return a cell; a number is in math mode: $-0.4862$, $2.27 \\times 10^{-4}$, $12.3\\mathrm{k}$."""
    if match := _NUMBER.fullmatch(cell):
        power = rf" \times 10^{{{int(match[2])}}}" if match[2] else rf"\mathrm{{{match[3]}}}" if match[3] else ""
        return f"${match[1]}{power}$"
    return cell.translate(_LATEX)
