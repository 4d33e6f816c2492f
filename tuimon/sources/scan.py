"""Find the log files below the given paths, and later the ones that were added.

The search is breadth first, so that an exhausted budget cuts off the deepest directories, not the last in the alphabet.
Real directories come before linked ones, so that a log has its own path, not that of a link `latest`. A directory is
entered once per (device, inode), which ends loops. No file is opened. Directories that links lead to come last
and have a budget of their own; one that leads to a directory above the given path is not followed, because it would add
the logs of others to this run.

`rescan` stats each known directory and lists only those whose time stamps have changed. Three kinds are listed even so:
those changed less than two seconds before they were listed (file system clocks are coarse), those that hold a link
without a target, and those not listed for a minute (some network mounts do not update the times).
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tuimon.sources.files import CHECK_ACCESS
from tuimon.sources.listing import (
    CLOSED_PATHS,
    FoundFile,
    Listing,
    Problem,
    SearchMode,
    Wants,
    list_directory,
    special,
    stamp_of,
    try_stat,
)

__all__ = ["FoundFile", "Problem", "Scan", "ScanBudget", "rescan", "scan"]

REVISITS = 256
"""Maximum number of directories listed again because of their age in one rescan, to spread the cost."""
MANY = 100
"""Number of directories above which unchanged ones are checked less often: see STILL, STILL_EVERY."""
STILL, STILL_EVERY = 20.0, 3
"""Directories with logs that are unchanged for STILL seconds are checked in every STILL_EVERY-th rescan only.

New logs mostly come in new directories next to them, and file system events report most other changes."""


class ScanBudget(Struct, frozen=True):
    """Limits of a search. If one is reached (a home directory, `/`), the scan has a Problem that says so."""

    depth: int = 16
    entries: int = 1_000_000
    seconds: float = 10.0
    linked_depth: int = 6
    """Maximum depth below a link that leads out of the given paths."""
    linked_entries: int = 50_000
    """Maximum number of entries below all links that lead out of the given paths."""


class Scan(Struct, frozen=True):
    """Result of a search."""

    files: tuple[FoundFile, ...]
    """Sorted by path; each real file once."""
    directories: tuple[str, ...]
    """Directories in which a new log can appear (not checkpoints), most recently changed first."""
    checkpoints: tuple[str, ...]
    """Checkpoint directories, and files that may be checkpoints, in the order of the search."""
    problems: tuple[Problem, ...]
    complete: bool
    """False if a budget ended the search."""
    _memory: _Memory


_USUAL = ScanBudget()


def scan(roots: Sequence[str], wants: Wants, budget: ScanBudget = _USUAL) -> Scan:
    """Search below `roots`: directories, single files (with any name), or missing paths (a Problem).

    wants: should the file at this path be listed? Called once per file, before its stat().
    """
    memory = _Memory(tuple(dict.fromkeys(map(_absolute, roots))), wants, budget)
    return _Search(memory, budget.seconds, again=False).run()


def rescan(previous: Scan, seconds: float = 0.5) -> Scan:
    """Repeat a search, listing only directories that have changed. Returns `previous` itself if nothing has changed.

    Sizes and times of files in unchanged directories are not updated; a followed file has newer ones. After `seconds`
    the remaining directories keep their listings and are checked first in the next rescan.
    """
    memory = previous._memory
    if not memory.changed(time.monotonic() + seconds):
        return previous
    result = _Search(memory, seconds, again=True).run()
    return previous if result == previous else result


class _Memory(Struct, eq=False):
    """State that a scan and its rescans share."""

    roots: tuple[str, ...]
    wants: Wants
    budget: ScanBudget
    listings: dict[str, Listing] = field(default_factory=dict)
    root_states: dict[str, tuple[int, ...] | None] = field(default_factory=dict)
    unfinished: bool = False
    """A rescan ran out of time."""
    cursor: int = 0
    turn: int = 0
    """Number of the third of the unchanged directories that is checked this time."""

    def changed(self, deadline: float) -> bool:
        """Has any directory to be listed? Directories not checked by `deadline` come first in the next call."""
        if self.unfinished or any(_root_state(try_stat(root)[0]) != self.root_states[root] for root in self.roots):
            return True
        paths = list(self.listings)
        now, still = time.monotonic(), time.time() - STILL
        many, checked, begin = len(paths) > MANY, 0, self.cursor
        for index in (*range(begin, len(paths)), *range(min(begin, len(paths)))):
            path = paths[index]
            listing = self.listings[path]
            if index == 0:
                self.turn = (self.turn + 1) % STILL_EVERY
            if many and listing.files and listing.stamp[1] % STILL_EVERY != self.turn and listing.modified < still:
                continue
            try:
                if now - listing.listed >= listing.good_for or stamp_of(os.stat(path)) != listing.stamp:
                    return True
            except OSError:
                return True
            checked += 1
            if checked % 64 == 0 and time.monotonic() > deadline:
                self.cursor = (index + 1) % len(paths)
                break
        return False


class _Search:
    """One walk over the directories. The listings of unchanged directories come from memory."""

    def __init__(self, memory: _Memory, seconds: float, again: bool) -> None:
        """again: this is a rescan."""
        self._memory = memory
        self._known = memory.listings
        self._rescan = again
        now = time.monotonic()
        self._deadline = now + seconds
        expired = sorted((listing.listed, path) for path, listing in self._known.items() if listing.expired(now))
        self._due = {path for _, path in expired[:REVISITS]}
        self._entries = 0
        self._exhausted = ""
        self._too_deep = ""
        """The first directory that was not entered because of its depth."""
        self._out_of_time = False
        self._listings: dict[str, Listing] = {}
        self._visited: set[tuple[int, int]] = set()
        self._files: dict[str, tuple[FoundFile, bool]] = {}
        self._directories: dict[str, float] = {}
        self._checkpoints: list[str] = []
        self._problems: list[Problem] = []
        self._queue: deque[tuple[str, str, int, SearchMode, str]] = deque()
        self._outside: deque[tuple[str, str, int, SearchMode, str]] = deque()
        """Directories reached by links, which come after all others; the last item is the link, else ""."""
        self._real_roots = tuple(map(os.path.realpath, memory.roots))
        self._linked_entries = 0
        self._cut_links: set[str] = set()
        """Links out of the given paths below which not everything was searched."""

    def run(self) -> Scan:
        for root in self._memory.roots:
            self._begin(root)
        while (waiting := self._queue or self._outside) and not self._exhausted:
            self._enter(*waiting.popleft())
        hint = "name a run's own directory, or one nearer to it"
        if self._exhausted:
            self._problems.append(Problem(self._memory.roots[0], self._exhausted, hint))
        if self._too_deep:
            self._problems.append(Problem(self._too_deep, f"deeper than {self._memory.budget.depth} directories", hint))
        for link in sorted(self._cut_links):
            reason = f"a link to {os.path.realpath(link)}, which is too large: only a part of it was searched"
            self._problems.append(Problem(link, reason, "give the directory with the logs as a path of its own"))
        self._memory.listings = self._listings
        self._memory.unfinished = self._rescan and self._out_of_time
        return Scan(
            files=self._distinct_files(),
            directories=tuple(sorted(self._directories, key=lambda path: (-self._directories[path], path))),
            checkpoints=tuple(self._checkpoints),
            problems=tuple(self._problems),
            complete=not self._exhausted and not self._too_deep,
            _memory=self._memory,
        )

    def _begin(self, root: str) -> None:
        status, error = try_stat(root)
        self._memory.root_states[root] = _root_state(status)
        if status is not None and stat.S_ISDIR(status.st_mode):
            self._queue.append((root, root, 0, SearchMode.OPEN, ""))
            return
        parent = os.path.dirname(root)
        if (above := try_stat(parent)[0]) is not None:
            self._directories[parent] = max(above.st_mtime, status.st_mtime if status else 0.0)
        if status is None:
            hint = "" if error == "missing" else CHECK_ACCESS
            self._problems.append(Problem(root, error, hint))
        elif stat.S_ISREG(status.st_mode):
            self._files[root] = (FoundFile.of(root, root, status), False)
        else:
            self._problems.append(special(root, status))

    def _enter(self, path: str, root: str, depth: int, where: SearchMode, link: str) -> None:
        if link and self._linked_entries >= self._memory.budget.linked_entries:
            self._cut_links.add(link)
            return
        listing = self._listing(path, root, where)
        if listing is None:
            return
        self._listings[path] = listing
        self._entries += listing.entries
        self._linked_entries += listing.entries if link else 0
        self._problems += listing.problems
        for file, is_link in listing.files:
            self._files.setdefault(file.path, (file if file.root == root else replace(file, root=root), is_link))
        if where is SearchMode.CHECKPOINT:
            self._checkpoints.append(path)
        else:
            self._checkpoints += listing.saved
            newest = max((file.modified for file, _ in listing.files), default=0.0)
            self._directories[path] = max(listing.modified, newest)
        for child, child_place, is_link in listing.directories:
            if depth >= self._memory.budget.depth:
                self._too_deep = self._too_deep or child
                break
            if link or is_link:
                self._add_linked(child, root, depth + 1, child_place, link, is_link)
            else:
                self._queue.append((child, root, depth + 1, child_place, ""))
        if self._entries > self._memory.budget.entries:
            self._exhausted = f"more than {self._memory.budget.entries:,} entries: the search ended early"

    def _add_linked(self, path: str, root: str, depth: int, where: SearchMode, link: str, is_link: bool) -> None:
        """Queue a directory that is a link, or that is below `link`, which leads out of the given paths."""
        if is_link:
            target = os.path.realpath(path)
            if target in CLOSED_PATHS:
                return
            if any(root != target and _is_below(root, target) for root in self._real_roots):
                reason = f"a link to {target}, which contains the given path: not followed"
                self._problems.append(Problem(path, reason))
                return
            link = link or path
        elif os.path.basename(path) in _CLOSED_NAMES and os.path.realpath(path) in CLOSED_PATHS:
            return
        if path.count("/") - link.count("/") > self._memory.budget.linked_depth:
            self._cut_links.add(link)
        else:
            self._outside.append((path, root, depth, where, link))

    def _listing(self, path: str, root: str, where: SearchMode) -> Listing | None:
        """The listing of a directory, from memory if still valid; None if it was entered before or cannot be."""
        known = self._known.get(path)
        if known is not None and self._late():
            return None if self._seen_before(known.stamp) else known
        if self._late():
            self._out_of_time = True
            if not self._rescan:
                self._exhausted = f"not searched in {self._memory.budget.seconds:g} s: the search ended early"
            return None
        status, error = try_stat(path)
        if status is None:
            if error != "missing":  # otherwise deleted since its parent was listed
                self._problems.append(Problem(path, error, CHECK_ACCESS))
            return None
        stamp = stamp_of(status)
        if self._seen_before(stamp):
            return None
        if known is not None and known.stamp == stamp and path not in self._due:
            return known
        left = self._memory.budget.entries - self._entries
        return list_directory(path, root, where, status, self._memory.wants, left)

    def _distinct_files(self) -> tuple[FoundFile, ...]:
        """The files sorted by path, without links to a file that is listed itself or through another link."""
        taken = {file.inode for file, is_link in self._files.values() if not is_link}
        result = []
        for path in sorted(self._files):
            file, is_link = self._files[path]
            if is_link:
                if file.inode in taken:
                    continue
                taken.add(file.inode)
            result.append(file)
        return tuple(result)

    def _seen_before(self, stamp: tuple[int, ...]) -> bool:
        identity = stamp[0], stamp[1]
        if identity in self._visited:
            return True
        self._visited.add(identity)
        return False

    def _late(self) -> bool:
        return time.monotonic() > self._deadline


_CLOSED_NAMES = frozenset(map(os.path.basename, CLOSED_PATHS))


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _absolute(path: str) -> str:
    # ".." cannot be removed from a path textually if components are links
    return os.path.realpath(path) if ".." in path.split("/") else os.path.abspath(path)


def _root_state(status: os.stat_result | None) -> tuple[int, ...] | None:
    return status and (status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode))
