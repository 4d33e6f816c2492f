"""`tuimon man`: print the manual page, generated from the argument parsers."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import tuimon
from tuimon.commands import Command
from tuimon.errors import ExitCode

if TYPE_CHECKING:
    from tuimon.commands._described import Described, Option


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "tuimon man > ~/.local/share/man/man1/tuimon.1"


def _run(options: argparse.Namespace) -> int:
    from tuimon.commands._described import described

    lines = list(page(described()))
    if sys.stdout.isatty() and _shown_by_man("\n".join(lines) + "\n"):
        return ExitCode.OK
    sys.stdout.write("\n".join(as_text(lines) if sys.stdout.isatty() else lines) + "\n")
    return ExitCode.OK


def _shown_by_man(roff: str) -> bool:
    """Display a page with man(1); return False if there is none, or if it cannot read a page from its input."""
    program = shutil.which("man")
    if program is None:
        return False
    try:
        return subprocess.run([program, "-l", "-"], input=roff.encode(), stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def as_text(lines: Sequence[str]) -> Iterator[str]:
    """Yield a page of `page` as plain text."""
    label = verbatim = False
    for line in lines:
        request, _, rest = line.partition(" ")
        if request in (".SH", ".SS"):
            yield ""
            yield _plain(rest) if request == ".SH" else f"  {_plain(rest)}"
        elif request == ".PP":
            yield ""
        elif request == ".TP":
            label = True
        elif request in (".nf", ".fi"):
            verbatim = request == ".nf"
        elif request != ".TH":
            yield f"    {_plain(line)}" if label or verbatim else f"      {_plain(line)}"
            label = False


def _plain(text: str) -> str:
    """Return a line of roff without fonts and escapes."""
    text = re.sub(r"\\f[BIR]|\\&", "", text)
    text = re.sub(r"\\\[u([0-9A-F]+)\]", lambda match: chr(int(match[1], 16)), text)
    return text.replace("\\-", "-").replace("\\e", "\\")


def page(commands: Sequence[Described]) -> Iterator[str]:
    """Yield the lines of the page in the format of man(7)."""
    yield f'.TH TUIMON 1 "" "tuimon {tuimon.__version__}" "User Commands"'
    yield ".SH NAME"
    yield "tuimon \\- a terminal monitor for training runs"
    yield ".SH SYNOPSIS"
    yield "\\fBtuimon\\fR [PATH ...] [options]"
    yield from (".PP", "\\fBtuimon\\fR COMMAND ...")
    for command in commands:
        yield ".PP"
        yield f"\\fBtuimon\\fR {_text(command.usage.removeprefix('tuimon '))}"
    yield ".SH DESCRIPTION"
    yield "Finds every metric log below the given paths, follows the logs as they grow, joins the logs of each run, and"
    yield "shows reward, loss and KL curves, the time of each phase of a step, and the memory of each GPU. Without a"
    yield "command, opens the live dashboard, or prints the summary if standard output is not a terminal. A path is a"
    yield "log file, the directory of a run, a directory of many runs, or \\- for standard input."
    yield ".SH COMMANDS"
    for command in commands:
        yield f".SS {_text(command.name)}"
        yield _sentence(command.help)
        for option in command.options:
            yield from _option(option)
        if command.examples:
            yield from (".PP", ".nf", *map(_text, command.examples), ".fi")
    yield ".SH EXIT STATUS"
    for code in ExitCode:
        yield from (".TP", f"\\fB{code}\\fR", _text(code.meaning))
    yield ".SH ENVIRONMENT"
    yield ".TP"
    yield "\\fBTUIMON_\\fINAME\\fR"
    yield "Overrides a setting of the file below; the name is in capitals: TUIMON_THEME=light."
    yield ".TP"
    yield "\\fBNO_COLOR\\fR"
    yield "If set, no colours are used."
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
    """Escape text so that it contains neither a request nor an escape sequence of roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return "\\&" + text if text.startswith((".", "'")) else text


COMMAND = Command("man", "print the manual page", _arguments, _run)
