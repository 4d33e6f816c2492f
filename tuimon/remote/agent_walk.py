"""The part of the agent that lists names on the host; see agent.py, before which it is sent.

Python >= 3.6, standard library only, no import of tuimon.
"""

import errno
import glob
import json
import os
import re
import struct
import time
import zlib
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple

ENTRIES = 1000000  # directory entries of one walk
NAMES = 4000  # names in one frame
DEPTH, LINKS = 16, 6  # levels of directories, and of them below a link
FRESH = 2.0  # age (s) below which a file or directory may change without a new time stamp
OPEN, STORE, IN_STORE, CHECKPOINT, CLOSED = range(1, 6)  # as Place in tuimon/sources/listing.py
TEXTS = 6  # no logs, but generated texts

Child = Tuple[str, int, bool]  # name of a directory, how to search it, whether it is a link
Listed = Tuple[object, List[Child], Set[str]]  # time stamp, directories to enter, all names that were sent


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def coded(name: str) -> str:
    """Return the bytes of a name as Latin-1: JSON has no other way for names that are not UTF-8."""
    return os.fsencode(name).decode("latin-1")


class Out:
    """The stream of frames."""

    def __init__(self) -> None:
        self.deflate = zlib.compressobj(1)
        self.sent = 0

    def send(self, kind: str, payload: bytes = b"", **header: Any) -> None:
        header["t"] = kind
        text = json.dumps(header, separators=(",", ":")).encode("ascii")
        self.sent += len(payload) + len(text)
        write(self.deflate.compress(struct.pack("<II", len(text), len(payload)) + text + payload))

    def flush(self) -> None:
        write(self.deflate.flush(zlib.Z_SYNC_FLUSH))


class File:
    """A file whose name was sent, and what the other side has of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.mode = ""  # "": not asked for, head, grow, whole, unit
        self.at = 0  # bytes that the other side has
        self.head = b""
        self.tail = b""
        self.blocks: Dict[str, List[Tuple[int, ...]]] = {}
        self.inode = 0
        self.seen: Any = None  # stat when everything was sent; an errno; None before the first look
        self.next = 0.0  # time of the next look
        self.modified = 0.0
        self.often = True
        self.more = False  # whether more bytes are known to be there
        self.tries = 0  # attempts to read a document that kept changing


class Walk:
    """Sends the names below the roots, each once."""

    def __init__(self, out: Out, roots: List[str], rules: Dict[str, Any]) -> None:
        self.out = out
        self.roots = [os.fsdecode(root.encode("latin-1")) for root in roots]
        names = ("closed", "kept", "model", "closed_paths", "texts")
        self.rules: Dict[str, FrozenSet[str]] = {name: frozenset(rules[name]) for name in names}
        self.weights, self.saved = tuple(rules["weights"]), tuple(rules["saved"])
        self.text_names = tuple(rules["text_names"])
        self.checkpoint, self.step = re.compile(rules["checkpoint"]), re.compile(rules["step"], re.I)
        self.store = re.compile(rules["store"], re.I)
        self.files: List[File] = []
        self.ids: Dict[str, int] = {}
        self.listed: Dict[str, Optional[Listed]] = {}
        self.missing: Set[int] = set()

    def walk(self) -> None:
        """Send the names that are new. No file is opened, and only those in checkpoints are asked for their sizes."""
        started, count = time.time(), 0
        todo: List[Any] = []
        later: List[Any] = []
        visited: Set[Tuple[int, int]] = set()
        for number, root in enumerate(self.roots):
            found = False
            for path, parts in places(root):
                found = True
                if os.path.isdir(path):
                    todo.append((path, number, parts, OPEN, 0))
                else:
                    self.tell(number, parts[:-1], os.path.dirname(path), [os.path.basename(path)], single=not parts)
            if not found and number not in self.missing:
                self.out.send("missing", root=number)
            (self.missing.discard if found else self.missing.add)(number)
        tops = [os.path.realpath(item[0]) for item in todo]
        while todo or later:  # links come last, so that a log is known by its own name
            path, number, parts, place, links = (todo or later).pop(0)
            try:
                status = os.stat(path)
                identity = (status.st_dev, status.st_ino)
                if identity in visited or len(parts) > DEPTH or links > LINKS or count > ENTRIES:
                    continue
                if links and any(is_below(top, os.path.realpath(path)) for top in tops):
                    continue  # a link to a directory above: it would add the logs of others
                visited.add(identity)
                known = self.listed.get(path)
                stamp = (identity, status.st_mtime, status.st_ctime)
                if known is None or known[0] != stamp or started - status.st_mtime <= FRESH:
                    before = known[2] if known else set()
                    known = (stamp, *self.list(path, number, parts, place, before))
                    self.listed[path] = known
                    count += len(known[2])
                for name, kind, is_link in known[1]:
                    depth = links + 1 if is_link or links else 0
                    (later if depth else todo).append((os.path.join(path, name), number, [*parts, name], kind, depth))
            except OSError as error:
                if self.listed.get(path, True) is not None and error.errno != errno.ENOENT:
                    self.out.send("problem", path=coded(path), why=error.strerror or "")
                self.listed[path] = None
        self.out.send("walked", complete=count <= ENTRIES)

    def list(
        self, path: str, number: int, parts: List[str], place: int, before: Set[str]
    ) -> Tuple[List[Child], Set[str]]:
        """Send the names in a directory that are new, and those that are gone. Return (what to enter, all names)."""
        names: List[str] = []
        dated: List[str] = []
        saved: List[str] = []
        children: List[Child] = []
        weights = False
        for entry in os.scandir(path):
            name, is_link = entry.name, entry.is_symlink()
            try:
                is_directory = entry.is_dir()
            except OSError:
                continue
            if place == CHECKPOINT:
                if is_directory and not is_link and name in self.rules["kept"]:
                    children.append((name, CHECKPOINT, False))
                elif not is_directory and name.endswith((".json", ".jsonl")) and name not in self.rules["model"]:
                    dated.append(name)
            elif is_directory:
                kind = self.place(name, os.path.join(path, name), place)
                if kind != CLOSED:
                    children.append((name, kind, is_link))
                    if kind == CHECKPOINT:
                        saved.append(name + "/")
            elif not (is_link and self.is_inside(os.path.join(path, name))):
                weights = weights or name.endswith(self.weights)
                (saved if name.endswith(self.saved) else names).append(name)
        if place == TEXTS:  # not the pictures beside them
            names, saved = [name for name in names if name.endswith(self.text_names)], []
        if place == IN_STORE and weights:
            children = []
            saved = saved or [next(name for name in names if name.endswith(self.weights))]
        children.sort(key=lambda child: (child[2], child[0]))
        self.tell(number, parts, path, names, dated, [name for name in saved if name not in before])
        now = set(names).union(dated, saved, [name + "/" for name, _, _ in children])
        if before - now:
            where, gone = [coded(part) for part in parts], [coded(name) for name in sorted(before - now)]
            self.out.send("gone", root=number, parts=where, names=gone)
        return children, now

    def place(self, name: str, path: str, parent: int) -> int:
        """How to search a directory: the same rules as tuimon/sources/listing.py, except those for texts."""
        if name in self.rules["texts"] and path not in self.rules["closed_paths"]:
            return TEXTS
        if name in self.rules["closed"] or path in self.rules["closed_paths"]:
            return CLOSED
        if parent == TEXTS:
            return TEXTS
        if self.checkpoint.match(name):
            return CHECKPOINT
        if parent in (STORE, IN_STORE):
            return CHECKPOINT if self.step.match(name) else IN_STORE
        return STORE if self.store.match(name) else OPEN

    def is_inside(self, path: str) -> bool:
        """Does the link lead to a file below a root, which is sent under its own name, or to nothing?"""
        real = os.path.realpath(path)
        inside = any(is_below(real, os.path.realpath(base_of(root))) for root in self.roots)
        return inside or not os.path.exists(real)

    def tell(
        self,
        number: int,
        parts: List[str],
        path: str,
        names: Iterable[str],
        dated: Iterable[str] = (),
        saved: Iterable[str] = (),
        single: bool = False,
    ) -> None:
        new: List[Any] = []
        stamped: List[Any] = []
        for name in names:
            whole = os.path.join(path, name)
            if whole not in self.ids:
                new.append((self.id_of(whole), coded(name)))
        for name in dated:
            whole = os.path.join(path, name)
            try:
                status = os.stat(whole)
            except OSError:
                continue
            id = self.id_of(whole)
            if self.files[id].modified != status.st_mtime:
                self.files[id].modified = status.st_mtime
                stamped.append((id, coded(name), status.st_size, status.st_mtime))
        kept = [coded(name) for name in saved]
        where = [coded(part) for part in parts]
        for start in range(0, max(len(new), len(stamped), len(kept)), NAMES):
            end = start + NAMES
            some, times, weights = new[start:end], stamped[start:end], kept[start:end]
            self.out.send("dir", root=number, parts=where, single=single, names=some, dated=times, saved=weights)

    def id_of(self, path: str) -> int:
        if path not in self.ids:
            self.ids[path] = len(self.files)
            self.files.append(File(path))
        return self.ids[path]


def is_below(path: str, directory: str) -> bool:
    """Is the path that of the directory, or of something in it?"""
    return (path + "/").startswith(directory.rstrip("/") + "/")


def base_of(root: str) -> str:
    """The path of a root up to its first pattern."""
    parts = os.path.expanduser(root).split("/")
    magic = next((index for index, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    return "/".join(parts[:magic]) or ("/" if parts[0] == "" else ".")


def places(root: str) -> Iterator[Tuple[str, List[str]]]:
    """Yield (path, its components below the base) of everything that a root leads to."""
    path, base = os.path.expanduser(root), base_of(root)
    found = [path]
    if not os.path.lexists(path):
        found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    for item in found:
        if os.path.exists(item):
            below = os.path.relpath(item, base)
            yield item, [] if below == "." else below.split("/")
