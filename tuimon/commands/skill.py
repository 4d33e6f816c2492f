"""`tuimon skill`: print for an agent which command answers which question."""

from __future__ import annotations

import argparse
from importlib.resources import files

from tuimon.commands import Command
from tuimon.errors import ExitCode


def _run(options: argparse.Namespace) -> int:
    print(files("tuimon.agent").joinpath("skill.md").read_text("utf-8"), end="")
    return ExitCode.OK


COMMAND = Command("skill", "print which command answers which question, for an agent", "", _run)
