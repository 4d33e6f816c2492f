"""Delete mirrors that have not been used for long, or that take more space than all of them may."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import re
import shutil
import time
from collections.abc import Mapping

from tuimon.platform_support import mirror_directory

EXPIRES = 14 * 86400.0
"""Age (s) since its last use after which a mirror is deleted."""
MAX_TOTAL = 5 << 30
"""Bytes of all mirrors above which the ones that were not used for longest are deleted; $TUIMON_MIRROR_MAX."""


def expire(where: str | None = None, now: float | None = None) -> list[str]:
    """Delete mirrors that were not used for EXPIRES, then the oldest ones above the limit; return their paths.

    A mirror that is being filled is kept.
    """
    where, now = where or mirror_directory(), time.time() if now is None else now
    limit = _limit(os.environ)
    mirrors: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError), os.scandir(where) as entries:
        mirrors += (
            (entry.stat().st_mtime, _bytes_below(entry.path), entry.path)
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and os.path.isdir(os.path.join(entry.path, "tree"))
        )
    total, gone = sum(size for _, size, _ in mirrors), []
    for used, size, path in sorted(mirrors):
        if (now - used > EXPIRES or total > limit) and _delete(path):
            gone.append(path)
            total -= size
    return gone


def _limit(environment: Mapping[str, str]) -> int:
    match = re.fullmatch(r"(\d{1,9})\s*([KMGT]?)i?B?", environment.get("TUIMON_MIRROR_MAX", ""), re.IGNORECASE)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2].upper()] if match else MAX_TOTAL


def _bytes_below(directory: str) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(folder, name), follow_symlinks=False).st_blocks * 512
    return total


def _delete(path: str) -> bool:
    """Delete a mirror unless it is being filled; return whether it was deleted."""
    locks = [os.path.join(path, "lock"), *glob.glob(os.path.join(glob.escape(path), "hosts", "*", "lock"))]
    try:
        with contextlib.ExitStack() as stack:
            for lock in locks:
                fcntl.flock(stack.enter_context(open(lock, "ab")), fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path)
    except OSError:
        return False
    return True
