"""Find the processes that hold log files open for writing, from /proc/PID/fd (proc_pid_fd(5)).

A trainer that has ended holds no file open, and one that hangs still does: this distinguishes a finished run from a
stalled one where the log itself does not. The result is "unknown" where it would be a guess: without /proc, on a
network file system, for files of another user, and if no other process or a Python process could not be inspected.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping

from msgspec import Struct

OPEN, CLOSED, UNKNOWN = "open", "closed", "unknown"
PROC = "/proc"
_NOTEBOOKS = (b"ipykernel", b"jupyter", b"colab")
"""Words in command lines of kernels, which hold files open after a training."""
_DELETED = " (deleted)"


class Writer(Struct, frozen=True):
    """Whether a process holds a file open for writing."""

    state: str = UNKNOWN
    """open | closed | unknown."""
    process: str = ""
    """Name and id of the process, as "python (pid 4711)"; "" unless the state is open."""
    descriptor: str = ""
    """Path of the descriptor that is open, as "/proc/4711/fd/3"; "" unless it is one of this machine."""


def writers(paths: Iterable[str], proc: str = PROC) -> Mapping[str, Writer]:
    """Return the writer of each file. Takes about 2 us for each open file on the machine, so call it rarely.

    paths: files on local file systems. proc: the directory of the processes, for tests.
    """
    files = {path: status for path in paths if (status := _status(path)) is not None}
    by_name = {os.path.basename(os.path.realpath(path)) for path in files}
    by_identity: dict[tuple[int, int], list[str]] = {}
    for path, status in files.items():
        by_identity.setdefault((status.st_dev, status.st_ino), []).append(path)
    found: dict[str, Writer] = {}
    inspected, hidden = 0, False
    for process in _processes(proc):
        try:
            for identity, descriptor in _open_files(process, by_name):
                for path in by_identity.get(identity, ()):
                    found[path] = _described(process, descriptor)
            inspected += os.path.basename(process) != str(os.getpid())
        except PermissionError:  # a daemon, usually; a trainer can be inspected by its user
            hidden |= _comm(process).startswith("python")
        except OSError:
            continue  # it has ended
    user = os.geteuid() if hasattr(os, "geteuid") else -1
    for path, status in files.items():
        certain = inspected and not hidden and user in (0, status.st_uid)
        found.setdefault(path, Writer(CLOSED if certain else UNKNOWN))
    return found


def still_holds(writer: Writer, path: str) -> bool:
    """Return whether the descriptor of a writer still belongs to the file at `path`. Two calls of stat(), so cheap."""
    held = _status(writer.descriptor)
    if held is None:
        return False
    status = _status(path)
    return status is None or os.path.samestat(held, status)  # a deleted file is still held open


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _processes(proc: str) -> list[str]:
    """Return the directories of all processes."""
    try:
        return [os.path.join(proc, name) for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []


def _open_files(process: str, by_name: Container[str]) -> list[tuple[tuple[int, int], str]]:
    """Return ((device, inode), descriptor) of the files with one of the names that a process holds open for writing.

    Raises OSError.
    """
    result = []
    directory = os.path.join(process, "fd")
    for descriptor in os.listdir(directory):
        link = os.path.join(directory, descriptor)
        try:
            target = os.readlink(link)
            if target.endswith(_DELETED):
                target = target[: -len(_DELETED)]
            # The path may be that of another mount namespace: device and inode decide, the name only saves a stat().
            if os.path.basename(target) not in by_name or not _is_writable(process, descriptor):
                continue
            status = os.stat(link)
        except FileNotFoundError:
            continue  # it was closed meanwhile
        result.append(((status.st_dev, status.st_ino), link))
    return result


def _is_writable(process: str, descriptor: str) -> bool:
    """Return whether a descriptor is open for writing: a viewer holds a log open for reading. Raises OSError."""
    with open(os.path.join(process, "fdinfo", descriptor), encoding="ascii") as file:
        for line in file:
            if line.startswith("flags:"):
                return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _described(process: str, descriptor: str) -> Writer:
    """Return the writer that a process is; its state is "unknown" for the kernel of a notebook."""
    try:
        with open(os.path.join(process, "cmdline"), "rb") as file:
            command = file.read(4096).lower()
    except OSError:
        command = b""
    if any(mark in command for mark in _NOTEBOOKS):
        return Writer()
    return Writer(OPEN, f"{_comm(process) or 'a process'} (pid {os.path.basename(process)})", descriptor)


def _comm(process: str) -> str:
    try:
        with open(os.path.join(process, "comm"), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
