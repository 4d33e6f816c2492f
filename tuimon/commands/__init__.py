"""The command line: one module per subcommand, with a COMMAND; its name is the name of the module.

Only the module of the requested subcommand is imported. These modules import nothing heavy at the top, so that
`tuimon -h` stays fast. Exit codes are defined in `tuimon.errors.ExitCode`.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import tuimon
from tuimon.errors import ExitCode, NothingFound, TuimonError, UsageError
from tuimon.platform_support import ignore_overflow

_OUTPUT = "cannot write to standard output"
EXAMPLES = """\
  tuimon logs/grpo-1.5b          open the dashboard of every run below that directory
  train.py 2>&1 | tuimon -       follow the output of a program
  tuimon summary logs/*          print the state and the metrics of the runs
  tuimon demo                    start a made-up training run and watch it
"""
_NOTES = """\
Without PATH, the current directory. If standard output is not a terminal, the summary is printed instead.
`tuimon COMMAND -h` shows the options of a command. To open a path with the same name as a command, prefix it: ./summary
"""


class Command(NamedTuple):
    """A subcommand."""

    name: str
    help: str
    """One line that starts with a lower-case verb."""
    options: str
    """Table of the options, see `_options`."""
    run: Callable[[argparse.Namespace], int]
    """Run the subcommand and return the exit code. Raises TuimonError."""
    examples: str = ""
    """Lines with a command and what it does."""
    values: Mapping[str, Any] = {}
    """What argparse needs besides for some of the options, by their names."""
    exclusive: Sequence[Sequence[str]] = ()
    """Sets of options of which only one may be given."""
    epilog: str = ""
    prepare: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    """Adds what a table of text cannot say."""

    def describe(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the subcommand to a parser."""
        from tuimon.commands._options import add_options

        parser.epilog = self.epilog
        add_options(parser, self.options, self.values, self.exclusive)
        self.prepare(parser)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from tuimon.text import clean

        raise UsageError(clean(message), f"Run `{self.prog} -h` for the options.")


def commands() -> dict[str, Command]:
    """Return all subcommands by name."""
    return {name: _command(name) for name in _command_names()}


def _command_names() -> tuple[str, ...]:
    from tuimon.registry import names

    return names("tuimon.commands")


def _command(name: str) -> Command:
    from importlib import import_module

    command: Command = import_module(f"tuimon.commands.{name}").COMMAND
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. Errors of tuimon are printed to stderr without a traceback.

    Without arguments, those of the command line; the process ends then, whatever its threads still do.
    """
    if arguments is not None:
        return _code_of(list(arguments))
    if not _open_standard_streams():
        return ExitCode.ERROR
    _exit_on_signals()
    ignore_overflow()
    # No linear algebra is used; starting OpenBLAS threads costs up to 60 ms on hosts with many cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = _code_of(sys.argv[1:])
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    return _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process: neither threads that still work nor the memory of 200,000 curves are waited for."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _code_of(words: list[str]) -> int:
    try:
        try:
            code = _run(words)
            sys.stdout.flush()
        finally:
            _report_plugins()
        return code
    except TuimonError as error:
        from tuimon.commands._remote import hide_mirrors
        from tuimon.commands._stdin import hide_spool_path

        print(f"tuimon: {hide_mirrors(hide_spool_path(error.message))}", file=sys.stderr)
        if error.hint:
            print(f"        {hide_mirrors(hide_spool_path(error.hint))}", file=sys.stderr)
        return error.exit_code
    except MemoryError:
        return _out_of_memory()
    except (ImportError, RuntimeError, SyntaxError, SystemError) as error:
        # CPython reports an allocation that fails in the parser as a SyntaxError of a valid module.
        if not _is_memory_limited():
            raise
        return _out_of_memory(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # As in `tuimon summary | head`; not an error. Without this Python reports it again at exit.
        _drop_standard_output()
        return ExitCode.OK
    except OSError as error:
        from tuimon.text import clean

        what = _OUTPUT if error.filename is None else clean(os.fsdecode(error.filename))  # only a write names no file
        if error.filename is None and isinstance(error, FileNotFoundError):
            what = "the current directory has been deleted"
        elif error.filename is None:
            _drop_standard_output()
        print(f"tuimon: {what}: {error.strerror or error}", file=sys.stderr)
        return ExitCode.ERROR


def _report_plugins() -> None:
    """Name the plug-ins of installed packages that could not be used, if plug-ins were loaded."""
    from tuimon.registry import problems

    for plugin in problems():
        print(f"tuimon: {plugin.sentence}", file=sys.stderr)


def _exit_on_signals() -> None:
    """Exit normally on signals that end a program, as on ctrl+c, so that temporary files are removed."""

    def end(number: int, _: object) -> NoReturn:
        sys.exit(128 + number)

    names = ("TERM", "HUP", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "XCPU")
    for number in (getattr(signal, f"SIG{name}") for name in names if hasattr(signal, f"SIG{name}")):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP: leave that
            signal.signal(number, end)


def _open_standard_streams() -> bool:
    """Open the null device in place of closed standard streams, so that no other file gets their descriptors.

    Return False, after a message, if standard output is closed.
    """
    has_output = sys.stdout is not None
    if sys.stdin is None or not has_output or sys.stderr is None:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
            pass
        os.close(descriptor)
        sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115  open for the whole process
        sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    if not has_output:
        print(f"tuimon: {_OUTPUT}: it is closed", file=sys.stderr)
    return has_output


def _is_memory_limited() -> bool:
    """Return whether the address space is limited, so that a library that cannot be loaded may lack memory."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except (ImportError, MemoryError):  # a module of the standard library that cannot be mapped into memory
        return True
    return getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY


def _out_of_memory(error: Exception | None = None) -> int:
    reason = f" ({str(error).strip().splitlines()[0][:80]})" if str(error or "").strip() else ""
    print(f"tuimon: not enough memory{reason}. Raise the limit (ulimit -v) or name fewer logs.", file=sys.stderr)
    return ExitCode.ERROR


def _drop_standard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser_of(command: Command) -> _Parser:
    """Return the argument parser of a subcommand."""
    parser = _Parser(
        prog=f"tuimon {command.name}",
        description=_with_examples(command.help, command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.describe(parser)
    names = [action.metavar or action.dest.upper() for action in parser._actions if not action.option_strings]
    repeated = (
        " …" if any(action.nargs in ("*", "+") for action in parser._actions if not action.option_strings) else ""
    )
    parser.usage = f"tuimon {command.name} [options]{''.join(f' {name}' for name in names)}{repeated}"
    return parser


def _with_examples(text: str, examples: str) -> str:
    return f"{text}\n\nexamples:\n{examples}" if examples else text


def _refuse_misspelt_command(words: Sequence[str], known: Iterable[str]) -> None:
    """Raise UsageError if the first word is not a path but is close to the name of a command."""
    if words and words[0][:1].isalpha() and "--wait" not in words and not os.path.lexists(words[0]):
        from difflib import get_close_matches

        from tuimon.text import clean

        if matches := get_close_matches(words[0], known, 1, 0.75):
            raise UsageError(f"no such command or path: {clean(words[0])}", f"Did you mean `tuimon {matches[0]}`?")


def _run(words: list[str]) -> int:
    if words[:1] in (["-V"], ["--version"]):
        print(f"tuimon {tuimon.__version__}")
        return ExitCode.OK
    known = _command_names()
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if words and words[0] in known:
        command, words = _command(words[0]), words[1:]
        parser = parser_of(command)
    else:
        _refuse_misspelt_command(words, known)
        command = _command("watch")
        asks_for_help = any(word.startswith("-") and "h" in word for word in words)  # -h, --help, --he
        listed = commands().values() if asks_for_help else ()
        parser = _Parser(
            prog="tuimon",
            usage="tuimon [PATH …] [options]\n       tuimon COMMAND …",
            description=_with_examples(
                "A terminal monitor for training runs: live curves, phase latency, GPU memory.", EXAMPLES
            ),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("-V", "--version", action="store_true", help="print the version and exit")
        command.describe(parser)
        parser.epilog = "commands:\n" + "".join(f"  {c.name:<10} {c.help}\n" for c in listed) + f"\n{_NOTES}"
    options = parser.parse_args(words)
    try:
        code = command.run(options)
    except NothingFound as error:
        if message := _generated_texts(options):
            raise NothingFound(message) from error
        raise
    if code == ExitCode.OK and getattr(options, "strict", False) and _stdin_is_incomplete():
        return ExitCode.PARTLY_READ
    return code


def _generated_texts(options: argparse.Namespace) -> str:
    """Return the command that prints the generated texts of a path without metrics; "" if it has no such texts."""
    paths = [path for path in getattr(options, "paths", None) or ["."] if os.path.exists(path)]  # noqa: PTH110
    if hasattr(options, "path") or not paths:
        return ""
    from shlex import quote

    from tuimon.samples.discovery import has_samples
    from tuimon.text import clean

    if not has_samples(paths[:1]):
        return ""
    return f"{clean(paths[0])} holds generated texts and no metrics: tuimon samples {clean(quote(paths[0]))}"


def _stdin_is_incomplete() -> bool:
    """Return whether a part of standard input could not be stored, and so was not read."""
    module = sys.modules.get("tuimon.commands._stdin")
    return module is not None and module.is_incomplete()
