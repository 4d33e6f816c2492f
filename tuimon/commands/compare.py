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
    from tuimon.analysis.seed_means import SeedMeans
    from tuimon.exports.comparison import Comparison, MetricComparison
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
        help="write mean, SD and SE of runs that differ only in their seed or fold (.csv or .tex)",
    )
    parser.add_argument(
        "--best", action="store_true", help="mean, SD and SE of the best value of each run instead of its last level"
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
    from tuimon.exports.comparison import compare

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
    if options.best and comparison.seeds is not None and comparison.best_seeds is None:
        raise UsageError(
            f"--best: neither higher nor lower is known to be better for {clean(comparison.seeds.metric.name)}",
            "Choose another metric with --metric.",
        )
    if options.best and comparison.table is None:
        print_status("--best has no effect: no two of the runs differ only in their seed or fold")
    if options.pictures:
        _write_pictures(comparison, options)
    if options.html:
        from tuimon.exports.html.comparison import as_html

        with open_output(options.html, options.force) as stream:
            stream.write(as_html(comparison, time.time()).encode("utf-8", "backslashreplace"))
        print_status(f"wrote {clean(options.html)}")
    if table_form is not None:
        if (seeds := comparison.table) is None:
            raise UsageError(
                "no table of seeds: no two of the runs differ only in their seed or fold",
                "It must be a setting of the runs, such as `seed: 1` in config.yaml, or in their names (x_s0, fold_0).",
            )
        with open_output(options.table, options.force) as stream:
            stream.write(table_form(seeds, comparison.labels).encode("utf-8", "backslashreplace"))
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


def _table_form(name: str | None) -> Callable[[SeedMeans, Sequence[str]], str] | None:
    """Return the function that writes the table of seeds; None without a file. Raise UsageError for another suffix."""
    if name is None:
        return None
    from tuimon.exports.seed_table import as_csv, as_latex

    forms = {".csv": as_csv, ".tex": as_latex}
    if (form := forms.get(os.path.splitext(name)[1].lower())) is None:
        raise UsageError(f"cannot write {clean(name)}: the table is CSV or LaTeX", "Suffixes: .csv, .tex.")
    return form


def _write_pictures(comparison: Comparison, options: argparse.Namespace) -> None:
    from msgspec.structs import replace

    from tuimon.exports._shared import SafeNames
    from tuimon.exports.files.pictures import picture_across
    from tuimon.exports.pictures import draw_charts
    from tuimon.model.views import Symbols
    from tuimon.panels import overlay_lines

    shared = [
        metric
        for metric in comparison.metrics
        # progress metrics (e.g. epoch) are drawn only on request: their curves are the same in all runs
        if metric.shared > 1 and (options.metric or metric.meaning.panel != "progress")
    ]
    names = SafeNames()
    if not options.metric and len(shared) > _MAX_PICTURES:
        print_status(
            f"writing {_MAX_PICTURES} of {len(shared)} pictures; choose metrics with --metric, all with --metric '*'"
        )
        shared = shared[:_MAX_PICTURES]
    runs = comparison.runs
    failed = {run.id for run, failure in zip(runs, comparison.failures, strict=True) if failure}
    lines = overlay_lines(runs, runs, True, Symbols.BRAILLE, failed=failed)
    lines = lines if any(len(line.runs) > 1 for line in lines) else ()
    for metric in shared:
        best, left = _best(metric, [line.runs for line in lines] or [(run,) for run in runs], runs)
        curves = [
            entry.summary.curve if entry and run.id in best else None
            for run, entry in zip(runs, metric.entries, strict=True)
        ]
        path = os.path.join(directory(options.pictures), f"comparison_{names.name(_file_name(metric))}.png")
        with open_output(path, options.force) as stream:
            picture = picture_across(metric.name, runs, curves, lines, failed, comparison.axis)
            if left:
                some = "best" if metric.better else "first"
                picture = replace(picture, title=f"the {some} {len(picture.series)}, {left} more are not drawn")
            draw_charts([picture], stream, "png", options.smooth)
    print_status(f"wrote {count_of(len(shared), 'picture')} to {clean(options.pictures)}")


def _best(metric: MetricComparison, groups: Sequence[Sequence[Run]], runs: Sequence[Run]) -> tuple[frozenset[int], int]:
    """Return the ids of the runs of the best groups, as many as a picture has lines, and the number of other groups."""
    from tuimon.exports._across_runs import MOST_LINES

    ranks = {
        run.id: entry.rank or len(runs) + 1
        for run, entry in zip(runs, metric.entries, strict=True)
        if entry is not None
    }
    known = [ids for group in groups if (ids := [run.id for run in group if run.id in ranks])]
    known.sort(key=lambda ids: min(ranks[id] for id in ids))
    return frozenset(id for ids in known[:MOST_LINES] for id in ids), max(len(known) - MOST_LINES, 0)


def _file_name(metric: MetricComparison) -> str:
    """Return the name as all runs log it, else the words that the names have in common."""
    from tuimon.exports.files.pictures import base_name
    from tuimon.vocabulary.names import section_of

    logged = {entry.summary.name for entry in metric.entries if entry}
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
