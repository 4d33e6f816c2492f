"""Find the processes that hold files open for writing, from /proc/PID/fd (proc_pid_fd(5))."""

import os
from collections.abc import Container, Mapping

HELD, UNHELD, UNSEEN = "open", "closed", "unknown"  # OPEN, CLOSED and UNKNOWN of tuimon/sources/writers.py
PROC = "/proc"
_NOTEBOOKS = (b"ipykernel", b"jupyter", b"colab")  # of command lines of kernels, which hold files open after a training
_DELETED = " (deleted)"

Holder = tuple[str, str, str]  # state, process, descriptor: the fields of Writer in tuimon/sources/writers.py


def holders(files: Mapping[str, os.stat_result], proc: str = PROC) -> dict[str, Holder]:
    """Return the holder of each file. Takes about 2 us for each open file on the machine, so call it rarely.

    files: status by path, of files on local file systems. proc: the directory of the processes, for tests.
    """
    by_name = {os.path.basename(os.path.realpath(path)) for path in files}
    by_identity: dict[tuple[int, int], list[str]] = {}
    for path, status in files.items():
        by_identity.setdefault((status.st_dev, status.st_ino), []).append(path)
    found: dict[str, Holder] = {}
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
        found.setdefault(path, (UNHELD if certain else UNSEEN, "", ""))
    return found


def is_held(descriptor: str, path: str) -> bool:
    """Return whether a descriptor still belongs to the file at `path`. Two calls of stat(), so cheap."""
    try:
        held = os.stat(descriptor)
    except OSError:
        return False
    try:
        return os.path.samestat(held, os.stat(path))
    except OSError:
        return True  # the file was deleted, and is still held open


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


def _described(process: str, descriptor: str) -> Holder:
    """Return the holder that a process is; its state is "unknown" for the kernel of a notebook."""
    try:
        with open(os.path.join(process, "cmdline"), "rb") as file:
            command = file.read(4096).lower()
    except OSError:
        command = b""
    if any(mark in command for mark in _NOTEBOOKS):
        return UNSEEN, "", ""
    return HELD, f"{_comm(process) or 'a process'} (pid {os.path.basename(process)})", descriptor


def _comm(process: str) -> str:
    try:
        with open(os.path.join(process, "comm"), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
