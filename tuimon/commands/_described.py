"""The command line as data, taken from its parsers: what completions and the manual are made of."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from tuimon.commands import Command, commands, parser_of


class Option(NamedTuple):
    """One option."""

    flags: tuple[str, ...]
    value: str
    """What its value is called; "" where it takes none."""
    help: str
    choices: tuple[str, ...]
    repeated: bool


class Described(NamedTuple):
    """One subcommand."""

    name: str
    help: str
    options: tuple[Option, ...]
    argument: str
    """What its arguments are called; "" where it takes none."""
    choices: tuple[str, ...]
    """What they may be; empty: paths."""
    usage: str
    examples: tuple[str, ...]
    """Lines: a command, and what it does."""


def described() -> tuple[Described, ...]:
    """Every subcommand, by name."""
    return tuple(_command(command) for _, command in sorted(commands().items()))


def _command(command: Command) -> Described:
    parser = parser_of(command)
    options: list[Option] = []
    argument, choices = "", tuple[str, ...]()
    for action in parser._actions:  # argparse has no public way to them, and shtab goes the same one
        known = tuple(map(str, action.choices)) if action.choices else ()
        if not action.option_strings:
            argument, choices = str(action.metavar or action.dest), known
        elif action.help != argparse.SUPPRESS:
            takes = action.nargs != 0
            value = str(action.metavar or action.dest.upper()) if takes else ""
            text = (action.help or "") % {"default": action.default, "prog": parser.prog}
            repeated = isinstance(action, argparse._AppendAction)
            options.append(Option(tuple(action.option_strings), value, text, known, repeated))
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    examples = tuple(line.strip() for line in command.examples.splitlines())
    return Described(command.name, command.help, tuple(options), argument, choices, usage, examples)
