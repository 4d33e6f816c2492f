"""Find the log files at or below a path and collect their items by kind and tag. Texts are read when they are
shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace

from tuimon.errors import FormatError
from tuimon.media import Content, Item, Kind, Part, Reader
from tuimon.media.files import files_below
from tuimon.media.limits import MAX_TEXT, merged
from tuimon.registry import discover
from tuimon.sources.files import open_regular
from tuimon.text import decoded

MAX_KEPT = 256
"""Items whose content is kept for a tag. If there are more, every second one is dropped; the newest is always kept."""
_MAX_TAGS = 5000
_CLOSED = frozenset({"node_modules", "__pycache__", "site-packages", "media", "artifacts"})


class Tag:
    """The items of one kind with one tag."""

    def __init__(self, kind: Kind, name: str) -> None:
        self.kind, self.name = kind, name
        self.count = self.bytes = 0
        self.first_step = self.last_step = 0
        self.again = 0
        """Items whose step is not after all steps before, as after a restart."""
        self._kept: list[Item] = []
        self._stride = 1
        self._last: Item | None = None

    @property
    def items(self) -> list[Item]:
        """Items that are kept, by step."""
        last = [self._last] if self._last is not None and (not self._kept or self._kept[-1] is not self._last) else []
        return sorted([*self._kept, *last], key=lambda item: item.step)

    def add(self, item: Item) -> None:
        """Add an item in the order of its file."""
        self.again += self.count > 0 and item.step <= self.last_step
        self.first_step = min(self.first_step, item.step) if self.count else item.step
        self.last_step = max(self.last_step, item.step) if self.count else item.step
        if self.count % self._stride == 0:
            self._kept.append(item)
            if len(self._kept) > MAX_KEPT:
                self._kept, self._stride = self._kept[::2], self._stride * 2
        self._last = item
        self.count += 1
        self.bytes += item.size


class Found:
    """Media that were found at or below a path."""

    def __init__(self) -> None:
        self._tags: dict[tuple[Kind, str], Tag] = {}
        self.files = 0
        """Number of files that were read."""
        self.read = self.size = 0
        """Bytes that have been read, and bytes of all files."""
        self.problems: list[str] = []
        """A sentence for each file that could not be read."""
        self.left_out = 0
        """Items of further tags, beyond the limit of tags."""

    @property
    def tags(self) -> list[Tag]:
        """Tags by kind and name."""
        order = {kind: index for index, kind in enumerate(Kind)}
        return sorted(self._tags.values(), key=lambda tag: (order[tag.kind], tag.name))

    def add(self, item: Item, prefix: str = "") -> None:
        """Add an item. prefix: directory of its file, if several files have the same tag."""
        name = f"{prefix}/{item.tag}" if prefix else item.tag
        key = item.kind, name
        tag = self._tags.get(key)
        if tag is None and len(self._tags) >= _MAX_TAGS:
            self.left_out += 1
            return
        new = tag or Tag(item.kind, name)
        new.add(item)
        self._tags[key] = new  # with an item: another thread may read the tags


def read_media(
    path: str,
    kinds: Collection[Kind] = (),
    stop: Callable[[], bool] = lambda: False,
    on_read: Callable[[Found], None] = lambda found: None,
) -> Found:
    """Read the items at or below a path. If there are log files in several directories, their names are put before the
    tags.

    kinds: only these; empty: all. stop: return early once it returns True. on_read: called with what has been found
    after each piece of a file."""
    found = Found()
    files = list(media_files(path))
    found.size = sum(map(_size, (file for file, _ in files)))

    def advance(count: int) -> None:
        found.read += count
        on_read(found)

    folders = {os.path.dirname(file) for file, _ in files}
    base = os.path.commonpath(folders) if folders else path
    for file, reader in files:
        below = os.path.relpath(os.path.dirname(file), base) if len(folders) > 1 else ""
        found.files += 1
        try:
            for item in reader.items(file, advance):
                if stop():
                    return found
                if not kinds or item.kind in kinds:
                    kept = replace(item, log=os.path.basename(file), content=merged(item.content))
                    found.add(kept, below if below != "." else "")
        except (OSError, FormatError) as error:
            found.problems.append(f"{os.path.relpath(file, path)}: {getattr(error, 'strerror', None) or error}")
    return found


def _size(file: str) -> int:
    with suppress(OSError):
        return os.stat(file).st_size  # noqa: PTH116
    return 0


def signature(path: str) -> frozenset[tuple[str, int, int]]:
    """Return (path, size, time of change in ns) of the files that `read_media` reads."""
    states = set()
    for file, _ in media_files(path):
        with suppress(OSError):
            status = os.stat(file)  # noqa: PTH116
            states.add((file, status.st_size, status.st_mtime_ns))
    return frozenset(states)


def media_files(path: str) -> Iterator[tuple[str, Reader]]:
    """Yield the log files at or below a path that may contain such values, in the order of their names."""
    readers: tuple[Reader, ...] = discover("tuimon.media.readers", "READER")
    for file in files_below(path, _is_closed):
        reader = next((reader for reader in readers if reader.matches(os.path.basename(file))), None)
        if reader is not None:
            yield file, reader


def _is_closed(folder: str) -> bool:
    name = os.path.basename(folder)
    return name in _CLOSED or name.startswith(".")


def content_of(item: Item) -> Content:
    """Return the content of an item, which is read if it is a text with places in files."""
    return _text(item.parts) if item.kind is Kind.TEXT and item.parts else item.content


def _text(parts: tuple[Part, ...]) -> str:
    """Return the texts at places in files, separated by blank lines, together at most MAX_TEXT bytes.

    Instead of a text that cannot be read, the reason.
    """
    texts: list[str] = []
    left = MAX_TEXT
    for part in parts:
        if left <= 0:
            break
        try:
            with os.fdopen(open_regular(part.file)[0], "rb") as file:
                file.seek(part.start)
                data = file.read(left if part.size < 0 else min(left, part.size))
        except OSError as error:
            texts.append(f"{error.strerror}: {os.path.basename(part.file)}")
            continue
        left -= len(data)
        texts.append(decoded(data))
    return "\n\n".join(texts)
