"""`tuimon man`: the manual page, made of the parsers themselves."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import tuimon
from tuimon.commands import EXIT_OK, Command

if TYPE_CHECKING:
    from tuimon.commands._described import Described, Option

_EXITS = (
    ("0", "ok"),
    ("1", "an error"),
    ("2", "the command line asks for something that does not exist"),
    ("3", "there is no such path, or no log below it"),
    ("4", "an alert stands (check)"),
    ("5", "something could not be read (with --strict)"),
    ("130", "interrupted"),
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "tuimon man > ~/.local/share/man/man1/tuimon.1"


def _run(options: argparse.Namespace) -> int:
    from tuimon.commands._described import described

    sys.stdout.write("\n".join(page(described())) + "\n")
    return EXIT_OK


def page(commands: Sequence[Described]) -> Iterator[str]:
    """The lines of the page, for man(7)."""
    yield f'.TH TUIMON 1 "" "tuimon {tuimon.__version__}" "User Commands"'
    yield ".SH NAME"
    yield "tuimon \\- a terminal monitor for training runs"
    yield ".SH SYNOPSIS"
    for command in commands:
        yield ".PP"
        yield f"\\fBtuimon\\fR {_text(command.usage.removeprefix('tuimon '))}"
    yield ".SH DESCRIPTION"
    yield "Finds every metric log below the given paths, follows them as they grow, joins the logs of one run, and"
    yield "shows what matters: reward, loss and KL curves, where a step's time goes, how full each GPU is. Without a"
    yield "command, the live dashboard; where standard output is no terminal, the summary. A path is a log file, the"
    yield "directory of a run, or a directory of many runs."
    yield ".SH COMMANDS"
    for command in commands:
        yield f".SS {_text(command.name)}"
        yield _sentence(command.help)
        for option in command.options:
            yield from _option(option)
        if command.examples:
            yield from (".PP", ".nf", *map(_text, command.examples), ".fi")
    yield ".SH EXIT STATUS"
    for code, meaning in _EXITS:
        yield ".TP"
        yield f"\\fB{code}\\fR"
        yield _text(meaning)
    yield ".SH ENVIRONMENT"
    yield ".TP"
    yield "\\fBTUIMON_\\fINAME\\fR"
    yield "A setting of the file below, in capitals: TUIMON_THEME=light."
    yield ".TP"
    yield "\\fBNO_COLOR\\fR"
    yield "No colours."
    yield ".SH FILES"
    yield "$XDG_CONFIG_HOME/tuimon/config.toml"


def _option(option: Option) -> Iterator[str]:
    yield ".TP"
    value = f" \\fI{_text(option.value)}\\fR" if option.value else ""
    yield ", ".join(f"\\fB{_text(flag)}\\fR{value}" for flag in option.flags)
    choices = f" One of {', '.join(option.choices)}." if option.choices and option.choices[0] not in option.help else ""
    yield _sentence(option.help) + _text(choices)


def _sentence(text: str) -> str:
    return _text(text[:1].upper() + text[1:] + "." * (not text.endswith(".")))


def _text(text: str) -> str:
    """Nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in text)
    return "\\&" + text if text.startswith((".", "'")) else text


COMMAND = Command("man", "the manual page", _arguments, _run)
