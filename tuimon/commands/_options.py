"""Parsers made from tables of text with a row for each option.

    PATH*  a log                    any number of arguments; PATH+: at least one
    --past  include resolved alerts    a switch
    --rule RULE…  add an alert rule    a value; with "…" it may be repeated

The name and the help are separated by two blanks. What argparse needs besides (a type, a default, choices) is in a
mapping by the name of the option: VALUES for options of several commands, `Command.values` for one command's own.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

_PATHS = "PATH{}  a log, the directory of a run or of many, host:path, or - for standard input{}\n"
OFFLINE = "--offline  of another machine, show what was copied before, without a connection\n"
_PLACES = f"""\
--join PATH  these paths are one run; without PATH, all that are given; may be repeated
--split DIR…  each log at or below DIR is a run; may be repeated
{OFFLINE}"""
PATH_OPTIONS = ("--join", "--split", "--offline")
"""Options of every command that reads logs. `tuimon -h` describes them, for all commands at once."""
ALL_PATHS = _PATHS.format("*", "") + _PLACES
"""Paths, and PATH_OPTIONS with their descriptions."""
PATHS, SOME_PATHS = (
    _PATHS.format(count, f" ({', '.join(PATH_OPTIONS)}: see `tuimon -h`)") + re.sub("  .*", "  ", _PLACES)
    for count in "*+"
)
METRICS = "--metric PATTERN…  only metrics that match: a name, words, * and ?, A|B, re:EXPRESSION; repeatable\n"
FORCE = "--force  overwrite existing files\n"
SCHEMA = "--schema  print the JSON Schema of --json and exit\n"
JSON = f'--json  print one JSON object with "schema": 1 (see --schema)\n{SCHEMA}'
STRICT = "--strict  exit with 5 if a log is damaged or cannot be read\n"


class PrintSchema(argparse.Action):
    """Print the schema of the command of this parser, also where an argument is missing."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from tuimon.exports.schemas import schema_text

        sys.stdout.write(schema_text(parser.prog.removeprefix("tuimon").strip() or "watch"))
        parser.exit()


def step_range(text: str) -> tuple[int, int]:
    """Return the first and the last step of a range."""
    match = re.fullmatch(r"(\d{0,18})-(\d{0,18})", text)
    steps = (int(match[1] or 0), int(match[2] or sys.maxsize)) if match and text != "-" else (1, 0)
    if steps[0] > steps[1]:
        raise argparse.ArgumentTypeError(f"invalid range of steps: {text!r}; examples are 100-200, 100- and -200")
    return steps


def whole(low: int, high: int) -> Any:
    """Return the type of an option that takes a whole number from `low` to `high`."""

    def number(text: str) -> int:
        value = int(text) if re.fullmatch("[0-9]{1,9}", text) else -1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r}: must be between {low} and {high}")
        return value

    return number


def between(low: float, below: float = math.inf) -> Any:
    """Return the type of an option for finite numbers from `low` to less than `below`."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value < below or math.isinf(value):
            bounds = f" of at least {low:g} and below {below:g}" if math.isfinite(below) else ""
            raise argparse.ArgumentTypeError(f"{text!r}: must be a number{bounds}")
        return value

    return number


VALUES: Mapping[str, Mapping[str, Any]] = {
    "--join": {"nargs": "*", "action": "append", "default": []},
    "--schema": {"action": PrintSchema, "nargs": 0},
    "--step": {"type": int},
    "--steps": {"type": step_range},
    "-o": {"dest": "output"},
}


def add_options(
    parser: argparse.ArgumentParser, table: str, values: Mapping[str, Any], exclusive: Collection[Collection[str]]
) -> None:
    """Add the options of a table to a parser. exclusive: sets of options of which only one may be given."""
    places: dict[str, argparse._ActionsContainer] = {}
    for names in exclusive:
        places |= dict.fromkeys(names, parser.add_mutually_exclusive_group())
    for row in table.splitlines():
        head, _, text = row.partition("  ")
        name, _, metavar = head.partition(" ")
        known = {**VALUES.get(name, {}), **values.get(name, {})}
        if not name.startswith("-"):
            word = name.rstrip("*+?")
            known = {"nargs": name[len(word) :] or None, "metavar": word} | known
            name = word.lower() + "s" * name.endswith(("*", "+"))
        elif metavar.endswith("…"):
            known = {"action": "append", "default": [], "metavar": metavar[:-1]} | known
        elif metavar:
            known = {"metavar": metavar} | known
        elif "action" not in known:
            known = {"action": "store_true"} | known
        places.get(name, parser).add_argument(name, help=text or argparse.SUPPRESS, **known)
