"""An object store that is asked through fsspec; s3:// is tested, others that fsspec knows may work.

One list of all keys (one request for 1,000 keys with S3) answers every question for names and changes of a round; a
round follows every 2 s after a change, and up to 10 s after the last one without. Bytes are ranges of objects. fsspec
is an extra; each store needs a package of its own (s3fs for s3://), which reads the credentials.
"""

from __future__ import annotations

import asyncio
import math
import stat
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tuimon.errors import TuimonError
from tuimon.remote.host import MAX_FILES, Ended, Entry, Root, TooLarge
from tuimon.text import clean

FASTEST, SLOWEST = 2.0, 10.0
"""Seconds between two rounds after a change, and after many rounds without one."""
_SLOWER = 1.5
_KEYS_OF_A_REQUEST = 1000
_TIMES = ("LastModified", "mtime", "created")
"""As s3fs, sftp:// and local files name the time of the last change."""


class Store:
    """A store, and the keys below the URL of the user."""

    skew = 0.0
    first = 16 << 10

    def __init__(self, store: Any, root: str) -> None:
        """store: an AbstractFileSystem of fsspec. root: a prefix, an object or a pattern, without the scheme."""
        self.delay = math.nan
        self.pause = FASTEST
        self._store, self._root = store, root
        self._files: dict[str, Entry] = {}
        self._folders: dict[str, dict[str, Entry]] = {}
        self._rounds = 0

    @classmethod
    async def connect(cls, url: str) -> Store:
        """Open the store of a URL. Raise Ended if that is impossible."""
        scheme = clean(url.split("://")[0])
        try:
            import fsspec
        except ImportError:
            raise Ended("object stores are read with fsspec: pip install 'tuimon[objects]'", final=True) from None
        try:
            store, root = fsspec.core.url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
        except ImportError as error:  # names the package of the store
            raise Ended(f"{scheme}:// cannot be read: {_reason(error)}", final=True) from None
        except (ValueError, TypeError, OSError) as error:
            raise Ended(f"cannot be opened: {_reason(error)}", final=True) from None
        return cls(store, str(root).rstrip("/"))

    def rest(self, cost: float) -> float:
        return self.pause

    async def roots(self) -> Sequence[Root]:
        """List all keys; the other questions are answered by this list until the next call."""
        began = time.monotonic()
        files = await self._call(self._listed)
        self.delay = time.monotonic() - began
        slower = min(self.pause / max(1, len(self._files) // _KEYS_OF_A_REQUEST) * _SLOWER, SLOWEST)
        self.pause = (slower if files == self._files else FASTEST) * max(1, len(files) // _KEYS_OF_A_REQUEST)
        self._files, self._folders, self._rounds = files, {}, self._rounds + 1
        base = _base(self._root)
        if self._root in files:
            return [Root(self._root, (), files[self._root], self._root)]
        folder = Entry(stat.S_IFDIR, 0, 0.0, "", str(self._rounds))
        for path, entry in files.items():
            name = path
            while name.startswith(f"{base}/" if base else "") and name != base:
                above, _, last = name.rpartition("/")
                known = self._folders.setdefault(above, {})
                if last in known:
                    break
                known[last] = entry if name == path else folder
                name = above
        return [Root(base, (), folder, base)] if files else []

    def _listed(self) -> dict[str, Entry]:
        roots = self._store.glob(self._root) if _has_pattern(self._root) else [self._root]
        files: dict[str, Entry] = {}
        for root in roots:
            for name, facts in self._store.find(root, detail=True, withdirs=False).items():
                modified, version = _version(facts)
                files[str(name)] = Entry(stat.S_IFREG, int(facts.get("size") or 0), modified, "", version)
                if len(files) > MAX_FILES:
                    raise TooLarge(f"more than {MAX_FILES} objects", "Name a prefix further down.")
        return files

    async def list(self, paths: Sequence[str]) -> dict[str, dict[str, Entry]]:
        return {path: self._folders[path] for path in paths if path in self._folders}

    async def stat(self, paths: Sequence[str]) -> dict[str, Entry]:
        folder = Entry(stat.S_IFDIR, 0, 0.0, "", str(self._rounds))
        found = {path: self._files.get(path) or (folder if path in self._folders else None) for path in paths}
        return {path: entry for path, entry in found.items() if entry}

    async def read(self, path: str, start: int, end: int) -> bytes:
        end = min(end, self._files[path].size if path in self._files else 0)
        if end <= start:
            return b""
        try:
            data = await self._call(lambda: self._store.cat_file(path, start=start, end=end))
        except FileNotFoundError:
            return b""
        return bytes(data)[: end - start]

    async def _call(self, function: Callable[[], Any]) -> Any:
        """Call what waits for the store in another thread. Raise Ended for what its libraries raise."""
        try:
            return await asyncio.to_thread(function)
        except PermissionError as error:
            raise Ended(f"permission denied: {_reason(error)}", final=True) from error
        except (TuimonError, OSError):
            raise
        except Exception as error:  # the packages of the stores raise what their own libraries raise
            raise Ended(_reason(error), final="credential" in str(error).lower()) from error

    async def ask(self, command: str) -> bytes:
        return b""

    def close(self) -> None:
        pass


def _base(root: str) -> str:
    """Return the part of a path in front of the first pattern."""
    parts = root.split("/")
    return "/".join(parts[: next((n for n, part in enumerate(parts) if _has_pattern(part)), len(parts))])


def _has_pattern(path: str) -> bool:
    return any(character in path for character in "*?[")


def _version(facts: dict[str, Any]) -> tuple[float, str]:
    """Return (time of the last change, version) of an object, by the facts of its listing."""
    moment = next((facts[name] for name in _TIMES if facts.get(name) is not None), None)
    seconds = moment.timestamp() if isinstance(moment, datetime) else moment if isinstance(moment, float) else 0.0
    return seconds, str(facts.get("ETag") or moment or "")


def _reason(error: BaseException) -> str:
    return clean(str(error).strip() or type(error).__name__, 200)
