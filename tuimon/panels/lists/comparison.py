"""A table of runs side by side: settings that differ, and differences between metrics compared with their noise.

The level of a metric is the mean of the last tenth of its points up to the last step that two runs have reached. Beside
a difference to the first run it is the level up to the last step that both have reached, so that a run that ended early
is not compared with what the first run reached later. The table states whether noise explains a difference; it does
not claim a cause.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tuimon.analysis.aligned_steps import common_step_name
from tuimon.analysis.compared_metric import ComparedMetric
from tuimon.analysis.comparing import (
    MISSING,
    compared_settings,
    differing_words,
    distinct_names,
    is_partly_missing,
)
from tuimon.analysis.comparison_axis import comparison_axis
from tuimon.analysis.comparison_limits import limits
from tuimon.analysis.equal_counter import at_equal_counter
from tuimon.analysis.level import Level
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.seed_means import SEED_HEADS, SeedMeans, mean_rows, seed_cells, seed_title
from tuimon.analysis.setting_effects import effects_on
from tuimon.analysis.speed import speed_difference
from tuimon.analysis.verdict import deciding_metric, verdict
from tuimon.analysis.words import setting_text
from tuimon.draw.numbers import format_value
from tuimon.draw.rows import row_width
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels._charts.overlay_lines import distinct_markers
from tuimon.panels._metrics import SECONDARY_PANELS
from tuimon.panels._run_facts import comparable_facts
from tuimon.panels._text import plural, signed
from tuimon.panels.lists.compared_runs import RunComparison, best_first, compared_deciding_metric, compared_readings
from tuimon.panels.lists.run_metrics import metric_of, split_statistic
from tuimon.redact import redacted
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit, fit_distinct

_NAME, _LEAST_NAME = 40, 16
_VALUE = 28
"""Maximum cells of the name of a run and of a setting."""
_DETAILS = ((_VALUE, True, True), (_VALUE, False, True), (16, False, True), (16, False, False), (10, False, False))
"""(maximum cells of a name and of a setting, whether numbers of points are shown, whether standard errors are), in the
order in which they are given up for the columns of more runs."""
_OF_VERDICT = 3
"""Number of runs that the verdict is about: the best two, and the first run."""
_NO_METRICS: Row = (("  no metrics in common: no two of these runs log the same name", Role.MUTED),)
_NO_CAUSE = "Settings and metrics that differ are listed side by side; this does not show a cause."
_GAP: Span = ("  ", Role.MUTED)

_TableRow = tuple[Span, list[Row]]
"""A name, and a cell for each run."""


class _Layout(Struct, frozen=True, eq=False):
    """The cells of the table with some of the `_DETAILS`."""

    heads: list[Row]
    progress: list[_TableRow]
    settings: list[_TableRow]
    missing: list[_TableRow]
    facts: list[_TableRow]
    metrics: list[_TableRow]
    widths: list[int]
    """Cells of the names of the rows, and of the column of each run."""
    shown: list[int]
    """Positions of the runs that have a column: at least two."""
    fits: bool
    """Whether these columns fit."""
    counted: bool
    with_errors: bool


def comparison_table(
    comparison: RunComparison,
    now: float,
    symbols: Symbols,
    width: int = 0,
    skipped: int = 0,
    keys: str = "",
) -> list[Row]:
    """Return the table.

    width: preferred width in cells, which may cost words and numbers (`_DETAILS`), and then the runs that do not fit
    beside the first one and one other, the best ones of the main metric last; 0 for any width. skipped: number of runs
    after the first one, in this order, that are left out. keys: shown where runs are left out, for choosing others.
    """
    runs, names, failures = comparison.runs, comparison.names, comparison.failures
    differences, compared = comparison.differences, comparison.metrics
    markers = distinct_markers([run.id for run in runs], symbols)
    partial = [(key, values) for key, values in differences if is_partly_missing(values)]
    full = [(key, values) for key, values in differences if not is_partly_missing(values)]
    about, _ = compared_settings([_facts_about(run) for run in runs])
    signs, order = [markers[run.id] for run in runs], best_first(comparison)

    def laid_out(cells: int, counted: bool, with_errors: bool) -> _Layout:
        settings, missing = _settings(full, cells), _settings(partial, cells)
        facts = _settings(((name, differing_words(values, cells)) for name, values in about), cells)
        progress = _progress(runs, now, failures, cells)
        metrics = _metrics(comparison, symbols, counted, with_errors)
        widths = _widths([*progress, *settings, *missing, *facts, *metrics], len(runs))
        heads: list[Row] = []
        for index, (name, (sign, role)) in enumerate(zip(names, signs, strict=True)):
            room = max(cells, widths[1 + index] - cell_width(sign) - 1)
            heads.append(((f"{sign} {fit(name, min(cell_width(name), room), 'ends')}", role),))
            widths[1 + index] = max(widths[1 + index], row_width(heads[-1]))
        least = widths[0] if counted else min(widths[0], _LEAST_NAME)
        shown = _fitting([least, *widths[1:]], width, order, skipped)
        fits = not 0 < width < _total([least, *(widths[1 + i] for i in shown)])
        return _Layout(heads, progress, settings, missing, facts, metrics, widths, shown, fits, counted, with_errors)

    layouts = (laid_out(*detail) for detail in _DETAILS)
    layout = _roomiest(layouts, max(len(runs) - skipped, min(len(runs), 2)))
    metrics, missing, facts, widths, shown = layout.metrics, layout.missing, layout.facts, layout.widths, layout.shown
    if width > 0:
        widths[0] = min(widths[0], max(width - _total([0, *(widths[1 + i] for i in shown)]), _LEAST_NAME))

    def join(name: Span, cells: Sequence[Row]) -> Row:
        return _join(name, [cells[i] for i in shown], [widths[0], *(widths[1 + i] for i in shown)])

    error = f" {_plus_minus(symbols)} standard error" if layout.with_errors else ""
    columns = f"level{error}{', points' * layout.counted}; difference to the first run"
    counted_in = common_step_name(runs)
    means = comparison.seeds
    said = verdict(names, compared, differences, counted_in, means, failures).replace("±", _plus_minus(symbols))
    at_counter = at_equal_counter(names, runs, deciding_metric(compared))
    sentences = list(filter(None, (said, speed_difference(names, runs), at_counter, comparison.axis.sentence)))
    common = f"a common {counted_in}" if comparison.axis.name == "step" else f"the same {comparison.axis.noun}"
    tilde = "~" if symbols is Symbols.ASCII else "≈"
    level = f"Level: mean of the last tenth of the points up to {common}. {tilde}: within noise."
    return [
        *(row for sentence in sentences for row in _wrapped(sentence, width)),
        *([()] if sentences else []),
        *_effects(compared, differences, failures, symbols, width),
        *(_seeds(means, names, counted_in) if means is not None else []),
        *_left_out(len(runs), len(shown), keys, width),
        join(("", Role.MUTED), layout.heads),
        *(join(*row) for row in layout.progress),
        (),
        _title("Settings that differ", _same(len(full), comparison.same, len(partial))),
        *(join(*row) for row in layout.settings),
        *([(), _title("Settings only in some runs", "the same where present")] if missing else []),
        *(join(*row) for row in missing),
        *([(), _title("Run", "host, program, arguments, commit and versions, if they differ")] if facts else []),
        *(join(*row) for row in facts),
        (),
        _title("Metrics", columns),
        *(_wrapped(f"  {limit}", width, Role.WARNING) if (limit := limits(names, compared, 0, counted_in)) else []),
        *([join((name, role), cells) for name, role, cells in _with_short_names(metrics, widths[0])] or [_NO_METRICS]),
        (),
        *(row for sentence in (level, _NO_CAUSE) for row in _wrapped(sentence, width, Role.MUTED)),
    ]


def ahead(
    runs: Sequence[Run], symbols: Symbols, metric: str = "", failures: Sequence[str] = (), x: str = "step"
) -> str:
    """Return the sentence of `verdict` about these runs on one metric, without what else differs; "" if unknown.

    metric: metric that the user has chosen, see `metric_of`; "" for the most important one. x: axis, see
    `comparison_axis`.
    """
    axis = comparison_axis(runs, x)
    names = distinct_names([clean(run.name) for run in runs])
    if metric:
        compared = compared_readings(split_statistic(metric)[0], [metric_of(run, metric) for run in runs], axis)
        deciding = deciding_metric([] if compared is None else [compared])
    else:
        deciding = compared_deciding_metric(runs, axis)
    said = verdict(names, [] if deciding is None else [deciding], (), common_step_name(runs), None, failures)
    return said.replace("±", _plus_minus(symbols))


def _effects(
    compared: Sequence[ComparedMetric],
    differences: Sequence[tuple[str, tuple[Any, ...]]],
    failures: Sequence[str],
    symbols: Symbols,
    width: int,
) -> list[Row]:
    """Return a heading and a row for the effect of each setting on the metric of the verdict; [] if none is known."""
    effects = effects_on(deciding_metric(compared), differences, failures)
    if effects is None:
        return []
    plus_minus = _plus_minus(symbols)
    lines = (f"  {effect.line}".replace("±", plus_minus) for effect in effects.effects)
    rows = [row for line in lines for row in _wrapped(line, width, Role.TEXT)]
    return [*_wrapped(effects.title.replace("±", plus_minus), width, Role.MUTED), *rows, ()]


def _seeds(means: SeedMeans, names: Sequence[str], word: str) -> list[Row]:
    """Return a heading and a row for each group of runs that differ only in their seed."""
    rows = list(mean_rows(means, names))
    cells = [seed_cells(row) for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(SEED_HEADS, *cells, strict=True)]
    longest = min(max(cell_width(row.name) for row in rows), _NAME)

    def line(name: str, numbers: Sequence[str], role: Role, remark: str) -> Row:
        spans = [_GAP, (fit(name, longest, "ends"), Role.TEXT)]
        for cell, width in zip(numbers, widths, strict=True):
            spans += [_GAP, (" " * (width - cell_width(cell)) + cell, role)]
        return (*spans, _GAP, (remark, Role.WARNING))

    return [
        _title("Seeds", seed_title(means, word)),
        line("", SEED_HEADS, Role.MUTED, ""),
        *(line(row.name, own, Role.VALUE, row.remark) for row, own in zip(rows, cells, strict=True)),
        (),
    ]


def _progress(runs: Sequence[Run], now: float, failures: Sequence[str], most: int) -> list[_TableRow]:
    reports = [progress_of(run, now) for run in runs]
    totals = [f" of {report.total}" if report.total else "" for report in reports]
    steps = [
        f"{r.position}{total}" if r.position is not None else "-" for r, total in zip(reports, totals, strict=True)
    ]
    rows: list[_TableRow] = [
        (("state", Role.MUTED), [((report.state, Role.TEXT),) for report in reports]),
        ((common_step_name(runs), Role.MUTED), [((step, Role.TEXT),) for step in steps]),
    ]
    if any(failures):
        texts = (fit(text, min(cell_width(text), most)) for text in failures)
        rows.append((("remark", Role.MUTED), [((text, Role.WARNING),) for text in texts]))
    return rows


def _title(text: str, note: str) -> Row:
    return ((text, Role.TITLE), (f"   {note}", Role.MUTED))


def _wrapped(text: str, width: int, role: Role = Role.VALUE) -> list[Row]:
    """Return the text in rows of at most `width` cells; 0 for any width."""
    lines = textwrap.wrap(text, max(width - 2, _LEAST_NAME), subsequent_indent="  ") if width else [text]
    return [((line, role),) for line in lines]


@cached_per_run
def _facts_about(run: Run) -> Mapping[str, Any]:
    """Return the comparable facts about a run, without secrets. Redacting them in each redraw would be slow."""
    return redacted(comparable_facts(run))


def _settings(settings: Iterable[tuple[str, tuple[Any, ...]]], most: int) -> list[_TableRow]:
    """Return the rows of settings. most: maximum cells of a value."""
    return [((clean(key), Role.TEXT), [_setting(value, most) for value in values]) for key, values in settings]


def _with_short_names(metrics: Sequence[_TableRow], width: int) -> list[tuple[str, Role, list[Row]]]:
    """Return (name, role, cells) of each metric, with names that stay distinct where they are cut."""
    short = fit_distinct([name for (name, _), _ in metrics], width)
    return [(name, role, cells) for name, ((_, role), cells) in zip(short, metrics, strict=True)]


def _left_out(count: int, shown: int, keys: str, width: int) -> list[Row]:
    """Return a row that says how many of the runs have no column, if any."""
    if shown == count:
        return []
    more = f": {keys}" if keys else ""
    return _wrapped(f"{count - shown} of {count} runs not shown{more}", width, Role.WARNING)


def _roomiest(layouts: Iterable[_Layout], wanted: int) -> _Layout:
    """Return the first layout with room for all wanted runs, else the first with room for the first run and the best
    two, else the last."""
    tried: list[_Layout] = []
    for layout in layouts:
        if layout.fits and len(layout.shown) >= wanted:
            return layout
        tried.append(layout)
    return next((layout for layout in tried if layout.fits and len(layout.shown) >= _OF_VERDICT), tried[-1])


def _fitting(widths: Sequence[int], width: int, order: Sequence[int], skipped: int) -> list[int]:
    """Return the positions of the runs with a column, ascending: the first run, and those after the skipped ones that
    fit, but at least one. order: see `best_first`."""
    room = width - _total(widths[:2])
    shown = [0]
    for position in order[min(1 + skipped, len(order) - 1) :]:
        room -= row_width((_GAP,)) + widths[1 + position]
        if width > 0 and room < 0 and len(shown) > 1:
            break
        shown.append(position)
    return sorted(shown)


def _same(different: int, same: int, partial: int = 0) -> str:
    if not different and not same and not partial:
        return "no run logs its configuration; a tracker, Hydra or a config.yaml beside the log would"
    return ("none; " if not different else "") + f"{plural(same, 'setting')} the same"


def _setting(value: object, most: int) -> Row:
    if value is MISSING:
        return (("-", Role.MUTED),)
    text = setting_text(value)
    return ((fit(text, min(cell_width(text), most), "ends"), Role.VALUE),)


def _metrics(comparison: RunComparison, symbols: Symbols, counted: bool, with_errors: bool) -> list[_TableRow]:
    """Return the rows of the metrics. counted: with numbers of points. with_errors: with standard errors."""
    rows: list[_TableRow] = []
    for metric, levels in zip(comparison.metrics, comparison.levels, strict=True):
        if metric.meaning.panel in SECONDARY_PANELS:
            continue
        direction = metric.meaning.direction
        cells = [_cell(pair, direction, symbols, counted, with_errors) for pair in levels]
        rows.append(((clean(metric.name), Role.TEXT), cells))
    return rows


def _cell(
    pair: tuple[Level, Level | None] | None, direction: str, symbols: Symbols, counted: bool, with_errors: bool
) -> Row:
    """Return the level of a run and the difference to that of the first run. pair: see `RunComparison.levels`."""
    if pair is None:
        return (("-", Role.MUTED),)
    own, base = pair
    spans: list[Span] = [(format_value(own.value), Role.VALUE)]
    if with_errors and math.isfinite(own.error):
        spans.append((f" {_plus_minus(symbols)} {format_value(own.error)}", Role.MUTED))
    if counted and own.count:
        spans.append((f", {own.count}", Role.MUTED))
    if base is not None:
        text, role = signed(own.value - base.value, direction)
        significant = own.differs_from(base) and math.isfinite(own.value - base.value)
        explained = bool(text) and own.value != base.value and own.is_within_noise_of(base)
        noise = (" ~" if symbols is Symbols.ASCII else " ≈") * explained
        spans.append((f"  {text}{noise}", role if significant else Role.MUTED))
    return tuple(spans)


def _plus_minus(symbols: Symbols) -> str:
    return "+-" if symbols is Symbols.ASCII else "±"


def _widths(rows: Sequence[_TableRow], count: int) -> list[int]:
    """Return the cells of the names of the rows, and of the columns of `count` runs."""
    return [
        min(max(cell_width(name) for (name, _), _ in rows), _NAME),
        *(max(row_width(cells[i]) for _, cells in rows) for i in range(count)),
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(widths) * row_width((_GAP,))


def _join(name: Span, cells: Sequence[Row], widths: Sequence[int]) -> Row:
    spans: list[Span] = [_GAP, (fit(name[0], widths[0], "ends"), name[1])]
    for cell, width in zip(cells, widths[1:], strict=True):
        spans += [_GAP, *cell, (" " * (width - row_width(cell)), Role.MUTED)]
    return tuple(spans)
