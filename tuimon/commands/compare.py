"""`tuimon compare PATH…`: compare runs metric by metric."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._output import add_force, check_html_suffix, directory, open_output
from tuimon.commands._reading import in_order, read_logs
from tuimon.commands._shared import (
    add_json,
    add_metrics,
    add_paths,
    add_show_secrets,
    add_smooth,
    checked_paths,
    chosen_metrics,
    option_number,
    terminal_width,
)
from tuimon.commands._stderr import count_of, interruptible, print_status
from tuimon.errors import UsageError
from tuimon.text import clean, first_names

if TYPE_CHECKING:
    from tuimon.analysis.comparison_rows import MetricRows
    from tuimon.panels.lists.comparison import Comparison
    from tuimon.store import Run

_MAX_PICTURES = 60
_MOST_NAMED = 3
"""Maximum number of runs that an error message names."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, nargs="+")
    add_metrics(parser)
    parser.add_argument("--all", action="store_true", help="every metric in full, and settings that do not differ")
    add_json(parser)
    parser.add_argument("--html", metavar="FILE", help="write one HTML file, with the curves of all runs in each chart")
    parser.add_argument("--pictures", metavar="DIR", help="write DIR/comparison_<metric>.png (needs matplotlib)")
    parser.add_argument(
        "--table",
        metavar="FILE",
        help="write level, SD and SE of each run, or of runs that differ only in their seed (.csv or .tex)",
    )
    parser.add_argument(
        "--best", action="store_true", help="compare the best value of each run instead of the level at its end"
    )
    parser.add_argument(
        "--reaches",
        type=_value,
        metavar="VALUE",
        help="step, or position on --x, at which each run first reaches this reward (or loss); of a single run, too",
    )
    parser.add_argument(
        "--x",
        default="step",
        metavar="AXIS",
        help="compare at equal values of this axis: step (default), time (since the start), epoch, samples, tokens, or"
        " metric:NAME",
    )
    add_smooth(parser)
    add_force(parser)
    add_show_secrets(parser)


@interruptible("interrupted before the comparison was complete")
def _run(options: argparse.Namespace) -> int:
    from tuimon.panels.lists.comparison import compare

    table_form = _table_form(options.table)
    if options.smooth and not options.pictures:
        raise UsageError("--smooth needs --pictures", "Nothing else of a comparison is smoothed; leave --smooth out.")
    if options.html:
        check_html_suffix(options.html, "comparison in HTML", "Pictures: --pictures DIR.")
    paths = checked_paths(options.paths, options=options)
    snapshot = read_logs(paths).snapshot()
    runs = in_order(snapshot.runs, paths)
    alone = len(runs) == 1 and options.reaches is not None and not (options.pictures or options.html or table_form)
    if len(runs) < 2 and not alone:
        names = ", ".join(clean(run.name) for run in runs)
        raise UsageError(
            f"need at least two runs to compare; found one: {names}", "Name two runs, or a directory of several."
        )
    _check_axis(runs, options.x)
    selected, code = chosen_metrics(options.metric, runs)
    comparison = compare(
        runs, selected, options.show_secrets, snapshot.alerts, options.reaches, options.x, options.best
    )
    main = comparison.main
    if options.best and main is not None and main.kind != "best":
        raise UsageError(
            f"--best: neither higher nor lower is known to be better for {clean(main.name)}",
            "Choose another metric with --metric.",
        )
    if options.pictures:
        _write_pictures(comparison, options)
    if options.html:
        from tuimon.exports.html.comparison import as_html

        with open_output(options.html, options.force) as stream:
            stream.write(as_html(comparison, time.time()).encode("utf-8", "backslashreplace"))
        print_status(f"wrote {clean(options.html)}")
    if table_form is not None:
        if main is None:
            raise UsageError("no table: the runs have no metric in common", "Choose other runs.")
        with open_output(options.table, options.force) as stream:
            stream.write(table_form(comparison, main).encode("utf-8", "backslashreplace"))
        print_status(f"wrote {clean(options.table)}")
    if options.pictures or options.html or options.table:
        return code
    if options.json:
        from tuimon.exports.compare_json import as_json

        sys.stdout.write(as_json(comparison, time.time()) + "\n")
    elif alone:
        from tuimon.exports.compare import reached_sentence

        sys.stdout.write(reached_sentence(comparison) + "\n")
    else:
        from tuimon.exports.compare import as_text

        sys.stdout.write("\n".join(as_text(comparison, time.time(), terminal_width(), options.all)) + "\n")
    return code


def _check_axis(runs: Sequence[Run], x: str) -> None:
    """Raise UsageError unless all runs have the axis."""
    from tuimon.analysis.comparison_axis import AXES, own_axis

    without = [clean(run.name) for run in runs if not run.has_axis(own_axis(x))]
    if without:
        common = [axis for axis in AXES if all(run.has_axis(own_axis(axis)) for run in runs)]
        have = "has" if len(without) == 1 else "have"
        raise UsageError(
            f"cannot compare along {clean(x)}: {first_names(without, _MOST_NAMED)} {have} no such axis",
            f"Axes of all of these runs: {', '.join(common)}, and metric:NAME for a metric that does not fall.",
        )


def _value(text: str) -> float:
    value = option_number(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number")
    return value


def _table_form(name: str | None) -> Callable[[Comparison, MetricRows], str] | None:
    """Return the function that writes the table; None without a file. Raise UsageError for another suffix."""
    if name is None:
        return None
    from tuimon.exports.compare import as_csv, as_latex

    forms = {".csv": as_csv, ".tex": as_latex}
    if (form := forms.get(os.path.splitext(name)[1].lower())) is None:
        raise UsageError(f"cannot write {clean(name)}: the table is CSV or LaTeX", "Suffixes: .csv, .tex.")
    return form


def _write_pictures(comparison: Comparison, options: argparse.Namespace) -> None:
    from msgspec.structs import replace

    from tuimon.exports._across_runs import MOST_LINES
    from tuimon.exports._shared import SafeNames
    from tuimon.exports.files.pictures import picture_across
    from tuimon.exports.pictures import draw_charts
    from tuimon.model.views import Symbols
    from tuimon.panels import overlay_lines

    shared = [
        metric
        for metric in comparison.metrics
        # progress metrics (e.g. epoch) are drawn only on request: their curves are the same in all runs
        if sum(own is not None for own in metric.curves) > 1 and (options.metric or metric.meaning.panel != "progress")
    ]
    names = SafeNames()
    if not options.metric and len(shared) > _MAX_PICTURES:
        print_status(
            f"writing {_MAX_PICTURES} of {len(shared)} pictures; choose metrics with --metric, all with --metric '*'"
        )
        shared = shared[:_MAX_PICTURES]
    runs = comparison.runs
    failed = {run.id for run, failure in zip(runs, comparison.failures, strict=True) if failure}
    lines = overlay_lines(runs, runs, True, Symbols.BRAILLE, failed=failed) if comparison.has_groups else ()
    for metric in shared:
        order = [*metric.ranked, *(row for row in metric.rows if not row.rank and not row.left_out)]
        best = {run for row in order[:MOST_LINES] for run in row.runs}
        left = max(len(order) - MOST_LINES, 0)
        curves = [curve if run in best else None for run, curve in enumerate(metric.curves)]
        path = os.path.join(directory(options.pictures), f"comparison_{names.name(_file_name(metric))}.png")
        with open_output(path, options.force) as stream:
            picture = picture_across(metric.name, runs, curves, lines, failed, comparison.axis)
            if left:
                some = "best" if metric.better else "first"
                picture = replace(picture, title=f"the {some} {len(picture.series)}, {left} more are not drawn")
            draw_charts([picture], stream, "png", options.smooth)
    print_status(f"wrote {count_of(len(shared), 'picture')} to {clean(options.pictures)}")


def _file_name(metric: MetricRows) -> str:
    """Return the name as all runs log it, else the words that the names have in common."""
    from tuimon.exports.files.pictures import base_name
    from tuimon.vocabulary.names import section_of

    logged = {curve.metric for curve in metric.curves if curve is not None}
    if len(logged) == 1:
        return section_of(metric.name)[1]
    return ("val_" if metric.meaning.split == "val" else "") + base_name(metric.name)


_EXAMPLES = """\
  tuimon compare outputs/a outputs/b             which run is better by more than noise, which settings differ
  tuimon compare 'outputs/*/training_log.json' --html comparison_report.html
  tuimon compare sweep/ --reaches 0.6            the step at which each run reaches the reward 0.6
  tuimon compare sweep/ --x time                 the same at equal durations instead of equal steps
  tuimon compare sweep/ --metric '*reward*' --pictures plots/
"""
COMMAND = Command("compare", "compare runs: which is better, and which settings differ", _arguments, _run, _EXAMPLES)
