"""Note for the reader which logs the processes of a host hold open, and which logs were written at once, as by a copy.

On the host: `find /proc/[0-9]*/fd` with the device and inode of every file that is open for writing, every 10 s, or
seldomer so that it takes 2 % of the time.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import Sequence

from msgspec import Struct

from tuimon.remote.host import Host
from tuimon.remote.mirror import Mirror
from tuimon.remote.tree import File, Tree
from tuimon.sources.mounts import is_remote
from tuimon.sources.writers import CLOSED, OPEN, UNKNOWN
from tuimon.text import clean

SEARCH_EVERY = 10.0
SHARE = 0.02
"""Fraction of the time that the searches may take."""
_AT_ONCE = 2.0
"""Seconds between birth and last change of an appended file within which it was written at once."""
_NOTEBOOKS = ("ipykernel", "jupyter", "colab")
"""Of command lines of kernels, which hold files open after a training."""
_HOLDERS = (
    "id -u; n=0 h=0; for p in /proc/[0-9]*; do "
    'if [ -r "$p/fd" ]; then [ "$p" = /proc/$$ ] || n=$((n+1)); else c=; read -r c < "$p/comm"; '
    "case $c in python*) h=1;; esac; fi; done; echo $n $h; "
    "find /proc/[0-9]*/fd -type l -perm -200 -exec stat -Lc '%f %d:%i %n' {} + | grep '^8'"
)


class Writers:
    """Notes who writes the logs of one host."""

    def __init__(self, host: Host, mirror: Mirror, tree: Tree) -> None:
        self._host, self._mirror, self._tree = host, mirror, tree
        self._first: asyncio.Future[tuple[bytes, bytes]] | None = None
        self._networks: frozenset[int] = frozenset()
        self._processes: dict[str, tuple[str, bool]] = {}
        """(name, whether it is a notebook) by process id."""
        self._held: dict[str, str] = {}
        """Descriptor by path on the host."""

    def begin(self) -> None:
        """Ask for what the first `update` needs, without waiting for it."""
        self._first = asyncio.gather(self._host.ask("cat /proc/self/mountinfo"), self._host.ask(_HOLDERS))

    async def update(self, files: Sequence[File]) -> float:
        """Search the processes of the host, and note what has changed. files: the logs. Return the seconds until the
        next search."""
        began = time.monotonic()
        if self._first:
            (mounts, answer), self._first = await self._first, None
            self._networks = networks_in(mounts)
        else:
            answer = await self._host.ask(_HOLDERS)
        found = holders_in(answer)
        if found is None:
            return math.inf
        is_new = False
        for file in files:
            process, descriptor = found.by_identity.get(file.now.identity, ("", ""))
            before = self._held.pop(file.path, "")
            name, is_notebook = await self._process(process) if process else ("", False)
            if is_notebook or int(file.now.identity.partition(":")[0] or 0) in self._networks:
                self._mirror.note(file.local, writer=UNKNOWN, process="", modified=0.0)
            elif process:
                self._held[file.path] = descriptor
                is_new = is_new or before != descriptor
                holder = f"{name or 'a process'} (pid {process})"
                self._mirror.note(file.local, writer=OPEN, process=holder, modified=0.0, again=before == descriptor)
            else:
                self._note_unheld(file, found)
        self._mirror.save_notes()
        return 1.0 if is_new else max(SEARCH_EVERY, (time.monotonic() - began) / SHARE)

    def _note_unheld(self, file: File, found: Holders) -> None:
        now = file.now
        state = CLOSED if found.certain and found.user in (0, now.owner) else UNKNOWN
        at_once = abs(now.modified - now.born) < _AT_ONCE  # False for an unknown birth
        if at_once and file.mode != "grow":  # a document is as young as its last version
            folder = self._tree.folder_of(file.path)
            at_once = folder is not None and abs(now.born - folder.born) < 2.5 * _AT_ONCE
        modified = now.modified + self._host.skew
        self._mirror.note(file.local, writer=state, process="", modified=modified, copied=at_once, again=False)

    async def _process(self, process: str) -> tuple[str, bool]:
        """Return (name, whether it is a notebook's kernel)."""
        if process not in self._processes:
            question = f"cd /proc/{int(process)} && cat comm && dd if=cmdline bs=4096 count=1"
            name, _, command = (await self._host.ask(question)).decode("utf-8", "replace").partition("\n")
            self._processes[process] = clean(name), any(word in command.lower() for word in _NOTEBOOKS)
        return self._processes[process]


class Holders(Struct, frozen=True):
    """Which files the processes of a host hold open for writing."""

    by_identity: dict[str, tuple[str, str]]
    """(process id, descriptor) by Entry.identity."""
    user: int
    """The user as whom they were looked at."""
    certain: bool
    """Whether there were processes to look at, and none of Python's was hidden."""


def holders_in(answer: bytes) -> Holders | None:
    """Return what an answer says of open files; None if the host cannot know it."""
    lines = os.fsdecode(answer).split("\n")
    if len(lines) < 2 or not lines[0].isdigit() or not re.fullmatch(r"\d+ [01]", lines[1]):
        return None
    inspected, hidden = lines[1].split()
    found = {}
    for line in lines[2:]:
        if match := re.fullmatch(r"8[0-9a-f]+ (\d+:\d+) (/proc/(\d{1,12})/fd/\d+)", line):
            found[match[1]] = match[3], match[2]
    return Holders(found, int(lines[0][:9]), inspected != "0" and hidden == "0")


def networks_in(answer: bytes) -> frozenset[int]:
    """Return the devices that other machines can write to, too, by /proc/self/mountinfo."""
    devices = set()
    for line in os.fsdecode(answer).splitlines():
        fields, _, rest = line.partition(" - ")
        device = fields.split(" ")[2:3]
        if device and is_remote(rest.split(" ")[0]) and re.fullmatch(r"\d{1,9}:\d{1,9}", device[0]):
            devices.add(os.makedev(*map(int, device[0].split(":"))))
    return frozenset(devices)
