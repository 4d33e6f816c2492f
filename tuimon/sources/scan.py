"""Finding the log files below the paths a person names, and later what has been added.

Breadth first, so that a budget that ends the search cuts off the deepest and not the last in the alphabet; real
directories before linked ones, so that a log is known by its own name and not by that of a link `latest`. A directory
is entered once by its (device, inode), which ends loops. No file is opened here.

`rescan` asks each known directory for its time of change and lists only those that have another. Three kinds are
listed though their time says nothing: changed less than two seconds before they were listed (clocks of file systems
are coarse), holding a link that led nowhere, and not listed for a minute (some network mounts keep no such times).

A hurried scan looks into the newest of many checkpoints alone, as far as their names tell which they are; the others
come with the first rescan. A screen waits for it: 10 000 directories take half a second.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tuimon.sources.listing import (
    Child,
    FoundFile,
    Listing,
    Problem,
    Wants,
    list_directory,
    special,
    stamp_of,
    try_stat,
)
from tuimon.sources.pruning import Place

__all__ = ["FoundFile", "Problem", "Scan", "ScanBudget", "rescan", "scan"]

REVISITS = 256
"""Directories listed again for their age in one rescan, so that the cost is spread."""
STILL, STILL_EVERY, MANY = 20.0, 3, 100
"""Of so many directories, those with logs that have not changed for so many seconds are asked in every third rescan:
most of what is new is a directory beside them, and of some the system tells at once."""

CHECKPOINTS_IN_A_HURRY = 16
"""Of one directory, in a hurried scan."""


class ScanBudget(Struct, frozen=True):
    """Where a search ends. A whole home directory or `/` is searched up to here, and the scan says so."""

    depth: int = 16
    entries: int = 1_000_000
    seconds: float = 10.0


class Scan(Struct, frozen=True):
    """What was found."""

    files: tuple[FoundFile, ...]
    """By path; each real file once."""
    directories: tuple[str, ...]
    """Those in which a new log can appear (checkpoints left out), the most lately changed first."""
    checkpoints: tuple[str, ...]
    """Directories that hold a checkpoint, and files that may be one each, in the order found."""
    problems: tuple[Problem, ...]
    complete: bool
    """False when a budget ended the search."""
    hurried: bool
    """Checkpoints were left for a rescan."""
    _memory: _Memory


_USUAL = ScanBudget()


def scan(roots: Sequence[str], wants: Wants, budget: ScanBudget = _USUAL, hurry: bool = False) -> Scan:
    """Search below `roots`: directories, single files (taken whatever their name), or missing paths (a Problem).

    wants: is the file at this path worth listing? Called once a file, before the file is looked at.
    hurry: of many checkpoints the newest alone.
    """
    memory = _Memory(tuple(dict.fromkeys(map(_absolute, roots))), wants, budget)
    return _Search(memory, budget.seconds, again=False, hurry=hurry).run()


def rescan(previous: Scan, seconds: float = 0.5) -> Scan:
    """The same search again, entering only directories that have changed. Gives `previous` itself when nothing has.

    Sizes and times of files in unchanged directories stay as they were: who follows a file knows better. When
    `seconds` are over, the directories that remain keep what is known of them and come first the next time.
    """
    memory = previous._memory
    if previous.hurried:  # its second half
        return _Search(memory, memory.budget.seconds, again=False).run()
    if not memory.changed(time.monotonic() + seconds):
        return previous
    result = _Search(memory, seconds, again=True).run()
    return previous if result == previous else result


class _Memory(Struct, eq=False):
    """What a scan and its rescans share."""

    roots: tuple[str, ...]
    wants: Wants
    budget: ScanBudget
    listings: dict[str, Listing] = field(default_factory=dict)
    root_states: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    unfinished: bool = False
    """A rescan ran out of time."""
    cursor: int = 0
    turn: int = 0
    """Which directories that stand still are asked this time."""

    def changed(self, deadline: float) -> bool:
        """Is there a directory to be listed? Goes round: what was not asked for lack of time comes first next time."""
        if self.unfinished or any(_root_state(try_stat(root)[0]) != self.root_states[root] for root in self.roots):
            return True
        paths = [path for path, listing in self.listings.items() if not listing.settled]
        now, still = time.monotonic(), time.time() - STILL
        many, asked, begin = len(paths) > MANY, 0, self.cursor
        for at in (*range(begin, len(paths)), *range(min(begin, len(paths)))):
            path = paths[at]
            listing = self.listings[path]
            if at == 0:
                self.turn = (self.turn + 1) % STILL_EVERY
            if many and listing.files and listing.stamp[1] % STILL_EVERY != self.turn and listing.modified < still:
                continue
            try:
                if now - listing.listed >= listing.good_for or stamp_of(os.stat(path)) != listing.stamp:
                    return True
            except OSError:
                return True
            asked += 1
            if asked % 64 == 0 and time.monotonic() > deadline:
                self.cursor = (at + 1) % len(paths)
                break
        return False


class _Search:
    """One walk. Directories whose stamp is known give their listing from memory."""

    def __init__(self, memory: _Memory, seconds: float, again: bool, hurry: bool = False) -> None:
        """again: all has been searched before."""
        self._memory = memory
        self._hurry = hurry
        self._hurried = False
        self._known = memory.listings
        self._rescan = again
        now = time.monotonic()
        self._deadline = now + seconds
        expired = sorted((listing.listed, path) for path, listing in self._known.items() if listing.expired(now))
        self._due = {path for _, path in expired[:REVISITS]}
        self._entries = 0
        self._exhausted = ""
        self._too_deep = ""
        """The first directory left out for its depth."""
        self._out_of_time = False
        self._listings: dict[str, Listing] = {}
        self._visited: set[tuple[int, int]] = set()
        self._files: dict[str, tuple[FoundFile, bool]] = {}
        self._directories: dict[str, float] = {}
        self._checkpoints: list[str] = []
        self._problems: list[Problem] = []
        self._queue: deque[tuple[str, str, int, Place, int]] = deque()
        self._links: deque[tuple[str, str, int, Place, int]] = deque()

    def run(self) -> Scan:
        for root in self._memory.roots:
            self._begin(root)
        while (self._queue or self._links) and not self._exhausted:
            self._enter(*(self._queue or self._links).popleft())
        hint = "name a run's own directory, or one nearer to it"
        if self._exhausted:
            self._problems.append(Problem(self._memory.roots[0], self._exhausted, hint))
        if self._too_deep:
            self._problems.append(Problem(self._too_deep, f"deeper than {self._memory.budget.depth} directories", hint))
        self._memory.listings = self._listings
        self._memory.unfinished = self._rescan and self._out_of_time
        return Scan(
            files=self._distinct_files(),
            directories=tuple(sorted(self._directories, key=lambda path: (-self._directories[path], path))),
            checkpoints=tuple(self._checkpoints),
            problems=tuple(self._problems),
            complete=not self._exhausted and not self._too_deep,
            hurried=self._hurried,
            _memory=self._memory,
        )

    def _begin(self, root: str) -> None:
        status, error = try_stat(root)
        self._memory.root_states[root] = _root_state(status)
        if status is not None and stat.S_ISDIR(status.st_mode):
            self._queue.append((root, root, 0, Place.OPEN, 0))
            return
        parent = os.path.dirname(root)
        if (above := try_stat(parent)[0]) is not None:
            self._directories[parent] = max(above.st_mtime, status.st_mtime if status else 0.0)
        if status is None:
            hint = "" if error == "missing" else "check its owner and mode"
            self._problems.append(Problem(root, error, hint))
        elif stat.S_ISREG(status.st_mode):
            self._files[root] = (FoundFile.of(root, root, status), False)
        else:
            self._problems.append(special(root, status))

    def _enter(self, path: str, root: str, depth: int, where: Place, inode: int) -> None:
        listing = self._listing(path, root, where, inode)
        if listing is None:
            return
        self._listings[path] = listing
        self._entries += listing.entries
        self._problems += listing.problems
        for found, is_link in listing.files:
            self._files.setdefault(found.path, (found if found.root == root else replace(found, root=root), is_link))
        if where is Place.CHECKPOINT:
            self._checkpoints.append(path)
        else:
            self._checkpoints += listing.saved
            newest = max((found.modified for found, _ in listing.files), default=0.0)
            self._directories[path] = max(listing.modified, newest)
        for child, child_place, child_inode, is_link in self._worth_a_look(listing):
            if depth >= self._memory.budget.depth:
                self._too_deep = self._too_deep or child
                break
            (self._links if is_link else self._queue).append((child, root, depth + 1, child_place, child_inode))
        if self._entries > self._memory.budget.entries:
            self._exhausted = f"more than {self._memory.budget.entries:,} entries: the search ended early"

    def _worth_a_look(self, listing: Listing) -> list[Child]:
        """The directories in it that are entered now."""
        saved = [child for child in listing.directories if child[1] is Place.CHECKPOINT] if self._hurry else []
        if len(saved) <= CHECKPOINTS_IN_A_HURRY:
            return listing.directories
        self._hurried = True
        saved.sort(key=lambda child: (len(child[0]), child[0]))  # checkpoint-9, checkpoint-10
        later = set(saved[:-CHECKPOINTS_IN_A_HURRY])
        return [child for child in listing.directories if child not in later]

    def _listing(self, path: str, root: str, where: Place, inode: int) -> Listing | None:
        """The directory's listing, from memory where that holds; None when it was entered before or is out of reach."""
        known = self._known.get(path)
        if known is not None and (self._late() or (known.settled and known.stamp[1] == inode)):
            return None if self._seen_before(known.stamp) else known
        if self._late():
            self._out_of_time = True
            if not self._rescan:
                self._exhausted = f"not searched in {self._memory.budget.seconds:g} s: the search ended early"
            return None
        status, error = try_stat(path)
        if status is None:
            if error != "missing":  # else deleted since its parent was listed
                self._problems.append(Problem(path, error, "check its owner and mode"))
            return None
        stamp = stamp_of(status)
        if self._seen_before(stamp):
            return None
        if known is not None and known.stamp == stamp and path not in self._due:
            return known
        left = self._memory.budget.entries - self._entries
        return list_directory(path, root, where, status, self._memory.wants, left)

    def _distinct_files(self) -> tuple[FoundFile, ...]:
        """By path; a link to a file that is there itself, or through another link, is left out."""
        taken = {found.inode for found, is_link in self._files.values() if not is_link}
        result = []
        for path in sorted(self._files):
            found, is_link = self._files[path]
            if is_link:
                if found.inode in taken:
                    continue
                taken.add(found.inode)
            result.append(found)
        return tuple(result)

    def _seen_before(self, stamp: tuple[int, ...]) -> bool:
        identity = stamp[0], stamp[1]
        if identity in self._visited:
            return True
        self._visited.add(identity)
        return False

    def _late(self) -> bool:
        return time.monotonic() > self._deadline


def _absolute(path: str) -> str:
    # ".." cannot be cut out of the text of a path that goes through links
    return os.path.realpath(path) if ".." in path.split("/") else os.path.abspath(path)


def _root_state(status: os.stat_result | None) -> tuple[int, ...] | None:
    return status and (status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode))
