"""`tuimon at PATH --step N`: all metrics around one step, and which of them are out of the ordinary there."""

from __future__ import annotations

import argparse
import shutil
import sys

from tuimon.commands import EXIT_OK, Command
from tuimon.commands._shared import add_paths, checked_paths


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--step", type=int, required=True, metavar="N", help="the step")
    parser.add_argument("--unusual", action="store_true", help="only what is out of the ordinary there")
    parser.add_argument("--json", action="store_true", help='for programs: one object, "schema": 1')


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.around import as_json, as_text
    from tuimon.monitor.local import open_run

    snapshot = open_run(*checked_paths(options.paths))
    if options.json:
        sys.stdout.write(as_json(snapshot.runs, options.step) + "\n")
        return EXIT_OK
    width = max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None
    for number, run in enumerate(snapshot.runs):
        if number:
            print()
        print("\n".join(as_text(run, options.step, width, options.unusual)))
    return EXIT_OK


_EXAMPLES = """\
  tuimon at RUN --step 1200                      every metric there, with its neighbours
  tuimon at RUN --step 1200 --unusual            only what stands out from the points before
"""
COMMAND = Command("at", "all metrics around one step", _arguments, _run, _EXAMPLES)
