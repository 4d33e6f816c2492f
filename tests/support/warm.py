"""Processes of tuimon that are forked from a process that has already imported it.

A `python -m tuimon…` spends 0.3 to 0.6 s of a core on imports; hundreds of tests start one. Here a server per test
process imports the modules once and forks for each start: a process of its own with the arguments, environment,
directory, descriptors and session that it would have had, which runs the same `__main__` from its first line and ends
as any other. It is a child of the test process, like one that was started by `subprocess`.

Started as usual: other commands (a shell, `python -c`), and those whose start the environment or Popen's options change
in a way that a process which already runs cannot follow, and those with COLD_START in the environment.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MODULES = ("tuimon", "tuimon.reader")
_FIXED = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TZ", "TEXTUAL_")
"""Beginnings of the names of variables that are read only at the start of a process, or when a module is imported."""
_PR_SET_CHILD_SUBREAPER = 36
_server: tuple[socket.socket, subprocess.Popen[bytes], dict[str, str]] | None = None
_started_by = os.getpid()
_lock = threading.RLock()
"""A reader that has died is restarted on a thread."""
_ColdPopen = subprocess.Popen


class WarmPopen(_ColdPopen):  # type: ignore[type-arg]
    """Popen that asks the server for the process where it can."""

    def _execute_child(self, args: Any, executable: Any, *rest: Any) -> None:
        """Called by Popen.__init__, in Python 3.11 to 3.13 with these arguments."""
        preexec_fn, _, pass_fds, cwd, env, _, _, shell, *fds = rest[:14]
        restore_signals, *ids, new_session, group = rest[14:]
        job = None
        if restore_signals and not (executable or pass_fds or shell) and [*ids, group] == [None, None, None, -1, -1]:
            job = _job(args, cwd, os.environ if env is None else env, new_session, preexec_fn)
        if job is None:
            super()._execute_child(args, executable, *rest)
            return
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = fds
        theirs = [own if fd == -1 else fd for own, fd in enumerate((p2cread, c2pwrite, errwrite))]
        try:
            self.pid = _ask(job, theirs)
            self._child_created = True
        finally:
            self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def _job(args: Any, cwd: Any, env: Mapping[Any, Any], new_session: bool, preexec_fn: Any) -> bytes | None:
    """Return the message that asks for a process; None for a process that must be started as usual."""
    if isinstance(args, (str, bytes, os.PathLike)) or os.getpid() != _started_by or "COLD_START" in env:
        return None
    words = list(args)
    start = words[1:4] if words[1:2] == ["-P"] else ["", *words[1:3]]
    if words[0] != sys.executable or start[1:2] != ["-m"] or start[2] not in MODULES:
        return None
    if not all(isinstance(text, str) for text in (*words, *env, *env.values())) or _fixed(env) != _running()[2]:
        return None
    try:
        return pickle.dumps((words, str(cwd or Path.cwd()), dict(env), new_session, preexec_fn))
    except (pickle.PicklingError, AttributeError, OSError):  # a local function; no directory
        return None


def _fixed(env: Mapping[str, str]) -> dict[str, str]:
    # the server adds the paths in PYTHONPATH: they hold plug-ins, no other versions of what it has imported
    return {name: value for name, value in env.items() if name.startswith(_FIXED) and name != "PYTHONPATH"}


def _running() -> tuple[socket.socket, subprocess.Popen[bytes], dict[str, str]]:
    global _server
    with _lock:
        if _server is None:
            _server = _start()
        return _server


def _start() -> tuple[socket.socket, subprocess.Popen[bytes], dict[str, str]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = Path(__file__).with_name("warm_server.py")
    words = [sys.executable, "-P", str(script), str(theirs.fileno())]
    process = _ColdPopen(words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    theirs.close()
    return ours, process, _fixed(os.environ)


def _ask(job: bytes, fds: list[int]) -> int:
    """Return the PID of the new process, a child of this one."""
    channel, _, _ = _running()
    # The server forks twice, and the process in between ends: the orphan is given to the next subreaper.
    prctl = ctypes.CDLL(None).prctl
    with _lock:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(channel, [job], fds)
            # the PID when the process is prepared, and "." when the process in between has ended
            [pid] = {channel.recv(100), channel.recv(100)} - {b"."}
        finally:
            prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    return int(pid)


def stop() -> None:
    """End the server, if one runs."""
    global _server
    if _server is not None and os.getpid() == _started_by:
        channel, process, _ = _server
        channel.close()
        process.wait()
        _server = None
