"""`tuimon compare PATH…`: compare runs metric by metric."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._output import add_force, directory, open_output
from tuimon.commands._reading import read_logs
from tuimon.commands._shared import (
    add_json,
    add_metrics,
    add_paths,
    add_show_secrets,
    checked_paths,
    chosen_metrics,
    terminal_width,
)
from tuimon.commands._stderr import count_of, interruptible, print_status
from tuimon.errors import ExitCode, UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.exports.comparison import Comparison
    from tuimon.store import Run

_MAX_PICTURES = 60
_SMOOTH = 0.9
"""Smoothing weight of the curves in pictures."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, nargs="+")
    add_metrics(parser)
    parser.add_argument("--all", action="store_true", help="every metric in full, and settings that do not differ")
    add_json(parser)
    parser.add_argument("--html", metavar="FILE", help="write one HTML file, with the curves of all runs in each chart")
    parser.add_argument("--pictures", metavar="DIR", help="write DIR/comparison_<metric>.png (needs matplotlib)")
    add_force(parser)
    add_show_secrets(parser)


@interruptible("interrupted before the comparison was complete")
def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.comparison import compare

    paths = checked_paths(options.paths, options=options)
    runs = in_order(read_logs(paths).snapshot().runs, paths)
    if len(runs) < 2:
        names = ", ".join(clean(run.name) for run in runs)
        raise UsageError(
            f"need at least two runs to compare; found one: {names}", "Name two runs, or a directory of several."
        )
    selected = chosen_metrics(options.metric, runs) if options.metric else None
    comparison = compare(runs, selected, options.show_secrets)
    if options.pictures:
        _write_pictures(comparison, options)
    if options.html:
        from tuimon.exports.html.comparison import as_html

        with open_output(options.html, options.force) as stream:
            stream.write(as_html(comparison, time.time()).encode("utf-8", "backslashreplace"))
        print_status(f"wrote {clean(options.html)}")
    if options.pictures or options.html:
        return ExitCode.OK
    if options.json:
        from tuimon.exports.compare_json import as_json

        sys.stdout.write(as_json(comparison, time.time()) + "\n")
    else:
        from tuimon.exports.compare import as_text

        sys.stdout.write("\n".join(as_text(comparison, time.time(), terminal_width(), options.all)) + "\n")
    return ExitCode.OK


def _write_pictures(comparison: Comparison, options: argparse.Namespace) -> None:
    from tuimon.exports._shared import SafeNames
    from tuimon.exports.files.pictures import base_name
    from tuimon.exports.pictures import Series, draw

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
    for metric in shared:
        pairs = zip(comparison.labels, metric.entries, strict=True)
        series = [Series(label, entry.summary.curve) for label, entry in pairs if entry]
        half = "val_" if metric.meaning.split == "val" else ""
        path = os.path.join(directory(options.pictures), f"comparison_{names.name(half + base_name(metric.name))}.png")
        with open_output(path, options.force) as stream:
            draw(series, metric.name, metric.name, stream, "png", _SMOOTH)
    print_status(f"wrote {count_of(len(shared), 'picture')} to {clean(options.pictures)}")


def in_order(runs: Sequence[Run], paths: Sequence[str]) -> list[Run]:
    """Return the runs in the order of the paths they were found below."""
    from tuimon.monitor.piped import shown_names

    roots = shown_names(paths)

    def position(run: Run) -> int:
        inside = (i for i, root in enumerate(roots) if run.path == root or f"{run.path}/".startswith(f"{root}/"))
        around = (i for i, root in enumerate(roots) if root.startswith(f"{run.path}/"))
        return next(inside, next(around, len(roots)))

    return sorted(runs, key=position)


_EXAMPLES = """\
  tuimon compare outputs/a outputs/b             which run is better by more than noise, which settings differ
  tuimon compare 'outputs/*/training_log.json' --html comparison_report.html
  tuimon compare sweep/ --metric '*reward*' --pictures plots/
"""
COMMAND = Command("compare", "compare runs: which is better, and which settings differ", _arguments, _run, _EXAMPLES)
