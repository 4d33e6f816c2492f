"""Note for the reader which logs the processes of a host hold open, and which logs were written at once, as by a copy.

On the host: `find /proc/[0-9]*/fd` with the device and inode of every file that is open for writing, every 10 s, or
seldomer so that it takes 2 % of the time.
"""

from __future__ import annotations

import asyncio
import math
import posixpath
import time
from collections.abc import Sequence
from typing import Any

from tuimon.remote.entries import Entry, Holders, Host
from tuimon.remote.mirror import Mirror
from tuimon.remote.tree import File
from tuimon.sources.writers import CLOSED, OPEN, UNKNOWN
from tuimon.text import clean

SEARCH_EVERY = 10.0
SHARE = 0.02
"""Fraction of the time that the searches may take."""
_AT_ONCE = 2.0
"""Seconds between birth and last change of an appended file within which it was written at once."""
_NOTEBOOKS = ("ipykernel", "jupyter", "colab")
"""Of command lines of kernels, which hold files open after a training."""
_TOGETHER = 250


class Writers:
    """Notes who writes the logs of one host."""

    def __init__(self, host: Host, mirror: Mirror) -> None:
        self._host, self._mirror = host, mirror
        self._next = 0.0
        self._first: asyncio.Future[tuple[frozenset[int], Holders | None]] | None = None
        self._networks: frozenset[int] = frozenset()
        self._processes: dict[str, tuple[str, bool]] = {}
        """(name, whether it is a notebook) by process id."""
        self._held: dict[str, tuple[str, float]] = {}
        """(descriptor, monotonic time at which it was seen first) by path on the host."""
        self._unheld: dict[str, Entry] = {}
        """What a file was when it was noted not to be held open, by path on the host."""

    def begin(self) -> None:
        """Ask for what the first `update` needs, without waiting for it."""
        self._first = asyncio.gather(self._host.networks(), self._host.holders())

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    async def update(self, files: Sequence[File]) -> None:
        """Search the processes of the host, and note what has changed. files: the logs."""
        began = time.monotonic()
        self._next = math.inf
        if self._first:
            (self._networks, found), self._first = await self._first, None
        else:
            found = await self._host.holders()
        if found is None:
            return
        is_new = False
        unheld: dict[str, File] = {}
        for file in files:
            process, descriptor = found.by_identity.get(file.now.identity, ("", ""))
            device = file.now.identity.partition(":")[0]
            if int(device or 0) in self._networks:
                self._mirror.note(file.local, writer=UNKNOWN, process="", modified=0.0)
            elif process and not (await self._process(process))[1]:
                before, since = self._held.get(file.path, ("", began))
                is_new = is_new or before != descriptor
                self._held[file.path] = descriptor, since if before == descriptor else began
                self._unheld.pop(file.path, None)
                name = f"{(await self._process(process))[0] or 'a process'} (pid {process})"
                self._mirror.note(file.local, writer=OPEN, process=name, modified=0.0, again=before == descriptor)
            else:
                self._held.pop(file.path, None)
                if process:
                    self._mirror.note(file.local, writer=UNKNOWN, process="", modified=0.0)
                elif self._unheld.get(file.path) != file.now:
                    unheld[file.path] = file
        await self._note_unheld(unheld, found.user, found.certain)
        self._mirror.save_notes()
        spent = time.monotonic() - began
        self._next = began + (1.0 if is_new else max(SEARCH_EVERY, spent / SHARE))

    async def _note_unheld(self, files: dict[str, File], user: int, certain: bool) -> None:
        paths = list(files)
        for start in range(0, len(paths), _TOGETHER):
            some = paths[start : start + _TOGETHER]
            folders = sorted({posixpath.dirname(path) or "." for path in some})
            facts = await self._host.births([*some, *folders])
            for path in some:
                if path in facts:
                    file, (owner, _, born, _) = files[path], facts[path]
                    self._unheld[path] = file.now
                    state = CLOSED if certain and user in (0, owner) else UNKNOWN
                    at = file.now.modified
                    at_once = abs(at - born) < _AT_ONCE  # False for an unknown birth
                    if at_once and file.mode != "grow":  # a document is as young as its last version
                        folder = facts.get(posixpath.dirname(path) or ".")
                        at_once = folder is not None and abs(born - folder[2]) < 2.5 * _AT_ONCE
                    known: dict[str, Any] = {"modified": at + self._host.skew}
                    self._mirror.note(file.local, writer=state, process="", copied=at_once, again=False, **known)

    async def _process(self, process: str) -> tuple[str, bool]:
        """Return (name, whether it is a notebook's kernel)."""
        if process not in self._processes:
            name, command = await self._host.describe(process)
            self._processes[process] = clean(name), any(word in command.lower() for word in _NOTEBOOKS)
        return self._processes[process]
