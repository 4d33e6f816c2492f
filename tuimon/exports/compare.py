"""Runs side by side as text: where their configs differ, and for each metric who is ahead, and by more than noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration
from tuimon.draw.numbers import format_value
from tuimon.exports._comparison import MISSING, Comparison, MetricComparison
from tuimon.exports._settings import flat, opened, shown
from tuimon.exports._table import Column, no_room, table, wrapped
from tuimon.exports.summary import label_of
from tuimon.text import clean, shown_path

_RANKED = 6
"""Metrics that are told in full without --all."""
_CELL = 24


def as_text(found: Comparison, now: float, width: int | None = None, full: bool = False) -> Iterator[str]:
    """Lines for a person, in `width` cells (None: as many as it takes). full: every metric in full, every setting."""
    names = [clean(label) for label in found.labels]
    told = [progress_of(run, now) for run in found.runs]
    yield from table(
        f"{len(names)} runs",
        names,
        [
            Column("state", [one.state for one in told], left=True),
            Column("step", ["" if one.step is None else str(one.step) for one in told]),
            Column("path", [shown_path(run.path) for run in found.runs], need=1, left=True),
        ],
        width,
        indent=0,
    )
    yield from _config(found, names, width, full)
    ranked = [metric for metric in found.metrics if metric.shared > 1 and (full or metric.better)]
    in_full = ranked if full else ranked[:_RANKED]
    left_out: list[str] = []
    for metric in in_full:
        yield ""
        yield from _metric(metric, names, width, left_out.append)
    if in_full:
        yield ""
        meaning = "level: mean of the last tenth of the points; ranks are by level, = where noise explains the distance"
        yield from wrapped(meaning, width)
    if rest := [metric for metric in found.metrics if metric not in in_full]:
        yield ""
        cells = [[format_value(e.summary.last) if e else "" for e in metric.entries] for metric in rest]
        yield from _by_run("Last values", [clean(metric.name) for metric in rest], cells, names, width)
    yield from _checkpoints(found, names, width)
    yield from no_room(left_out, width)


def _config(found: Comparison, names: Sequence[str], width: int | None, full: bool) -> Iterator[str]:
    rows = [(clean(name), [shown(value, _CELL) for value in values]) for name, values in found.differences]
    if full:
        rows += [(clean(name), [shown(value, _CELL)] * len(names)) for name, value in found.same]
    if rows:
        yield ""
        title = "Configuration" if full else "Configuration that differs"
        yield from _by_run(title, [name for name, _ in rows], [cells for _, cells in rows], names, width)
    if found.same and not full:
        if not rows:
            yield ""
        yield f"  {len(found.same)} setting{'s are' if len(found.same) != 1 else ' is'} the same (--all shows them)"
    elif not rows and not found.same:
        yield ""
        yield "  no run tells its configuration"


def _metric(
    metric: MetricComparison, names: Sequence[str], width: int | None, left_out: Callable[[str], None]
) -> Iterator[str]:
    pairs = [(name, entry) for name, entry in zip(names, metric.entries, strict=True) if entry is not None]
    if metric.better:
        pairs.sort(key=lambda pair: pair[1].rank or len(pairs) + 1)
    entries = [entry for _, entry in pairs]
    columns = [Column("last", [format_value(e.summary.last) for e in entries])]
    if metric.better:
        columns.insert(0, Column("rank", [f"{e.rank}{'=' * e.tied}" if e.rank else "" for e in entries]))
        tops = [entry.summary.best for entry in entries]
        columns.append(Column("best", [format_value(top[1]) if top else "" for top in tops]))
        columns.append(Column("at", [str(top[0]) if top else "" for top in tops], need=5))
    columns.append(Column("level", [format_value(e.level.value) for e in entries], need=1))
    columns.append(Column("± error", [_error(e.level.error) for e in entries], need=2))
    if metric.common_step is not None:
        columns.append(Column(f"step {metric.common_step}", [format_value(e.at_step) for e in entries], need=3))
    if math.isfinite(metric.common_seconds):
        after = f"after {duration(metric.common_seconds)}"
        columns.append(Column(after, [format_value(e.at_time) for e in entries], need=4))
    columns.append(Column("mean", [format_value(e.summary.numbers.mean) for e in entries], need=6))
    columns.append(Column("deviation", [format_value(e.summary.numbers.deviation) for e in entries], need=7))
    columns.append(Column("trend", [e.summary.trend.direction for e in entries], need=8, left=True))
    better = f", {metric.better} is better" if metric.better else ""
    label = label_of(metric.meaning)
    yield f"{clean(metric.name)}" + (f"  ({label}{better})" if label != metric.name else better)
    yield from table("run", [name for name, _ in pairs], columns, width, left_out=left_out)


def _error(error: float) -> str:
    return format_value(error) if math.isfinite(error) else ""


def _checkpoints(found: Comparison, names: Sequence[str], width: int | None) -> Iterator[str]:
    told = [dict(flat(opened(run.best_checkpoint or run.final_metrics))) for run in found.runs]
    keys = list(dict.fromkeys(key for one in told for key in one))
    if keys:
        yield ""
        cells = [[shown(one[key], _CELL) if key in one else "" for one in told] for key in keys]
        yield from _by_run("Best checkpoint", [clean(key) for key in keys], cells, names, width)


def _by_run(
    title: str, names: Sequence[str], cells: Sequence[Sequence[str]], runs: Sequence[str], width: int | None
) -> Iterator[str]:
    """A column a run; as many tables, one below the other, as the runs need."""
    columns = [Column(run[-_CELL:], [row[at] for row in cells]) for at, run in enumerate(runs)]
    room = math.inf if width is None else width - 2 - min(max(map(len, (title, *names))), 28)
    parts: list[list[Column]] = [[]]
    for column in columns:
        if parts[-1] and sum(2 + one.width for one in (*parts[-1], column)) > room:
            parts.append([])
        parts[-1].append(column)
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from table(title, names, part, width)


__all__ = ["MISSING", "as_text"]
