"""The options and arguments of all subcommands as data, for shell completion and the manual page."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from tuimon.commands import Command, commands, parser_of


class Option(NamedTuple):
    """An option of a subcommand."""

    flags: tuple[str, ...]
    value: str
    """Placeholder of its value; "" if it takes none."""
    help: str
    choices: tuple[str, ...]
    repeated: bool
    """True if the option can be given several times."""


class Described(NamedTuple):
    """A subcommand with its options."""

    name: str
    help: str
    options: tuple[Option, ...]
    argument: str
    """Placeholder of its positional arguments; "" if it takes none."""
    choices: tuple[str, ...]
    """Values that the positional arguments can have; empty if they are paths."""
    usage: str
    examples: tuple[str, ...]
    """Lines with a command and what it does."""


def described() -> tuple[Described, ...]:
    """Return all subcommands, sorted by name."""
    return tuple(_describe(command) for _, command in sorted(commands().items()))


def _describe(command: Command) -> Described:
    parser = parser_of(command)
    options: list[Option] = []
    argument, choices = "", tuple[str, ...]()
    for action in parser._actions:  # argparse has no public access to them; shtab reads the same attribute
        values = tuple(map(str, action.choices)) if action.choices else ()
        if not action.option_strings:
            argument, choices = str(action.metavar or action.dest), values
        elif action.help != argparse.SUPPRESS:
            placeholder = str(action.metavar or action.dest.upper()) if action.nargs != 0 else ""
            text = (action.help or "") % {"default": action.default, "prog": parser.prog}
            repeated = isinstance(action, argparse._AppendAction)
            options.append(Option(tuple(action.option_strings), placeholder, text, values, repeated))
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    examples = tuple(line.strip() for line in command.examples.splitlines())
    return Described(command.name, command.help, tuple(options), argument, choices, usage, examples)
