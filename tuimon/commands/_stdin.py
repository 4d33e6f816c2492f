"""Spool standard input ("-") to a private temporary file. It is followed like any log, and then removed.

The dashboard needs standard input for key presses, so the pipe is moved to another descriptor and the terminal takes
its place. When the dashboard is closed before the pipe has ended, another process must go on reading the pipe:
otherwise the next line that the training program prints would kill it (SIGPIPE).
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tuimon.commands._stderr import print_status
from tuimon.errors import TuimonError
from tuimon.platform_support import temp_dir
from tuimon.text import clean

_CHUNK = 1 << 16
_HINT = "Set TMPDIR to a directory with more space."
_LARGEST_DOCUMENT = 1 << 28
"""Maximum bytes of an input that is parsed in search of one JSON document."""


class StdinSpool:
    """The temporary file that standard input is copied to."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="tuimon-", dir=temp_dir()))  # mode 0700
        atexit.register(shutil.rmtree, self._directory, ignore_errors=True)
        self._source = os.dup(0)
        self._ended = threading.Event()
        self._problem = ""
        """Why a part of the input is not in the file, or ""."""
        self.path = str(self._directory / "stdin" / "stdin.log")
        """A console log unless its content shows otherwise. The name of the run is its directory's, "stdin"."""
        os.mkdir(os.path.dirname(self.path), 0o700)  # noqa: PTH102
        Path(self.path).touch()  # it must exist before the first byte comes

    def read_all(self) -> str:
        """Copy the whole input and return the path of the file: *.json for a JSON document.

        Raises TuimonError if nothing can be stored; if a part is missing, a message says so.
        """
        if not self._ended.is_set():  # "-" may be given twice
            self._copy()
            if self._problem and not os.stat(self.path).st_size:  # noqa: PTH116
                raise TuimonError(self._sentence(), _HINT)
            self.report_problem()
        if _is_document(self.path):
            self.path = str(Path(self.path).rename(Path(self.path).with_name("stdin.json")))
        return self.path

    def follow(self) -> str:
        """Copy the input on a background thread and return the path of the file."""
        threading.Thread(target=self._copy, name="stdin", daemon=True).start()
        return self.path

    @property
    def is_incomplete(self) -> bool:
        """Whether a part of the input could not be stored."""
        return bool(self._problem)

    def ended(self) -> bool:
        """Return True once all input is in the file."""
        return self._ended.is_set()

    def read_keys_from_terminal(self) -> bool:
        """Make the terminal standard input. Return False if there is no terminal."""
        try:
            terminal = os.open("/dev/tty", os.O_RDWR)
        except OSError:
            return False
        os.dup2(terminal, 0)
        os.close(terminal)
        return True

    def drain_in_background(self) -> None:
        """Start a process that discards the rest of the pipe, if there is one."""
        if self._ended.is_set():
            return
        subprocess.Popen(["cat"], stdin=self._source, stdout=subprocess.DEVNULL, start_new_session=True)
        print_status("the program that writes to the pipe goes on; its output is discarded (ctrl+c ends the program)")

    def report_problem(self) -> None:
        """Print a message if a part of the input could not be stored."""
        if self._problem:
            print_status(f"{self._sentence()}; what came after it was not read. {_HINT}")

    def _sentence(self) -> str:
        return f"cannot store standard input in {clean(str(self._directory.parent))}: {self._problem}"

    def _copy(self) -> None:
        """Copy the input. What cannot be stored is read and discarded, as otherwise its writer would wait for ever."""
        try:
            with open(self.path, "ab", buffering=0) as file:
                while chunk := self._read():
                    while chunk:
                        chunk = chunk[file.write(chunk) :]
        except OSError as error:
            self._problem = error.strerror or type(error).__name__
            while self._read():
                pass
        self._ended.set()
        os.close(self._source)

    def _read(self) -> bytes:
        """Return the next bytes of the input; b"" at its end."""
        try:
            return os.read(self._source, _CHUNK)
        except OSError:
            return b""


_spool: StdinSpool | None = None


def is_incomplete() -> bool:
    """Return whether a part of standard input could not be stored."""
    return _spool is not None and _spool.is_incomplete


def stdin_spool() -> StdinSpool:
    """Return the spool of this process; the first call creates it."""
    global _spool
    if _spool is None:
        if sys.stdin is not None and sys.stdin.isatty():
            print_status("reading from the terminal; press ctrl+d to end the input")
        _spool = StdinSpool()
    return _spool


def hide_spool_path(text: str) -> str:
    """Replace the path of the temporary file in a message by "standard input"."""
    return text if _spool is None else text.replace(_spool.path, "standard input")


def _is_document(path: str) -> bool:
    """Return True if the file is one JSON document over several lines, rather than JSON lines or other text."""
    with open(path, "rb") as file:
        first = file.readline(1 << 20)
        if not first.lstrip().startswith((b"{", b"[")) or os.fstat(file.fileno()).st_size > _LARGEST_DOCUMENT:
            return False
        return not _is_json(first) and _is_json(first + file.read())


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
