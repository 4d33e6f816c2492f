"""Start the reader process. Imports next to nothing, so that the reader starts before anything else is loaded."""

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
from tuimon.platform_support import temp_dir

PIPE_SIZE = 1 << 20
"""Capacity of the pipe in bytes. With the default of 64 KiB a long history takes many reads, which
delays the first frame."""


class Spawned(NamedTuple):
    """A running reader process."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    """Temporary file that receives the process's standard error."""


def spawn(paths: Sequence[str], poll: bool, interval: float, console_patterns: Sequence[str] = ()) -> Spawned:
    """Start `python -m tuimon.reader` on the paths. It writes frames to stdout and ends when its stdin is closed."""
    errors = tempfile.TemporaryFile(dir=temp_dir())  # noqa: SIM115  it lives as long as the process
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.abspath(tuimon.__file__)))
    if package == os.path.abspath("."):  # a checkout that is not installed: -P excludes the current directory
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
    options = [*(["--poll"] if poll else []), "--interval", str(interval)]
    options += [f"--console-pattern={pattern}" for pattern in console_patterns]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tuimon.reader", *options, "--", *paths],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        start_new_session=True,  # ctrl+c in the terminal must reach only the UI process
    )
    assert process.stdout is not None
    with contextlib.suppress(AttributeError, OSError):  # Linux only; the user's limit may be lower
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return Spawned(process, errors)
