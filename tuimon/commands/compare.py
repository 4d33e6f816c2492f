"""`tuimon compare PATH…`: compare runs metric by metric."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._options import FORCE, JSON, METRICS, SOME_PATHS, between
from tuimon.commands._output import open_output
from tuimon.commands._shared import checked_paths, chosen_metrics, in_order, print_problems, read_logs, terminal_width
from tuimon.commands._stderr import interruptible, print_status
from tuimon.errors import UsageError
from tuimon.text import clean, first_names

if TYPE_CHECKING:
    from tuimon.panels.lists.comparison import Comparison
    from tuimon.store import Run

_MOST_NAMED = 3
"""Maximum number of runs that an error message names."""


_OPTIONS = f"""\
{SOME_PATHS}{METRICS}--all  every metric in full, and settings that do not differ
--baseline RUN  add the distance of each row to this run, or group of seeds, in standard errors
--best  compare the best value of each run instead of its level
--reaches VALUE  where (step, or --x) each run first reaches this reward (or loss); one run is enough
--x AXIS  compare at equal step (default), time (since the start), epoch, samples, tokens, or metric:NAME
-o FILE  write a page (.html), or the rows of the metric that decides (.csv, .tex)
{FORCE}{JSON}"""


@interruptible("interrupted before the comparison was complete")
def _run(options: argparse.Namespace) -> int:
    from tuimon.exports import compare as exports
    from tuimon.exports.documents import dumps
    from tuimon.panels.lists.comparison import compare

    write = _form(options.output)
    paths = checked_paths(options.paths, options=options)
    monitor = read_logs(paths)
    print_problems(monitor)
    snapshot = monitor.snapshot()
    runs = in_order(snapshot.runs, paths)
    alone = len(runs) == 1 and options.reaches is not None and write is None
    if len(runs) < 2 and not alone:
        names = ", ".join(clean(run.name) for run in runs)
        message = f"need at least two runs to compare; found one: {names}"
        raise UsageError(message, "Name two runs, or a directory of several.")
    _check_axis(runs, options.x)
    selected, code = chosen_metrics(options.metric, runs)
    comparison = compare(runs, selected, snapshot.alerts, options.reaches, options.x, options.best)
    main = comparison.main
    if options.best and main is not None and main.kind != "best":
        message = f"--best: neither higher nor lower is known to be better for {clean(main.name)}"
        raise UsageError(message, "Choose another metric with --metric.")
    if write is not None:
        if main is None:
            raise UsageError("the runs have no metric in common", "Choose other runs.")
        with open_output(options.output, options.force) as stream:
            stream.write(write(comparison).encode("utf-8", "backslashreplace"))
        print_status(f"wrote {clean(options.output)}")
    elif options.json:
        from tuimon.exports.compare import comparison_document

        print(dumps(comparison_document(comparison, time.time())))
    elif alone:
        print(exports.reached_sentence(comparison))
    else:
        lines = exports.as_text(comparison, time.time(), terminal_width(), options.all, options.baseline)
        print("\n".join(lines))
    return code


def _form(name: str | None) -> Callable[[Comparison], str] | None:
    """Return the function that makes the text of a file; None without a file. Raise UsageError for another suffix."""
    if name is None:
        return None
    match os.path.splitext(name)[1].lower():
        case ".html" | ".htm":
            from tuimon.exports.html.comparison import as_html

            return lambda comparison: as_html(comparison, time.time())
        case ".csv":
            from tuimon.exports.compare import as_csv

            return as_csv
        case ".tex":
            from tuimon.exports.compare import as_latex

            return as_latex
    raise UsageError(
        f"cannot write {clean(name)}: a comparison is HTML, CSV or LaTeX",
        "Suffixes: .html, .csv, .tex. Pictures: `tuimon export RUN1 RUN2 -o fig.png`.",
    )


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


_EXAMPLES = """\
  tuimon compare outputs/a outputs/b             which run is better by more than noise, which settings differ
  tuimon compare sweep/ -o sweep.html            tables, and charts with the curves of all runs
  tuimon compare sweep/ --reaches 0.6            the step at which each run reaches the reward 0.6
  tuimon compare sweep/ --metric '*reward*' --best
"""
_VALUES = {"--reaches": {"type": between(-math.inf)}, "--x": {"default": "step"}, "--baseline": {"default": ""}}
_HELP = "compare runs: which is better, and which settings differ"
COMMAND = Command("compare", _HELP, _OPTIONS, _run, _EXAMPLES, _VALUES)
