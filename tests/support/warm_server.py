"""The server of `support.warm`: imports what tuimon's processes import, and forks for each message."""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import pickle
import runpy
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_PRELOADED = (
    "tuimon.reader.process",
    "tuimon.commands",
    "tuimon.commands.check",
    "tuimon.commands.export",
    "tuimon.commands.summary",
    "tuimon.commands.watch",
    "tuimon.monitor.local",
    "tuimon.tui.app",
)
_TESTS = str(Path(__file__).parent.parent)


def serve(channel: socket.socket) -> str:
    """Fork for each message until the test process ends; return, in each new process, the module that it shall run."""
    while True:
        message, fds, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            os._exit(0)
        between = os.fork()
        if not between:
            if os.fork():
                os._exit(0)
            try:
                return _become(message, fds)
            finally:
                channel.send(str(os.getpid()).encode())
                channel.close()
        os.waitpid(between, 0)
        for fd in fds:
            os.close(fd)
        channel.send(b".")


def _become(message: bytes, fds: list[int]) -> str:
    """Take the descriptors, arguments, environment and directory of the message; return the module."""
    sys.path.append(_TESTS)  # for preexec_fn
    words, directory, environment, new_session, prepare = pickle.loads(message)
    sys.path.remove(_TESTS)
    os.chdir(directory)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    os.environ.clear()
    os.environ.update(environment)
    if new_session:
        os.setsid()
    if prepare is not None:
        prepare()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as Python does at its start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # so does this: a write to an ended process is an error, not the end
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        stream = io.TextIOWrapper(
            open(number, "wb" if number else "rb", closefd=False),  # noqa: SIM115  open until the end
            old.encoding,
            old.errors,
            "\n" if number else None,
            line_buffering=number == 2 or os.isatty(number),
        )
        stream.mode = "w" if number else "r"  # type: ignore[attr-defined]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    place = words.index("-m")
    sys.orig_argv = words
    sys.argv = ["-m", *words[place + 2 :]]
    if place == 1:
        sys.path.insert(0, directory)
    paths = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:0] = [path for path in paths if path not in sys.path]
    return str(words[place + 1])


def _end(code: int) -> NoReturn:
    """End as Python does, but without clearing the modules one by one, which takes 0.1 s here."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        print(f"Exception ignored in: {sys.stdout!r}\n{type(error).__name__}: {error}", file=sys.stderr)
        code = 120
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(code)


def _run(module: str) -> NoReturn:
    try:
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]  what `python -m` calls
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        _end(end.code & 0xFF if isinstance(end.code, int) else int(end.code is not None))
    except BaseException as error:  # noqa: BLE001  the interpreter would report it
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        _end(1)
    _end(0)


if __name__ == "__main__":
    for module in _PRELOADED:
        importlib.import_module(module)
    sys.path.append(_TESTS)
    loud = importlib.import_module("support.loud").loud
    sys.path.remove(_TESTS)
    sys.modules["tuimon.registry"]._failure_of = loud  # type: ignore[attr-defined]
    gc.collect()
    gc.freeze()  # a process that has been forked does not copy these objects to look at them
    module = serve(socket.socket(fileno=int(sys.argv[1])))
    _run(module)
