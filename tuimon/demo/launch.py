"""Starts the training process, and stops it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tuimon.demo.train import RUN_NAME


class Training:
    """A running `python -m tuimon.demo.train`, which ends with the process that started it."""

    def __init__(self, output: Path, *arguments: str) -> None:
        """Start a run in `output`/grpo-sort-digits. arguments: see `python -m tuimon.demo.train --help`."""
        self.run = output.absolute() / RUN_NAME
        """The run's directory; it appears with the first log, a second or so after the start."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        # the child imports from where this process does: a `demo` in the current directory is not ours (-P)
        own = "--output", str(self.run.parent), "--parent", str(os.getpid())
        search = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tuimon.demo.train", *arguments, *own],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env=os.environ | {"PYTHONPATH": search},
            start_new_session=True,  # a ctrl+c at the terminal is not for it
        )

    def errors(self) -> str:
        """Return the standard error of the process so far, before `stop`."""
        file = self._errors.fileno()  # pread: the process writes at the position that a seek would move
        return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")

    def stop(self) -> int:
        """End it, by SIGTERM and after five seconds by SIGKILL, unless it has ended; return its exit code."""
        self.process.terminate()  # does nothing to a process that has ended
        try:
            code = self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._errors.close()
        return code
