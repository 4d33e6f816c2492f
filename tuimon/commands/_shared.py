"""What several subcommands need: paths checked, words on standard error."""

from __future__ import annotations

import argparse
import glob
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tuimon.errors import NothingFound
from tuimon.text import clean


def add_paths(parser: argparse.ArgumentParser, many: str = "*") -> None:
    told = "a log file, a run's directory, or a directory of many runs; - is standard input"
    parser.add_argument("paths", nargs=many, metavar="PATH", help=told)


def positive_seconds(text: str) -> float:
    """The type of an option that is a time."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds


def checked_paths(paths: Sequence[str], live: bool = False) -> list[str]:
    """The paths, or the current directory; a pattern that no shell has expanded is. Raises NothingFound naming the
    first that does not exist. "-" is a file that holds what comes through standard input: all of it, or with `live`
    what has come, while more is added."""
    paths = [one for path in paths for one in (_standard_input(live) if path == "-" else _expanded(path))]
    for path in paths:
        if not os.path.lexists(path):
            parent = os.path.dirname(os.path.abspath(path))
            near = "" if Path(parent).is_dir() else f"; nor is there a directory {clean(parent)}"
            raise NothingFound(
                f"there is no {clean(path)}{near}",
                "`tuimon --wait PATH` waits for a run that has not begun to write",
            )
    return list(paths) or ["."]


def _standard_input(live: bool) -> list[str]:
    from tuimon.commands._stdin import piped_input
    from tuimon.monitor.piped import Piped

    path = piped_input().follow() if live else piped_input().read_to_its_end()
    return [Piped(path, piped_input().ended)]


def _expanded(path: str) -> list[str]:
    if os.path.lexists(path) or not glob.has_magic(path):
        return [path]
    return sorted(glob.glob(path, recursive=True)) or [path]  # noqa: PTH207  the pattern may be absolute


def say(message: str) -> None:
    """Words for a person: standard error, so that standard output is data alone."""
    print(message, file=sys.stderr)
