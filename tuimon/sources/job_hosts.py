"""Directories in which each host of one job has a directory of its own, as mirrors of many hosts are stored.

    …/hosts.tuimon/<job>/<name>/<host>/<path of a log>

The logs of all hosts are grouped into runs as if they lay in one directory, and the host is the node of the processes
that wrote them. Directories of file systems that hosts share are called `shared:…` in place of a host.
"""

from __future__ import annotations

import os

from tuimon import lazy_re as re

MARKER = "hosts.tuimon"
SHARED = "shared:"
"""Begin of the names of directories that are no host's; no name of a host contains a colon after a word."""
UNREACHABLE = "unreachable"
"""File below …/hosts/<host>/ of a mirror that says why the host cannot be reached."""
_PATH = re.compile(rf"(.*/{re.escape(MARKER)}/[^/]+/[^/]+)/([^/]+)(/.*)?", re.DOTALL)


def merged(path: str) -> str:
    """Return the path of a log of a job without its host; other paths as they are."""
    match = _PATH.fullmatch(path) if MARKER in path else None
    return f"{match[1]}{match[3] or ''}" if match else path


def job_root(path: str) -> str:
    """Return the directory of all hosts of the job that a log is of, or ""."""
    match = _PATH.fullmatch(path) if MARKER in path else None
    return match[1] if match else ""


def host_of(path: str) -> str:
    """Return the host that a log of a job was written on; "" for other logs and for those on shared file systems."""
    match = _PATH.fullmatch(path) if MARKER in path else None
    return host_named(match[2]) if match else ""


def host_named(directory: str) -> str:
    """Return the host that a directory of a job belongs to, or "". A second directory of a host is called host+2."""
    return "" if directory.startswith(SHARED) else directory.partition("+")[0]


def unreachable_hosts(root: str) -> dict[str, str]:
    """Return (host: why) of those that cannot be reached now, as the program that fills the mirrors has noted.

    root: the directory of all hosts of a job.
    """
    hosts = os.path.join(root, *[os.pardir] * 4, "hosts")
    reasons: dict[str, str] = {}
    try:
        names = sorted(os.listdir(hosts))
    except OSError:
        return reasons
    for name in names:
        try:
            with open(os.path.join(hosts, name, UNREACHABLE), encoding="utf-8", errors="replace") as file:
                reasons.setdefault(host_named(name), file.read(400))
        except OSError:
            continue
    return reasons
