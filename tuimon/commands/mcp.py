"""`tuimon mcp PATH…`: answer an agent over the Model Context Protocol (stdin, stdout)."""

from __future__ import annotations

import argparse

from tuimon.commands import Command
from tuimon.commands._options import PATHS
from tuimon.commands._shared import checked_paths, live_monitor, missing_extra
from tuimon.errors import ExitCode


def _run(options: argparse.Namespace) -> int:
    try:
        from tuimon.agent.server import server_of
    except ModuleNotFoundError as error:
        raise missing_extra(error, "the server for agents needs the package mcp", "mcp") from error
    from tuimon.agent.answers import Answers
    from tuimon.monitor import load_settings

    settings = load_settings()
    monitor = live_monitor(checked_paths(options.paths, live=True, options=options), settings)
    monitor.start()
    try:
        server_of(Answers(monitor.checked_snapshot, settings.console_patterns)).run("stdio")
    finally:
        monitor.close()
    return ExitCode.OK


_EXAMPLES = """\
  tuimon mcp RUN                                 the command that the settings of an agent name
"""
COMMAND = Command("mcp", "answer an agent over the Model Context Protocol", PATHS, _run, _EXAMPLES)
