"""The part of the agent that finds the processes that write the followed files; see agent.py, before which it is sent.

Python >= 3.6, standard library only.
"""

import os
import time
from typing import Any, Dict, Tuple

from tuimon.remote.agent_walk import File, Out
from tuimon.sources.copies import is_copy, is_written_in_place
from tuimon.sources.mounts import is_remote, type_of
from tuimon.sources.open_files import HELD, UNSEEN, holders, is_held

SEARCH_EVERY = 10.0  # s, between two searches among all processes
CHECK_EVERY = 1.0  # s, between two checks of the descriptors that are known to be open
SHARE = 0.02  # fraction of the time that the searches may take


class Writers:
    """Sends who writes a file, whenever that has changed."""

    def __init__(self, out: Out) -> None:
        self.out = out
        self.held: Dict[int, Tuple[str, float]] = {}  # id -> descriptor and the time since which it was seen
        self.sent: Dict[int, Tuple[Any, ...]] = {}
        self.networks: Dict[int, bool] = {}  # device -> whether other machines write there, too
        self.next_search = self.next_check = 0.0

    def is_due(self) -> bool:
        """Is a check or a search due?"""
        return time.time() >= min(self.next_check, self.next_search)

    def update(self, files: Dict[int, File], hurry: bool = False) -> None:
        """Do the check and the search that are due. files: those that are followed. hurry: search for new ones now."""
        now = time.time()
        lost = False
        if now >= self.next_check:
            self.next_check = now + CHECK_EVERY
            for id, (descriptor, since) in list(self.held.items()):
                if id in files and is_held(descriptor, files[id].path):
                    if now - since >= CHECK_EVERY:
                        self.send(id, (*self.sent[id][:5], True))
                else:
                    del self.held[id]
                    lost = True
        new = hurry and not self.sent.keys() >= files.keys()
        if files and (lost or new or now >= self.next_search):
            self.search(files)
            spent = time.time() - now
            self.next_search = now + max(SEARCH_EVERY, spent / SHARE)

    def search(self, files: Dict[int, File]) -> None:
        """Search the processes of this machine for the writers of all files."""
        statuses: Dict[str, os.stat_result] = {}
        for file in files.values():
            try:
                statuses[file.path] = os.stat(file.path)
            except OSError:
                pass  # the look reports it
        local = {path: status for path, status in statuses.items() if not self.is_on_network(path, status)}
        found = holders(local) if local else {}
        now = time.time()
        for id, file in files.items():
            status = statuses.get(file.path)
            if status is None:
                continue
            state, process, descriptor = found.get(file.path, (UNSEEN, "", ""))
            if state == HELD:
                known = self.held.get(id, ("", now))
                self.held[id] = known if known[0] == descriptor else (descriptor, now)
                before = self.sent.get(id)
                again = known[0] == descriptor and before is not None and before[-1]
                self.send(id, (state, process, 0.0, False, False, again))
                continue
            self.held.pop(id, None)
            if self.sent.get(id, ())[:3] != (state, "", status.st_mtime):
                copied = is_copy(file.path, file.mode == "grow")
                in_place = is_written_in_place(file.path)
                self.send(id, (state, "", status.st_mtime, in_place, copied, False))

    def send(self, id: int, writer: Tuple[Any, ...]) -> None:
        if self.sent.get(id) != writer:
            self.sent[id] = writer
            names = ("state", "process", "mtime", "in_place", "copied", "again")
            self.out.send("writer", id=id, **dict(zip(names, writer)))

    def is_on_network(self, path: str, status: os.stat_result) -> bool:
        """Is the file on a network file system, where processes of other machines may write it?"""
        if status.st_dev not in self.networks:
            try:
                self.networks[status.st_dev] = is_remote(type_of(path) or "")
            except OSError:
                self.networks[status.st_dev] = False
        return self.networks[status.st_dev]
