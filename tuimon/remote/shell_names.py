"""List the names below a path on a host without Python: the walk of agent_walk.py, made of the output of `find`.

Names and paths are bytes in Latin-1, as in the frames. Real directories come first, and then what symbolic links lead
to, so that a log is known by its own name.
"""

from __future__ import annotations

import posixpath
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct, field

from tuimon.remote import texts
from tuimon.remote.protocol import Directory, Frame, Gone, Missing, Problem, Walked
from tuimon.sources import listing
from tuimon.sources.listing import Place

NAMES = 4000
"""Names in one frame."""
MAX_ENTRIES = 1_000_000
DEPTH = 16
LINKS = 6
"""Levels of links that are followed below each other."""
MAX_LINKS = 1000
WALK_EVERY = 2.0
"""Seconds between two walks, or twenty times what the last one took if that is more."""

Reply = Callable[[bytes, int], None]
"""(output of a request, its status): called with the reply of the host."""
Ask = Callable[[str, Sequence[str], Reply], None]
"""(request, lines that follow it, what to call with the reply): send a request to the host."""


class Entry(Struct, frozen=True):
    """A line of `stat`."""

    identity: str
    """Device and inode."""
    mode: int
    size: int
    modified: float
    stamp: str
    """Everything that changes with the file."""
    coarse: bool
    """The time of change has whole seconds only."""
    path: str

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


def entries(nonce: bytes, text: bytes) -> Iterator[Entry]:
    """Yield the lines of `stat` in the output of a request; others, such as a name's second line, are skipped."""
    mark = nonce + b"|"
    for line in text.split(b"\n"):
        words = line.split(b"|", 6)
        if not line.startswith(mark) or len(words) != 7:
            continue
        _, identity, mode, size, seconds, date, path = words
        _, _, fraction = date.partition(b".")
        digits = fraction[:9].split(b" ")[0]
        try:
            whole = int(seconds)
            part = int(digits) / 10 ** len(digits) if digits else 0.0
            status = int(mode, 16), int(size), whole + part
        except ValueError:
            continue
        if 0 <= status[0] < 1 << 32 and 0 <= status[1] <= 1 << 60 and abs(whole) < 1 << 40 and len(path) <= 4096:
            stamp = b"|".join(words[1:6]).decode("latin-1")
            yield Entry(identity.decode("latin-1"), *status, stamp, part == 0.0, path.decode("latin-1"))


class _Top(Struct, frozen=True):
    """A directory to list with everything below it."""

    path: str
    parts: tuple[str, ...]
    """Its components below the base of the path that was given."""
    place: Place | None
    """How to search it; None: it holds generated texts."""
    links: int = 0


_Link: TypeAlias = tuple[str, tuple[str, ...], Place | None, int]
"""A symbolic link: (path, components of its directory, how that is searched, links above it)."""


class _Walk(Struct):
    """A walk that has not ended yet."""

    started: float
    tops: list[_Top] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    """Real paths of what the given path leads to."""
    links: list[_Link] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    listed: dict[str, tuple[tuple[str, ...], set[str]]] = field(default_factory=dict)
    """Components and names of each directory, by path; names of directories end with a slash."""
    count: int = 0
    expected: int = 0
    """Number of replies that are missing."""


class Names:
    """Lists the names below one path, and emits frames for those that are new or gone."""

    def __init__(self, nonce: bytes, root: str, ask: Ask, emit: Callable[[Frame], None]) -> None:
        """root: the path as the user gave it, in Latin-1; `~` and patterns are expanded by the host."""
        self.paths: list[str] = []
        """Path of each file, by id."""
        self._nonce = nonce
        self._root = f"./{root}" if root.startswith("-") else root
        self._below = _below_base(root)
        self._ask, self._emit = ask, emit
        self._ids: dict[str, int] = {}
        self._dated: dict[int, float] = {}
        self._listed: dict[str, tuple[tuple[str, ...], set[str]]] = {}
        self._lists: dict[str, tuple[str, list[Entry]]] = {}
        """Checksum and entries of the last list of each directory that was listed with everything below it."""
        self._walk: _Walk | None = None
        self._next = 0.0

    def walk(self, now: float) -> None:
        """Start a walk if it is time for it. now: monotonic time."""
        if self._walk is None and now >= self._next:
            self._walk = _Walk(now)
            self._ask("expand", [self._root], self._expanded)

    def _expanded(self, text: bytes, status: int) -> None:
        walk = self._require()
        leads = list(entries(self._nonce, text))
        if not leads:
            self._emit(Missing(0))
        for entry in leads:
            parts = tuple(entry.path.rstrip("/").split("/")[-self._below :]) if self._below else ()
            if entry.is_directory:
                walk.tops.append(_Top(entry.path, parts, Place.OPEN))
                walk.visited.add(entry.identity)
                self._request("link", [entry.path], self._base_found)
            else:
                walk.bases.append(entry.path)
                self._announce(parts[:-1], [(posixpath.basename(entry.path), entry)], single=not parts)
        self._list_tops()
        self._finish()

    def _base_found(self, text: bytes, status: int) -> None:
        walk = self._require()
        walk.bases.append(_real_path(self._nonce, text))
        self._received()

    # ------------------------------------------------------------------ directories

    def _list_tops(self) -> None:
        walk = self._require()
        for top in walk.tops:
            known = self._lists.get(top.path)
            checksum = known[0] if known else "0"
            self._request(f"list {checksum}", [top.path.rstrip("/") + "/"], partial(self._list_received, top))
        walk.tops.clear()

    def _list_received(self, top: _Top, text: bytes, status: int) -> None:
        if status == 2:
            self._emit(Problem(top.path, "Permission denied"))
        elif status != 3:
            listed, _, checksum = text.rpartition(b"\n")
            self._lists[top.path] = checksum.decode("latin-1"), list(entries(self._nonce, listed))
        if top.path in self._lists and status != 2:
            self._sort(top, self._lists[top.path][1])
        self._received()

    def _sort(self, top: _Top, found: list[Entry]) -> None:
        """Emit the names below a directory by the rules of tuimon/sources/listing.py."""
        walk = self._require()
        prefix = top.path.rstrip("/") + "/"
        children: dict[str, list[tuple[str, Entry]]] = {}
        for entry in found:
            folder, _, name = entry.path.rpartition("/")
            if name:
                children.setdefault(folder + "/", []).append((name, entry))
        todo = [(prefix, top.parts, top.place)]
        while todo:
            folder, parts, place = todo.pop()
            walk.count += len(children.get(folder, ()))
            if walk.count > MAX_ENTRIES or len(parts) > DEPTH:
                continue
            todo += self._list(folder, parts, place, sorted(children.get(folder, ())), top.links)

    def _list(
        self, folder: str, parts: tuple[str, ...], where: Place | None, children: list[tuple[str, Entry]], links: int
    ) -> list[tuple[str, tuple[str, ...], Place | None]]:
        """Emit the names in one directory; return (path, components, place) of the directories to enter."""
        walk = self._require()
        inner: list[tuple[str, tuple[str, ...], Place | None]] = []
        names: list[tuple[str, Entry]] = []
        dated: list[tuple[str, Entry]] = []
        saved: list[str] = []
        weights: list[str] = []
        for name, entry in children:
            path = folder + name
            if stat.S_ISLNK(entry.mode):
                if len(walk.links) < MAX_LINKS and links < LINKS:
                    walk.links.append((path, parts, where, links + 1))
            elif where is Place.CHECKPOINT:
                if entry.is_directory and name in listing.KEPT_IN_CHECKPOINT:
                    inner.append((path + "/", (*parts, name), where))
                elif not entry.is_directory and name.endswith(listing.JSON) and name not in listing.OF_A_MODEL:
                    dated.append((name, entry))
            elif entry.is_directory:
                kind = _place(path, where)
                if kind is not Place.CLOSED:
                    walk.visited.add(entry.identity)
                    inner.append((path + "/", (*parts, name), kind))
                    if kind is Place.CHECKPOINT:
                        saved.append(name + "/")
            elif name.endswith(listing.SAVED):
                saved.append(name)
                weights.append(name)
            else:
                names.append((name, entry))
                if name.endswith(listing.WEIGHTS):
                    weights.append(name)
        if where is None:
            names, saved = [(name, entry) for name, entry in names if name.endswith(texts.SUFFIXES)], []
        if where is Place.IN_STORE and weights:
            inner, saved = [], [name for name in saved if not name.endswith("/")] or weights[:1]
        self._announce(parts, names, dated, saved, path=folder)
        now = {name for name, _ in (*names, *dated)}.union(saved, (f"{item[1][-1]}/" for item in inner))
        walk.listed[folder] = parts, now
        return inner

    def _announce(
        self,
        parts: tuple[str, ...],
        names: list[tuple[str, Entry]],
        dated: Sequence[tuple[str, Entry]] = (),
        saved: Sequence[str] = (),
        single: bool = False,
        path: str = "",
    ) -> None:
        new = [(self._id_of(entry.path), name) for name, entry in names if entry.path not in self._ids]
        stamped: list[tuple[int, str, int, float]] = []
        for name, entry in dated:
            id = self._id_of(entry.path)
            if self._dated.get(id) != entry.modified:
                self._dated[id] = entry.modified
                stamped.append((id, name, entry.size, entry.modified))
        before = self._listed.get(path, ((), set()))[1]
        kept = [name for name in saved if name not in before]
        for start in range(0, max(len(new), len(stamped), len(kept)), NAMES):
            chosen = slice(start, start + NAMES)
            self._emit(Directory(0, list(parts), new[chosen], stamped[chosen], kept[chosen], single))

    def _id_of(self, path: str) -> int:
        if path not in self._ids:
            self._ids[path] = len(self.paths)
            self.paths.append(path)
        return self._ids[path]

    # ------------------------------------------------------------------ links

    def _follow_links(self) -> None:
        walk = self._require()
        links, walk.links = walk.links, []
        for link in links:
            self._request("link", [link[0]], partial(self._link_received, link))

    def _link_received(self, link: _Link, text: bytes, status: int) -> None:
        walk = self._require()
        path, parts, where, links = link
        name = posixpath.basename(path)
        target = next(entries(self._nonce, text), None)
        real = _real_path(self._nonce, text)
        if target is not None and real:
            if not target.is_directory:
                if where is not Place.CHECKPOINT and not any(_is_below(real, base) for base in walk.bases):
                    self._announce(parts, [(name, target)])
            elif target.identity not in walk.visited and not any(_is_below(base, real) for base in walk.bases):
                kind = _place(path, where)
                if kind is not Place.CLOSED and where is not Place.CHECKPOINT:
                    walk.visited.add(target.identity)
                    walk.tops.append(_Top(path, (*parts, name), kind, links))
        self._received()

    # ------------------------------------------------------------------ the end

    def _require(self) -> _Walk:
        assert self._walk is not None, "a reply belongs to a walk"
        return self._walk

    def _request(self, request: str, lines: Sequence[str], reply: Reply) -> None:
        self._require().expected += 1
        self._ask(request, lines, reply)

    def _received(self) -> None:
        self._require().expected -= 1
        self._finish()

    def _finish(self) -> None:
        """Go on with links, and end the walk when everything was listed."""
        walk = self._require()
        if not walk.expected and walk.tops:
            self._list_tops()
        if not walk.expected and walk.links:
            self._follow_links()
        if walk.expected:
            return
        for path, (parts, before) in self._listed.items():
            if path in walk.listed and (gone := before - walk.listed[path][1]):
                self._emit(Gone(0, list(parts), sorted(gone)))
        self._listed = walk.listed
        self._walk = None
        self._next = time.monotonic() + max(WALK_EVERY, 20 * (time.monotonic() - walk.started))
        self._emit(Walked(walk.count <= MAX_ENTRIES))


def _place(path: str, parent: Place | None) -> Place | None:
    """Return how to search a directory; None if it holds generated texts."""
    if posixpath.basename(path) in texts.DIRECTORIES:
        return None
    kind = listing.place(path, parent or Place.OPEN)
    return None if parent is None and kind is not Place.CLOSED else kind


def _real_path(nonce: bytes, text: bytes) -> str:
    """Return the path that `readlink` has printed; "" if it failed."""
    line = text.split(b"\n", 1)[0]
    return line.removeprefix(nonce + b"=").decode("latin-1") if line.startswith(nonce + b"=/") else ""


def _is_below(path: str, directory: str) -> bool:
    """Return whether a path is that of a directory, or of something in it."""
    return (path + "/").startswith(directory.rstrip("/") + "/")


def _below_base(root: str) -> int:
    """Return the number of components of a path from its first pattern on."""
    parts = root.rstrip("/").split("/")
    return len(parts) - next((index for index, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
