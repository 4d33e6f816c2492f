"""`tuimon report PATH… -o report.html`: runs as one HTML file, for which neither network nor script is needed."""

from __future__ import annotations

import argparse
import sys
import time

from tuimon.commands import EXIT_OK, Command
from tuimon.commands._output import add_force, text_output
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import UsageError
from tuimon.text import clean


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, many="+")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to; - is standard output (default)")
    add_force(parser)
    parser.add_argument("--show-secrets", action="store_true", help="show API keys and passwords of the config")


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.report import as_html
    from tuimon.monitor.local import open_run

    if options.output == "-" and sys.stdout.isatty():
        raise UsageError("a page of HTML is nothing for a terminal", "name a file: -o report.html")
    snapshot = open_run(*checked_paths(options.paths))
    with text_output(options.output, options.force) as stream:
        stream.write(as_html(snapshot, time.time(), options.show_secrets))
    if options.output != "-":
        say(f"tuimon: the report is in {clean(options.output)}")
    return EXIT_OK


_EXAMPLES = """\
  tuimon report RUN -o report.html               curves, phase latency, memory, alerts, config in one file
  tuimon report sweep/ -o report.html            several runs, one after the other
"""
COMMAND = Command("report", "runs as one HTML file that needs no network and no script", _arguments, _run, _EXAMPLES)
