"""`tuimon compare PATH…`: runs side by side."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands import EXIT_OK, Command
from tuimon.commands._output import add_force, byte_output, directory, text_output
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.exports._comparison import Comparison
    from tuimon.store import Run

_MOST_PICTURES = 60
_SMOOTH = 0.9
"""Weight of the smoothed lines of pictures."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, many="+")
    parser.add_argument("--metric", action="append", default=[], metavar="PATTERN", help="only these; may be repeated")
    parser.add_argument("--all", action="store_true", help="every metric in full, and the settings that are the same")
    parser.add_argument("--json", action="store_true", help='for programs: one object, "schema": 1')
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML file, with the curves over each other")
    parser.add_argument("--pictures", metavar="DIR", help="write comparison_<metric>.png there (needs matplotlib)")
    add_force(parser)
    parser.add_argument("--show-secrets", action="store_true", help="show API keys and passwords of the config")


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports._comparison import compare
    from tuimon.monitor.local import open_run

    paths = checked_paths(options.paths)
    runs = in_order(open_run(*paths).runs, paths)
    if len(runs) < 2:
        names = ", ".join(clean(run.name) for run in runs)
        raise UsageError(
            f"there is nothing to compare: one run is there, {names}", "name two runs, or a directory of them"
        )
    found = compare(runs, options.metric, options.show_secrets)
    if not found.metrics and options.metric:
        raise UsageError(
            f"no metric is called {clean(', '.join(options.metric))}", "`tuimon summary` names all of them"
        )
    if options.pictures:
        _pictures(found, options)
    if options.html:
        from tuimon.exports.compare_html import as_html

        with text_output(options.html, options.force) as stream:
            stream.write(as_html(found, time.time()))
        say(f"tuimon: the comparison is in {clean(options.html)}")
    if options.pictures or options.html:
        return EXIT_OK
    if options.json:
        from tuimon.exports.compare_json import as_json

        sys.stdout.write(as_json(found, time.time()) + "\n")
    else:
        from tuimon.exports.compare import as_text

        width = max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None
        sys.stdout.write("\n".join(as_text(found, time.time(), width, options.all)) + "\n")
    return EXIT_OK


def _pictures(found: Comparison, options: argparse.Namespace) -> None:
    from tuimon.exports._names import SafeNames
    from tuimon.exports._pictures import Series, draw
    from tuimon.exports.files.pictures import base_name

    shared = [
        metric
        for metric in found.metrics
        # an epoch against its steps tells nothing, unless it is asked for
        if metric.shared > 1 and (options.metric or metric.meaning.panel != "progress")
    ]
    names = SafeNames()
    if not options.metric and len(shared) > _MOST_PICTURES:
        say(f"tuimon: {_MOST_PICTURES} of {len(shared)} pictures; --metric PATTERN chooses, --metric '*' draws all")
        shared = shared[:_MOST_PICTURES]
    for metric in shared:
        pairs = zip(found.labels, metric.entries, strict=True)
        series = [Series(label, entry.summary.curve) for label, entry in pairs if entry]
        half = "val_" if metric.meaning.split == "val" else ""
        path = os.path.join(directory(options.pictures), f"comparison_{names.name(half + base_name(metric.name))}.png")
        with byte_output(path, options.force) as stream:
            draw(series, metric.name, metric.name, stream, "png", _SMOOTH)
    say(f"tuimon: {len(shared)} picture{'s' * (len(shared) != 1)} in {clean(options.pictures)}")


def in_order(runs: Sequence[Run], paths: Sequence[str]) -> list[Run]:
    """The runs in the order in which their paths were named."""
    from tuimon.monitor.piped import NAME, Piped

    named = [NAME if isinstance(path, Piped) else os.path.abspath(path) for path in paths]

    def place(run: Run) -> int:
        below = (at for at, path in enumerate(named) if run.path == path or f"{run.path}/".startswith(f"{path}/"))
        return next(below, next((at for at, path in enumerate(named) if path.startswith(f"{run.path}/")), len(named)))

    return sorted(runs, key=place)


_EXAMPLES = """\
  tuimon compare outputs/a outputs/b             who is ahead by more than noise, what differs in their configs
  tuimon compare 'outputs/*/training_log.json' --html comparison_report.html
  tuimon compare sweep/ --metric '*reward*' --pictures plots/
"""
COMMAND = Command("compare", "runs side by side: who is ahead, and what differs", _arguments, _run, _EXAMPLES)
