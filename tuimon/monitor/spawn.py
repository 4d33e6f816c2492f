"""Starting the reader's process. Imports next to nothing: the reader starts before anything else is loaded."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, NamedTuple

import tuimon
from tuimon.scratch import scratch

PIPE_SIZE = 1 << 20
"""Bytes that the pipe holds: at 64 KiB a history comes in so many pieces that reading them delays the screen."""


class Spawned(NamedTuple):
    """A reader that has been started."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    """Its standard error."""


def spawn(paths: Sequence[str], poll: bool, interval: float, console_patterns: Sequence[str] = ()) -> Spawned:
    """Starts `python -m tuimon.reader` on the paths, with pipes for its frames and its lifeline."""
    errors = tempfile.TemporaryFile(dir=scratch())  # noqa: SIM115  it lives as long as the process
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.abspath(tuimon.__file__)))
    if package == os.path.abspath("."):  # run from a checkout that is not installed; -P leaves the directory out
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
    options = [*(["--poll"] if poll else []), "--interval", str(interval)]
    options += [f"--console-pattern={pattern}" for pattern in console_patterns]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tuimon.reader", *options, "--", *paths],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        start_new_session=True,  # the terminal's signals are for the screen
    )
    assert process.stdout is not None
    with contextlib.suppress(AttributeError, OSError):  # Linux alone has it; the user's limit may be lower
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return Spawned(process, errors)
