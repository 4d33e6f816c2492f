"""What is below the path of the user on a host: directories that have changed are listed, and files found in them.

The rules are those of tuimon/sources/listing.py: caches are not entered, of checkpoints only the newest three are (the
names of the others show that they are there), and real names come before symbolic links, so that a log is known by its
own name.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import time
from collections.abc import Iterable

from msgspec import Struct, field

from tuimon.errors import FormatError
from tuimon.formats import is_candidate, kind, recognise
from tuimon.model.log_names import log_name
from tuimon.reader.compression import decompressed_head
from tuimon.remote.host import MAX_FILES, Entry, Host, Received, TooLarge
from tuimon.remote.mirror import Mirror, MirrorError, without_part
from tuimon.remote.texts import DIRECTORIES, WantedTexts, is_in_directory, is_named_text, step_of
from tuimon.sources.listing import (
    CLOSED_PATHS,
    JSON,
    KEPT_IN_CHECKPOINT,
    OF_A_MODEL,
    SAVED,
    WEIGHTS,
    SearchMode,
    checkpoint_age,
    place,
)
from tuimon.sources.sqlite_copy import MAGIC

HEAD = 4096
"""Bytes by which a format is recognised."""
FRESH = 2.0
"""Age (s) below which a file or directory may change without a new time."""
PARTS = ("", "-wal", "-journal")
"""Suffixes of a database and of the files beside it."""
NEWEST = 3
"""Number of checkpoints that are entered, of one directory."""
MAX_ENTRIES = 1_000_000
_TOGETHER = 256
"""Directories in one question."""
_DEPTH, _LINKS = 16, 6


class File(Struct, eq=False):
    """A file of the host that may be a log, and how much of it is here."""

    path: str
    local: str
    """Path in the mirror."""
    now: Entry
    seen: Entry | tuple[Entry | None, ...] | None = None
    """What it was when all was copied; of a database with those of its parts."""
    mode: str = ""
    """grow: a log | whole: a document | unit: a database | stored: only its beginning is kept | none: no log so far
    | text: generated texts that are not wanted yet | "": not looked at."""
    at: int = 0
    """Bytes here, of a log; bytes of the -wal, of a database."""
    tail: bytes = b""
    """The last of them."""
    grew: float = 0.0
    """Monotonic time at which it was seen to grow."""
    tries: int = 0
    """Attempts to copy it while it changed."""
    is_busy: bool = False
    is_rough: bool = False
    """It was so fresh when it was copied that another version may have the same time."""
    is_text: bool = False
    """Whether it holds generated texts, which are copied when they are wanted."""
    step: int | None = None
    """The step that its path names, of generated texts."""
    here: int = 0
    size: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        """Suffixes of the files that belong together."""
        return PARTS if self.mode == "unit" else ("",)


class _Folder(Struct, eq=False):
    parts: tuple[str, ...]
    place: SearchMode | None
    """How it is searched; None: it holds generated texts."""
    entry: Entry
    links: int = 0
    names: set[str] = field(default_factory=set)
    """Of what is in it; those of directories end with a slash."""
    is_rough: bool = False


class Tree:
    """Directories and files below the path of the user."""

    def __init__(self, host: Host, mirror: Mirror, received: Received) -> None:
        self.files: dict[str, File] = {}
        """By path on the host."""
        self.is_complete = False
        """Whether all names were seen in one walk."""
        self._host, self._mirror, self._received = host, mirror, received
        self._texts_seen = 0
        """WantedTexts.version for which the files were chosen that are here; 0: some are new since then."""
        self._folders: dict[str, _Folder] = {}
        self._announced: set[str] = set()
        """Paths in the mirror of all that the host has now."""
        self._tops: list[str] = []
        self._by_identity: dict[str, str] = {}
        self._saved: list[str] = []
        """Paths in the mirror of checkpoints whose directories are to be created there."""
        self._count = 0
        self._begins = True
        """Whether the next walk has to ask what the path of the user leads to."""

    def is_fresh(self, entry: Entry) -> bool:
        """Return whether something may change without a new time of change."""
        return bool(entry.identity) and entry.modified + self._host.skew > time.time() - FRESH

    def folder_of(self, path: str) -> Entry | None:
        """Return what is known of the directory of a file; None if the file is the root."""
        folder = self._folders.get(posixpath.dirname(path))
        return folder.entry if folder else None

    async def walk(self) -> None:
        """List the directories that have changed, and note what is new in them."""
        known = list(self._folders.items())
        level = await self._begin() if self._begins or not known else {}
        entries = await self._host.stat([path for path, _ in known])
        for path, folder in known:
            entry = entries.get(path)
            if self._folders.get(path) is not folder:
                continue  # gone with the directory above it
            if entry is None or not entry.is_directory:
                self._drop(path)
            elif entry != folder.entry or folder.is_rough:
                folder.entry = entry
                level[path] = folder
        later: dict[str, _Folder] = {}
        while level or later:
            todo = level or later
            paths = list(todo)[:_TOGETHER]
            lists = await self._host.list(paths)
            for path in paths:
                folder = todo.pop(path)
                folder.is_rough = self.is_fresh(folder.entry)
                if path in lists:
                    level.update(self._take(path, folder, lists[path], later))
                elif folder.entry.identity:
                    self._received.problem = f"cannot be listed: {path}"
        for number, local in enumerate(self._saved):
            self._placeholder(local, True)
            if number % 100 == 0:
                await asyncio.sleep(0)  # what was found is read meanwhile
        self._saved.clear()
        if not self.is_complete and self._count <= MAX_ENTRIES:
            self.is_complete = True
            self._mirror.remove_others(self._announced)

    async def _begin(self) -> dict[str, _Folder]:
        """Note what the path of the user leads to; return the directories to list."""
        roots = await self._host.roots()
        self._received.missing = not roots
        self._tops = [root.real for root in roots]
        self._begins = any(root.parts or root.entry.is_file or not root.entry.identity for root in roots)
        level = {}
        for root in roots:
            if root.entry.is_directory and root.path not in self._folders:
                folder = self._folders[root.path] = level[root.path] = _Folder(root.parts, SearchMode.OPEN, root.entry)
                self._by_identity[folder.entry.identity] = root.path
            elif root.entry.is_file:
                self._add(root.path, self._mirror.path(root.parts), root.entry)
        return level

    def _take(
        self, path: str, folder: _Folder, entries: dict[str, Entry], later: dict[str, _Folder]
    ) -> dict[str, _Folder]:
        """Note what is in a directory; return the directories to list, those that links lead to in `later`."""
        below: dict[str, tuple[_Folder, bool]] = {}
        saved: list[str] = []
        names: set[str] = set()
        weights = ""
        self._count += len(entries)
        for name in sorted(entries, key=lambda name: (bool(entries[name].leads_to), name)):
            entry, whole = entries[name], f"{path.rstrip('/')}/{name}" if path else name
            try:
                local = self._mirror.path([*folder.parts, name])
            except MirrorError as error:
                self._received.problem = error.message
                continue
            if entry.is_directory:
                where = _place(whole, folder.place, bool(entry.leads_to))
                if where is SearchMode.CLOSED:
                    continue
                links = folder.links + 1 if entry.leads_to or folder.links else 0
                below[whole] = _Folder((*folder.parts, name), where, entry, links), bool(entry.leads_to)
                names.add(f"{name}/")
                if where is SearchMode.CHECKPOINT and folder.place is not SearchMode.CHECKPOINT:
                    saved.append(whole)
            elif entry.is_file and not (entry.leads_to and self._is_inside(entry.leads_to)):
                names.add(without_part(name))
                if name.endswith(WEIGHTS):
                    weights = weights or whole
                self._take_file(folder, name, whole, local, entry)
        if folder.place is SearchMode.IN_STORE and weights:
            below, names = {}, {name for name in names if not name.endswith("/")}
            self._placeholder(self._mirror.path([*folder.parts, weights.rpartition("/")[2]]), False)
        self._saved += [self._mirror.path(below[whole][0].parts) for whole in saved if whole in below]
        saved.sort(key=lambda whole: checkpoint_age(whole, entries[whole.rpartition("/")[2]].modified))
        old = set(saved[:-NEWEST])
        for gone in folder.names - names:
            self._drop(f"{path.rstrip('/')}/{gone.rstrip('/')}" if path else gone.rstrip("/"), [*folder.parts, gone])
        folder.names = names
        result: dict[str, _Folder] = {}
        for whole, (child, is_link) in below.items():
            if whole in self._folders or whole in old or not self._is_new(whole, child):
                continue
            self._folders[whole] = child
            (later if is_link or child.links else result)[whole] = child
        return result

    def _is_new(self, path: str, folder: _Folder) -> bool:
        """Return whether a directory is to be entered: not too deep, not known by another name, not one above."""
        real, identity = folder.entry.leads_to, folder.entry.identity
        if len(folder.parts) > _DEPTH or folder.links > _LINKS or self._count > MAX_ENTRIES:
            return False
        if real and any(_is_below(top, real) for top in self._tops):
            return False
        return not identity or self._by_identity.setdefault(identity, path) == path

    def _is_inside(self, real: str) -> bool:
        return any(_is_below(real, top) for top in self._tops)

    def _take_file(self, folder: _Folder, name: str, path: str, local: str, entry: Entry) -> None:
        if folder.place is SearchMode.CHECKPOINT:
            if name.endswith(JSON) and name not in OF_A_MODEL and is_candidate(local):
                self._add(path, local, entry)
        elif folder.place is not None and name.endswith(SAVED):
            self._placeholder(local, False)
        elif is_named_text(below := self._below(local)):
            if is_in_directory(below):
                self._mirror.placeholder(local)
            if self._add(path, local, entry):
                self.note_text(self.files[path])
        elif folder.place is not None and is_candidate(local):
            self._add(path, local, entry)

    def _add(self, path: str, local: str, entry: Entry) -> bool:
        """Note a file that may be a log, or holds generated texts; return whether it is new."""
        if path in self.files:
            return False
        self._announce(local)
        self.files[path] = File(path, local, entry)
        return True

    def note_text(self, file: File) -> None:
        """Note that a file holds generated texts, which are copied when they are wanted."""
        file.mode, file.is_text, file.step = "text", True, step_of(self._below(file.local))
        self._texts_seen = 0

    def take_texts(self, wanted: WantedTexts) -> None:
        """Let the files be copied whose texts are wanted now."""
        if not wanted.version or self._texts_seen == wanted.version:
            return
        self._texts_seen = wanted.version
        texts = [file for file in self.files.values() if file.is_text]
        chosen = wanted.chosen(sorted({file.step for file in texts if file.step is not None}))
        for file in texts:
            if file.mode == "text" and (file.step is None or file.step in chosen):
                file.mode, file.seen = "", None

    def _below(self, local: str) -> str:
        return os.path.relpath(local, self._mirror.root)

    def _placeholder(self, local: str, directory: bool) -> None:
        if local not in self._announced:
            self._announce(local)
            self._mirror.placeholder(local, directory)

    def _announce(self, local: str) -> None:
        self._announced.add(local)
        if len(self._announced) > MAX_FILES:
            raise TooLarge(f"more than {MAX_FILES} files may be logs", "Name a directory further down.")

    def _drop(self, path: str, parts: Iterable[str] = ()) -> None:
        """Forget a file or directory that is gone, and what was below it."""
        below = [known for known in self._folders if _is_below(known, path)]
        local = self._mirror.path([part.rstrip("/") for part in parts]) if parts else ""
        if below and not local:
            local = self._mirror.path(self._folders[path].parts) if path in self._folders else ""
        for known in below:
            folder = self._folders.pop(known)
            self._by_identity.pop(folder.entry.identity, None)
        for known in [known for known in self.files if _is_below(known, path)]:
            self.forget(self.files[known])
        if local and local != self._mirror.root:
            self._announced.discard(local)
            if os.path.isdir(local):
                self._mirror.remove_directory(local)
            else:
                self._mirror.remove(local)

    def forget(self, file: File) -> None:
        """Remove a file that is gone."""
        self.files.pop(file.path, None)
        self._announced.discard(file.local)
        for part in file.parts:
            self._mirror.remove(file.local + part)
        self._received.here -= file.here
        self._received.total -= file.size


def mode_of(path: str, head: bytes) -> str:
    """Return how a file that begins with `head` is followed; "" if it is no log so far."""
    if not head:
        return ""
    compressed = log_name(path).compressed
    if compressed:
        head = decompressed_head(head, HEAD)
    try:
        log_format = recognise(path, head)
    except FormatError:
        return "whole"  # so that the reader meets it, and names it
    if head.startswith(MAGIC):
        return "unit"  # its tables, by which it is recognised, are anywhere in the file
    if log_format is None:
        return ""
    mode = {"stream": "grow", "journal": "grow", "document": "whole", "database": "unit"}.get(kind(log_format.id))
    return "stored" if mode is None else "whole" if compressed else mode


def _place(path: str, parent: SearchMode | None, is_link: bool) -> SearchMode | None:
    """Return how a directory is searched; None if it holds generated texts."""
    name = path.rpartition("/")[2]
    if parent is SearchMode.CHECKPOINT:
        return SearchMode.CHECKPOINT if name in KEPT_IN_CHECKPOINT and not is_link else SearchMode.CLOSED
    if name in DIRECTORIES and path not in CLOSED_PATHS:
        return None
    if parent is None:
        return SearchMode.CLOSED if place(path, SearchMode.OPEN) is SearchMode.CLOSED else None
    return place(path, parent)


def _is_below(path: str, directory: str) -> bool:
    return not directory or (path + "/").startswith(directory.rstrip("/") + "/")
