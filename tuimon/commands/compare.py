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
from tuimon.commands._output import add_force, text_output
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.store import Run


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, many="+")
    parser.add_argument("--metric", action="append", default=[], metavar="PATTERN", help="only these; may be repeated")
    parser.add_argument("--all", action="store_true", help="every metric in full, and the settings that are the same")
    parser.add_argument("--json", action="store_true", help='for programs: one object, "schema": 1')
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML file, with the curves over each other")
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
    if options.html:
        from tuimon.exports.compare_html import as_html

        with text_output(options.html, options.force) as stream:
            stream.write(as_html(found, time.time()))
        say(f"tuimon: the comparison is in {options.html}")
    elif options.json:
        from tuimon.exports.compare_json import as_json

        sys.stdout.write(as_json(found, time.time()) + "\n")
    else:
        from tuimon.exports.compare import as_text

        width = max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None
        sys.stdout.write("\n".join(as_text(found, time.time(), width, options.all)) + "\n")
    return EXIT_OK


def in_order(runs: Sequence[Run], paths: Sequence[str]) -> list[Run]:
    """The runs in the order in which their paths were named."""
    named = [os.path.abspath(path) for path in paths]

    def place(run: Run) -> int:
        below = (at for at, path in enumerate(named) if run.path == path or f"{run.path}/".startswith(f"{path}/"))
        return next(below, next((at for at, path in enumerate(named) if path.startswith(f"{run.path}/")), len(named)))

    return sorted(runs, key=place)


COMMAND = Command("compare", "runs side by side: who is ahead, and what differs", _arguments, _run)
