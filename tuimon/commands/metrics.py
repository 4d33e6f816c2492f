"""`tuimon metrics PATH`: print state and last values of runs as OpenMetrics text, for Prometheus."""

from __future__ import annotations

import argparse
import time

from tuimon.commands import Command
from tuimon.commands._output import add_force, open_output
from tuimon.commands._shared import add_paths, checked_paths
from tuimon.errors import ExitCode


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write FILE, which appears when complete")
    add_force(parser)


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.open_metrics import as_text
    from tuimon.monitor.local import open_run

    snapshot = open_run(*checked_paths(options.paths, options=options))
    with open_output(options.output, options.force) as stream:
        for line in as_text(snapshot, time.time()):
            stream.write(line.encode() + b"\n")
    return ExitCode.OK


_EXAMPLES = """\
  tuimon metrics RUN                             state, step, ETA, alerts and the last value of every metric
  tuimon metrics RUN -o run.prom --force         a file for node_exporter's textfile collector
"""
COMMAND = Command("metrics", "print state and last values as OpenMetrics text", _arguments, _run, _EXAMPLES)
