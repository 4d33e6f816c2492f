"""Start the reader process, by a fork if that is safe. Nothing is imported twice then."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, NamedTuple, NoReturn

import tuimon
from tuimon.platform_support import hidden_modules, temp_dir

PIPE_SIZE = 1 << 20
"""Capacity of the pipe in bytes. With the default of 64 KiB a long history takes many reads, which
delays the first frame."""


class Spawned(NamedTuple):
    """A running reader process."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    """Temporary file that receives the process's standard error."""


def spawn(paths: Sequence[str], poll: bool, interval: float, console_patterns: Sequence[str] = ()) -> Spawned:
    """Start a reader of the paths. It writes frames to stdout and ends when its stdin is closed.

    - A process with a single thread is forked, after the import of what both processes need.
    - Else, and on other systems than Linux: `python -m tuimon.reader`.
    """
    errors = tempfile.TemporaryFile(dir=temp_dir())  # noqa: SIM115  it lives as long as the process
    options = [*(["--poll"] if poll else []), "--interval", str(interval)]
    options += [f"--console-pattern={pattern}" for pattern in console_patterns]
    arguments = [*options, "--", *paths]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tuimon.reader", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=_environment(),
        start_new_session=True,  # ctrl+c in the terminal must reach only the UI process
        preexec_fn=_forked(arguments),
    )
    assert process.stdout is not None
    with contextlib.suppress(AttributeError, OSError):  # Linux only; the user's limit may be lower
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return Spawned(process, errors)


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.abspath(tuimon.__file__)))
    if package == os.path.abspath("."):  # a checkout that is not installed: -P excludes the current directory
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
    return environment


def _forked(arguments: Sequence[str]) -> Callable[[], NoReturn] | None:
    """Return what a forked child does instead of exec; None if this process has other threads, or may have."""
    try:
        if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208  start-up time
            return None
    except OSError:  # not Linux
        return None
    with hidden_modules("typing_extensions"):  # msgspec needs it only for older versions of Python
        from tuimon import vocabulary, wire  # noqa: F401  and numpy with them: a third of the reader's start
    return partial(_be_reader, arguments)


def _be_reader(arguments: Sequence[str]) -> NoReturn:
    """Be the reader with nothing of the parent but its modules and standard streams; never return."""
    code = 1
    try:
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208  a limit of 2^30 files would take minutes
            if number > 2:
                with contextlib.suppress(OSError):  # that of the list itself
                    os.close(number)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        gc.freeze()  # what the parent has made is not looked at again
        gc.enable()
        from tuimon.reader.process import main

        code = main(arguments)
    except BaseException:  # noqa: BLE001  what follows would be the parent's code
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(code)
