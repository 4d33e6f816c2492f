"""`-` as a path: what comes through standard input, kept in a private temporary file that is read and followed like any
other log, and removed at the end.

A screen needs standard input for its keys, so the pipe is moved aside and the terminal put in its place. When the
screen is left before the pipe has ended, somebody must go on reading it: a training whose output nobody takes is killed
by its next line (SIGPIPE).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tuimon.commands._shared import say
from tuimon.scratch import scratch

_PIECE = 1 << 16
_LARGEST = 1 << 28
"""Bytes of what is looked at whole."""


class PipedInput:
    """The file that standard input is written to."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="tuimon-", dir=scratch()))  # nobody else may look into it
        atexit.register(shutil.rmtree, self._directory, ignore_errors=True)
        self._source = os.dup(0)
        self._ended = threading.Event()
        self.path = str(self._directory / "stdin" / "stdin.log")
        """A console log, until what it holds says otherwise: the run is called stdin."""
        os.mkdir(os.path.dirname(self.path), 0o700)  # noqa: PTH102
        Path(self.path).touch()  # which is there before the first byte is

    def read_to_its_end(self) -> str:
        """Waits for the end of the input; gives the path, which says whether it is a JSON document."""
        if not self._ended.is_set():  # `-` may be named twice
            self._copy()
        if _is_document(self.path):
            self.path = str(Path(self.path).rename(Path(self.path).with_name("stdin.json")))
        return self.path

    def follow(self) -> str:
        """Goes on reading beside whatever else is done; gives the path."""
        threading.Thread(target=self._copy, name="stdin", daemon=True).start()
        return self.path

    def ended(self) -> bool:
        """Whether all of the input is in the file."""
        return self._ended.is_set()

    def keys_from_the_terminal(self) -> bool:
        """Puts the terminal in the place of standard input. False where there is none."""
        try:
            terminal = os.open("/dev/tty", os.O_RDWR)
        except OSError:
            return False
        os.dup2(terminal, 0)
        os.close(terminal)
        return True

    def hand_over(self) -> None:
        """Leaves the pipe, if it has not ended, to a process that reads it to its end and drops what comes."""
        if self._ended.is_set():
            return
        subprocess.Popen(["cat"], stdin=self._source, stdout=subprocess.DEVNULL, start_new_session=True)
        say("tuimon: what writes into the pipe goes on; its output is dropped from here (ctrl+c ends it)")

    def _copy(self) -> None:
        # OSError: the disk is full, or the descriptor has been handed over.
        with contextlib.suppress(OSError), open(self.path, "ab", buffering=0) as file:
            while piece := os.read(self._source, _PIECE):
                while piece:
                    piece = piece[file.write(piece) :]
            self._ended.set()
            os.close(self._source)


_piped_input: PipedInput | None = None


def piped_input() -> PipedInput:
    """The one of this process."""
    global _piped_input
    if _piped_input is None:
        if sys.stdin is not None and sys.stdin.isatty():
            say("tuimon: reading what you type; ctrl+d ends it")
        _piped_input = PipedInput()
    return _piped_input


def in_words(text: str) -> str:
    """The text, which may name the file, for a person, who has never heard of it."""
    return text if _piped_input is None else text.replace(_piped_input.path, "standard input")


def _is_document(path: str) -> bool:
    """Is it one JSON document over several lines, and not one a line?"""
    with open(path, "rb") as file:
        first = file.readline(1 << 20)
        if not first.lstrip().startswith((b"{", b"[")) or os.fstat(file.fileno()).st_size > _LARGEST:
            return False
        return not _is_json(first) and _is_json(first + file.read())


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
