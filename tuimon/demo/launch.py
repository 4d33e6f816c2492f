"""Starts the training process, and stops it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tuimon.demo.train import PACE, RUN_NAME, STEPS


class Training:
    """A running `python -m tuimon.demo.train`."""

    def __init__(self, run: Path, arguments: list[str]) -> None:
        self.run = run
        """The run's directory; it appears with the first log, a second or so after the start."""
        self._said = ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        # the child imports from where this process does: a `demo` in the current directory is not ours (-P)
        search = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tuimon.demo.train", *arguments, "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env=os.environ | {"PYTHONPATH": search},
            start_new_session=True,  # a ctrl+c at the terminal is not for it
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def poll(self) -> int | None:
        """Exit code, None while it runs."""
        return self.process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Exit code, once it has ended; subprocess.TimeoutExpired after `timeout` seconds."""
        return self.process.wait(timeout)

    def errors(self) -> str:
        """Return the standard error of the process, for an exit code other than 0."""
        if not self._errors.closed:
            file = self._errors.fileno()  # pread: the process writes at the position that a seek would move
            self._said = os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")
        return self._said

    def stop(self, patience: float = 5.0) -> int:
        """Ends it (SIGTERM; SIGKILL after `patience` seconds) if it has not ended; returns its exit code."""
        self.process.terminate()  # does nothing to a process that has ended
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.errors()
        self._errors.close()
        return code


def start(
    output: Path,
    steps: int | None = STEPS,
    pace: float = PACE,
    *,
    seed: int = 0,
    inject: str | None = None,
) -> Training:
    """Starts a run in `output`/grpo-sort-digits. See `python -m tuimon.demo.train --help` for the rest.

    It ends with the process that started it.
    """
    output = output.absolute()
    arguments = ["--output", str(output), "--pace", str(pace), "--seed", str(seed)]
    arguments += ["--steps", str(steps)] if steps else []
    arguments += ["--inject", inject] if inject else []
    return Training(output / RUN_NAME, arguments)
