"""Object stores: a mirror that is filled by listing keys and reading ranges of objects, with fsspec.

A round lists all keys below the prefix (one request for 1,000 keys with S3). Of an object that is new, the first bytes
are read; by them its format is recognised. An object whose ETag or time and size are those of the last round is not
read. A log that grew is read from 4 KiB before the end of what is here: if those bytes are the same, the rest is
appended, otherwise the log is another one and is read as a whole. Documents and databases are read as a whole.
Generated texts are read when their step is wanted. What was known of each object is stored with the mirror, so that
the next start reads nothing that is here.

fsspec is an extra; each store needs a package of its own (s3fs for s3://, gcsfs for gs://), which reads the
credentials.
"""

from __future__ import annotations

import contextlib
import math
import os
import posixpath
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from tuimon.errors import TuimonError
from tuimon.formats import is_candidate
from tuimon.reader.supersession import Supersession
from tuimon.remote.connection import MAX_DOCUMENT, MAX_FILES, Ended, Received, TooLarge
from tuimon.remote.following import HEAD, mode_of, newest, remove_others
from tuimon.remote.mirror import SAMPLE, Mirror
from tuimon.remote.mirror_errors import MirrorError
from tuimon.remote.texts import DIRECTORIES, NO_LOGS, SUFFIXES, TextFiles, WantedTexts, is_text
from tuimon.remote.texts import mode_of as mode_of_text
from tuimon.sources.listing import JSON, OF_A_MODEL, SAVED, Place, place
from tuimon.sources.scan import FoundFile
from tuimon.text import clean

FASTEST, SLOWEST = 2.0, 10.0
"""Seconds between two rounds after a change, and after many rounds without one."""
_SLOWER = 1.5
_KEYS_OF_A_REQUEST = 1000
"""Keys that a store lists at most for one request; with more keys the rounds are as many times as far apart."""
_FIRST = 16 << 10
"""Bytes that are read first: the whole object, often."""
_PIECE = 8 << 20
"""Bytes that are read at once."""
_PARTS = ("", "-wal", "-journal")
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "generation")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "modifiedTime", "created")
_UNREAD = ("none", "text", "stored")
"""Modes of an object of which at most the beginning is here: no log, generated texts, a format without content."""
_MEMORY = "objects"
"""Key of this module in what the mirror remembers."""


class _Object(Struct):
    """A key that may be a log."""

    key: str
    path: str
    """Path in the mirror."""
    size: int
    modified: float
    """Time of the last change (s since the epoch); 0.0 if the store does not say."""
    version: str
    """ETag, or the time of the last change as the store writes it; "" if the store has neither."""


class Objects:
    """A connection to an object store."""

    def __init__(self, url: str, mirror: Mirror, max_bytes: int, wanted_texts: WantedTexts | None = None) -> None:
        """url: of a prefix, an object, or a pattern. wanted_texts: steps whose generated texts are copied, which may
        change; none if None. Raise Ended if fsspec or the package of the store is missing."""
        self.delay = math.nan
        self.received = Received()
        self.answered = False
        self._mirror = mirror
        self._max_bytes = max_bytes
        self._closing = False
        self._woken = threading.Event()
        self._wanted_texts = WantedTexts() if wanted_texts is None else wanted_texts
        self._texts = TextFiles(mirror)
        self._text_ids: dict[str, int] = {}
        """Number of each object that may contain generated texts, by key."""
        self._known: dict[str, tuple[str, str]] = {
            key: (str(known[0]), str(known[1]))
            for key, known in mirror.stored.memory.get(_MEMORY, {}).items()
            if isinstance(known, list) and len(known) == 2
        }
        """(version and size, how it is followed) of each object that was read, by key."""
        self._store, self._root = _open(url)

    def close(self) -> None:
        """End `run` in another thread, soon."""
        self._closing = True
        self._woken.set()

    def wake(self) -> None:
        """Begin the next round of `run` in another thread at once."""
        self._woken.set()

    def run(self, batch: bool, on_progress: Callable[[], None]) -> None:
        """Keep the mirror up to date until `close`. Raise Ended, MirrorError or OSError."""
        pause = FASTEST
        while not self._closing:
            self._woken.clear()
            try:
                changed, count = self._round(on_progress)
            except (TuimonError, OSError) as error:
                if isinstance(error, PermissionError):
                    raise Ended(f"permission denied: {_reason(error)}", final=True) from error
                raise
            except Exception as error:  # the packages of the stores raise what their own libraries raise
                raise Ended(_reason(error), final="credential" in str(error).lower()) from error
            on_progress()
            pause = FASTEST if changed else min(pause * _SLOWER, SLOWEST)
            self._woken.wait(pause * max(1, count // _KEYS_OF_A_REQUEST))

    # ------------------------------------------------------------------ a round

    def _round(self, on_progress: Callable[[], None]) -> tuple[bool, int]:
        """List the keys and read what is new. Return (whether anything was, number of keys)."""
        received = self.received
        began = time.monotonic()
        listed = self._listed()
        self.delay = time.monotonic() - began
        self.answered = True
        received.missing = not listed
        kept: set[str] = set()
        objects: list[_Object] = []
        texts: list[_Object] = []
        for entry in self._wanted(listed, kept):
            (texts if entry.key in self._text_ids else objects).append(entry)
        received.total = sum(entry.size for entry in objects)
        received.here = 0
        databases = {name: facts for name, facts in listed.items() if name.endswith(_PARTS[1:])}
        changed = False
        for entry in objects:
            if self._closing:
                return changed, len(listed)
            changed |= self._read(entry, databases)
            self._count(entry)
            on_progress()
        for _ in self._texts.take_wanted(self._wanted_texts):
            pass  # `asked` has them now
        for entry in [*texts, *(entry for entry in objects if entry.key in self._text_ids)]:
            if self._closing:
                return changed, len(listed)
            if self._text_ids[entry.key] in self._texts.asked:
                changed |= self._read(entry, databases, is_wanted_text=True)
                self._count(entry)
                on_progress()
        gone = set(self._known) - set(listed)
        for key in gone:
            del self._known[key]
        if not received.complete or gone:
            for path in remove_others(self._mirror, kept):
                received.changed.add(path)
                received.names_changed = changed = True
        if changed:
            self._mirror.stored.memory[_MEMORY] = self._known
            self._mirror.save()
        received.complete = True
        return changed, len(listed)

    def _count(self, entry: _Object) -> None:
        self.received.here += self._mirror.size(entry.path) or 0
        if self.received.here > self._max_bytes:
            raise TooLarge(f"more than {self._max_bytes >> 20} MiB", "--max-bytes allows more.")

    def _listed(self) -> dict[str, dict[str, Any]]:
        """Return the facts of all objects, by key below the root; that of the root itself is ""."""
        roots = self._store.glob(self._root) if _has_pattern(self._root) else [self._root]
        base = _base(self._root)
        result: dict[str, dict[str, Any]] = {}
        for root in roots:
            for name, facts in self._store.find(root, detail=True, withdirs=False).items():
                result[name[len(base) :].strip("/") if name.startswith(base) else name.strip("/")] = facts
                if len(result) > MAX_FILES:
                    raise TooLarge(f"more than {MAX_FILES} objects", "Name a prefix further down.")
        return result

    def _wanted(self, listed: dict[str, dict[str, Any]], kept: set[str]) -> Iterator[_Object]:
        """Yield the objects to read. kept: receives the paths in the mirror of all that is there."""
        dated: dict[str, _Object] = {}
        for key in sorted(listed):
            facts = listed[key]
            *folders, name = key.split("/")
            try:
                path = self._mirror.path(key.split("/") if key else ())
                searched = _place(folders)
            except MirrorError as error:
                self.received.problem = error.message
                continue
            entry = _Object(key, path, int(facts.get("size") or 0), *_version(facts))
            if self._is_text_name(entry, searched):
                kept.add(path)
                yield entry
                continue
            if searched is None or searched is Place.CLOSED:
                continue
            if searched is Place.CHECKPOINT:
                kept.add(os.path.dirname(path))
                self._mirror.placeholder(os.path.dirname(path), directory=True)
            in_checkpoint = searched is Place.CHECKPOINT
            if not is_candidate(path) or (in_checkpoint and (name in OF_A_MODEL or not name.endswith(JSON))):
                if name.endswith(SAVED):
                    kept.add(path)
                    self._mirror.placeholder(path)
                continue
            kept.add(path)
            if searched is Place.CHECKPOINT:
                dated[path] = entry
            else:
                yield entry
        root = self._mirror.root
        files = [FoundFile(path, root, entry.size, entry.modified, (0, 0)) for path, entry in dated.items()]
        for file in newest(files, Supersession()):
            yield dated[file.path]

    def _is_text_name(self, entry: _Object, searched: Place | None) -> bool:
        """Return whether an object contains generated texts by its name alone, and note it."""
        if entry.key in self._text_ids:
            return True
        if searched is None:
            is_text_name = entry.path.endswith(SUFFIXES)
        else:
            is_text_name = searched not in (Place.CLOSED, Place.CHECKPOINT) and entry.path.endswith(NO_LOGS)
        if is_text_name:
            self._text_ids[entry.key] = len(self._text_ids)
            self._texts.add_name(self._text_ids[entry.key], entry.path)
        return is_text_name

    # ------------------------------------------------------------------ an object

    def _read(self, entry: _Object, databases: dict[str, dict[str, Any]], is_wanted_text: bool = False) -> bool:
        """Read what is new of an object; return whether anything was."""
        version, mode = self._known.get(entry.key, ("", ""))
        if is_wanted_text and mode in _UNREAD:
            version = mode = ""
        names = [entry.key + part for part in _PARTS[1:]]
        beside = [(name, databases[name]) for name in names if name in databases]
        facts_of_parts = [(entry.version, entry.size), *((_version(f)[1], int(f.get("size") or 0)) for _, f in beside)]
        now = "|".join(f"{tag}:{size}" for tag, size in facts_of_parts)
        here = self._mirror.size(entry.path)
        if version == now and entry.version and (mode in _UNREAD or here is not None):
            if mode == "text":
                self._note_text(entry)
            return False
        first = b""
        if mode in ("", *_UNREAD) or here is None:
            first = self._fetch(entry.key, 0, min(entry.size, _FIRST))
            mode = mode_of_text(entry.path) if is_wanted_text else mode_of(entry.path, first[:HEAD]) or "none"
        if mode == "none" and is_text(entry.path, first[:HEAD]):
            mode = "text"
            self._note_text(entry)
        if mode == "grow":
            self._grow(entry, here, first)
        elif mode in ("whole", "unit"):
            self._whole(entry, first, beside if mode == "unit" else [])
        elif mode == "stored":
            self._mirror.append(entry.path, 0, first[:HEAD], entry.modified, truncate=True, new=True)
        elif here is not None:
            self._mirror.remove(entry.path)
        self._known[entry.key] = now, mode
        if mode in ("none", "text") and here is None:
            return True
        self.received.changed.add(entry.path)
        self.received.names_changed = self.received.names_changed or here is None or mode != "grow"
        return True

    def _note_text(self, entry: _Object) -> None:
        """Note an object with generated texts, which is read when its step is wanted."""
        self._texts.add(self._text_ids.setdefault(entry.key, len(self._text_ids)), entry.path)

    def _grow(self, entry: _Object, here: int | None, first: bytes) -> None:
        """Append what a log has more than here, or read it as a whole if it is another one."""
        position = 0
        if here and entry.size > here and not first:
            position = max(0, here - SAMPLE)
            end = min(entry.size, position + _PIECE)
            data = self._fetch(entry.key, position, end)
            if data[: here - position] == self._mirror.read(entry.path, here - position, position):
                self._mirror.append(entry.path, here, data[here - position :], entry.modified)
                position += len(data)
            else:
                position = 0
        if position == 0:
            first = first or self._fetch(entry.key, 0, min(entry.size, _PIECE))
            self._mirror.append(entry.path, 0, first, entry.modified, truncate=True, new=True)
            position = len(first)
        while position < entry.size and not self._closing:
            data = self._fetch(entry.key, position, min(entry.size, position + _PIECE))
            if not data:
                break
            self._mirror.append(entry.path, position, data, entry.modified)
            position += len(data)

    def _whole(self, entry: _Object, first: bytes, beside: list[tuple[str, dict[str, Any]]]) -> None:
        """Read a document, or a database with its -wal, and put it in the place of the one here."""
        drafts = []
        names = {key[len(entry.key) :] for key, _ in beside}
        try:
            for key, size in [(entry.key, entry.size), *((key, int(facts.get("size") or 0)) for key, facts in beside)]:
                if size > MAX_DOCUMENT:
                    raise TooLarge(f"a document of more than {MAX_DOCUMENT >> 30} GiB: {clean(key)}")
                draft = self._mirror.draft(entry.path + key[len(entry.key) :])
                drafts.append(draft)
                position = 0
                while position < size:
                    data = first if first and key == entry.key and not position else b""
                    data = data or self._fetch(key, position, min(size, position + _PIECE))
                    if not data:
                        break
                    draft.write(position, data)
                    position += len(data)
        except BaseException:
            for draft in drafts:
                draft.discard()
            raise
        for part in _PARTS[1:]:  # a -wal beside another database than its own would damage it
            if part not in names:
                self._mirror.remove(entry.path + part)
        for draft in reversed(drafts):
            draft.commit(entry.modified)

    def _fetch(self, key: str, start: int, end: int) -> bytes:
        """Return the bytes of an object from `start` to `end`."""
        if end <= start:
            return b""
        base = _base(self._root)
        name = posixpath.join(base, key) if key else base
        data = self._store.cat_file(name, start=start, end=end)
        return bytes(data)[: end - start]


def _open(url: str) -> tuple[Any, str]:
    """Return (file system, path without the scheme) of a URL."""
    scheme = url.split("://")[0]
    try:
        import fsspec
    except ImportError:
        raise Ended("object stores are read with fsspec: pip install 'tuimon[objects]'", final=True) from None
    try:
        store, root = fsspec.core.url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:  # names the package of the store
        raise Ended(f"{clean(scheme)}:// cannot be read: {_reason(error)}", final=True) from None
    except (ValueError, TypeError, OSError) as error:
        raise Ended(f"cannot be opened: {_reason(error)}", final=True) from None
    return store, str(root).rstrip("/")


def _base(root: str) -> str:
    """Return the part of a path in front of the first pattern."""
    if not _has_pattern(root):
        return root
    parts = root.split("/")
    return "/".join(parts[: next(index for index, part in enumerate(parts) if _has_pattern(part))])


def _has_pattern(path: str) -> bool:
    return any(character in path for character in "*?[")


def _place(folders: list[str]) -> Place | None:
    """Return how a directory below the root is searched; None if it holds generated texts."""
    result = Place.OPEN
    for index, name in enumerate(folders):
        if name in DIRECTORIES:
            return None
        result = place("/" + "/".join(folders[: index + 1]), result)
        if result is Place.CLOSED:
            break
    return result


def _version(facts: dict[str, Any]) -> tuple[float, str]:
    """Return (time of the last change, version) of an object, by the facts of its listing."""
    moment = next((facts[name] for name in _TIMES if facts.get(name) is not None), None)
    seconds = 0.0
    if isinstance(moment, datetime):
        seconds = moment.timestamp()
    elif isinstance(moment, int | float):
        seconds = float(moment) / 1000 if moment > 1e11 else float(moment)
    elif isinstance(moment, str):
        with contextlib.suppress(ValueError):
            seconds = datetime.fromisoformat(moment).timestamp()
    tag = next((str(facts[name]) for name in _VERSIONS if facts.get(name)), "")
    return seconds, tag or (str(moment) if moment is not None else "")


def _reason(error: BaseException) -> str:
    return clean(str(error).strip() or type(error).__name__, 200)
