"""`tuimon schema NAME`: print the JSON Schema of the JSON output of a command."""

from __future__ import annotations

import argparse
import sys

from tuimon.commands import Command
from tuimon.errors import ExitCode, UsageError
from tuimon.text import clean


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the command; without it: list the commands")


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.schemas import schema_names, schema_text

    names = schema_names()
    if options.name is None:
        print("\n".join(names))
        return ExitCode.OK
    if options.name not in names:
        raise UsageError(f"no schema of {clean(options.name)}", f"There are schemas of: {', '.join(names)}.")
    sys.stdout.write(schema_text(options.name))
    return ExitCode.OK


_EXAMPLES = """\
  tuimon schema                                  the commands whose JSON has a schema
  tuimon schema summary                          the JSON Schema of what summary --json prints
"""
COMMAND = Command("schema", "print the JSON Schema of a command's --json", _arguments, _run, _EXAMPLES)
