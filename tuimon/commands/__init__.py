"""The command line. One file a subcommand; exit codes live here alone.

    0 ok   1 error   2 usage   3 nothing found   4 an alert stands   5 partly unreadable (--strict)   130 interrupted

A subcommand is found by being a module of this package with a COMMAND, and its name is that of the module: only the one
that is asked for is imported. It imports nothing heavy at its top: `tuimon -h` must not pay for a screen.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

import tuimon
from tuimon.errors import TuimonError, UsageError

EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_NOTHING, EXIT_ALERT, EXIT_PARTLY, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

EXAMPLES = """\
  tuimon logs/grpo-1.5b          the live dashboard of every log below that directory
  train.py 2>&1 | tuimon -       the same of what a pipe brings
  tuimon summary logs/*          what the runs have come to, as text
  tuimon demo                    a live training run to look at
"""
_NOTES = """\
With no PATH, the current directory. When standard output is no terminal, the summary is printed instead.
`tuimon COMMAND -h` tells about a command; a path that is called like a command is written ./summary.
"""


class Command(NamedTuple):
    """One subcommand."""

    name: str
    help: str
    """One line, lower case."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds its arguments to its parser."""
    run: Callable[[argparse.Namespace], int]
    """Does it; returns the exit code. Errors are raised as TuimonError."""
    examples: str = ""
    """Lines: a command, and what it does."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from tuimon.text import clean

        raise UsageError(clean(message), f"`{self.prog} -h` shows what there is")


def commands() -> dict[str, Command]:
    """All subcommands by name."""
    return {name: _command(name) for name in _names()}


def _names() -> tuple[str, ...]:
    from tuimon.registry import names

    return names("tuimon.commands")


def _command(name: str) -> Command:
    from importlib import import_module

    command: Command = import_module(f"tuimon.commands.{name}").COMMAND
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """The program. Returns the exit code; prints errors as words on standard error, never a traceback of ours."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        _end_tidily()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except TuimonError as error:
        from tuimon.commands._stdin import in_words

        print(f"tuimon: {in_words(error.message)}", file=sys.stderr)
        if error.hint:
            print(f"        {in_words(error.hint)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # `tuimon summary | head`: the reader has gone, which is no error. Python would complain once more at exit.
        _drop_standard_output()
        return EXIT_OK
    except OSError as error:
        from tuimon.text import clean

        if error.filename is None:  # no file was opened: something could not be written
            _drop_standard_output()
        what = "standard output cannot be written" if error.filename is None else clean(os.fsdecode(error.filename))
        print(f"tuimon: {what}: {error.strerror}", file=sys.stderr)
        return EXIT_ERROR


def _end_tidily() -> None:
    """Who is told to end, or loses its terminal, takes its temporary files along, as it does on ctrl+c."""

    def end(number: int, _: object) -> NoReturn:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # not where nohup has it ignored
            signal.signal(number, end)


def _drop_standard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser_of(command: Command) -> argparse.ArgumentParser:
    """What a subcommand takes: for running it, for completions, for the manual."""
    parser = _Parser(
        prog=f"tuimon {command.name}",
        description=_with_examples(command.help, command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.arguments(parser)
    return parser


def _with_examples(text: str, examples: str) -> str:
    return f"{text}\n\nexamples:\n{examples}" if examples else text


def _no_slip(words: Sequence[str], known: Iterable[str]) -> None:
    """UsageError where the first word is no path, and a command but for a slip of the finger."""
    if words and words[0][:1].isalpha() and "--wait" not in words and not os.path.lexists(words[0]):
        from difflib import get_close_matches

        from tuimon.text import clean

        if near := get_close_matches(words[0], known, 1, 0.75):
            raise UsageError(f"there is no {clean(words[0])}", f"`tuimon {near[0]}` is a command")


def _run(words: list[str]) -> int:
    if words[:1] in (["-V"], ["--version"]):
        print(f"tuimon {tuimon.__version__}")
        return EXIT_OK
    known = _names()
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if words and words[0] in known:
        command, words = _command(words[0]), words[1:]
        parser = parser_of(command)
    else:
        _no_slip(words, known)
        command = _command("watch")
        asks_for_help = any(word.startswith("-") and "h" in word for word in words)  # -h, --help, --he
        listed = commands().values() if asks_for_help else ()
        parser = _Parser(
            prog="tuimon",
            usage="tuimon [PATH …] [options]\n       tuimon COMMAND …",
            description=_with_examples(
                "A terminal monitor for training runs: live curves, phase latency, GPU memory.", EXAMPLES
            ),
            epilog="commands:\n" + "".join(f"  {c.name:<10} {c.help}\n" for c in listed) + f"\n{_NOTES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("-V", "--version", action="store_true", help="print the version and exit")
        command.arguments(parser)
    return command.run(parser.parse_args(words))
