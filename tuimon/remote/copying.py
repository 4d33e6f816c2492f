"""Copy what is new in one file of a host into the mirror, whatever host it is.

A log continues where the copy ends, if the bytes before are still the same; a document is read as a whole and replaced
when it did not change meanwhile; a database is read with its -wal, if both belong together. What was known of each file
is stored with the mirror, so that the next start asks for names only.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator

from tuimon.remote.host import MAX_DOCUMENT, MAX_PIECE, Entry, Host, Received, TooLarge
from tuimon.remote.mirror import SAMPLE, Draft, Mirror, MirrorError
from tuimon.remote.texts import is_text
from tuimon.remote.texts import mode_of as mode_of_text
from tuimon.remote.tree import HEAD, PARTS, File, Tree, mode_of
from tuimon.text import clean

SEAM = 512
"""Bytes before the new ones of a log that show that it is still the same log."""
_IN_FLIGHT = 6
"""Pieces that are asked for at once; another question waits until they have arrived."""
_UNREAD = ("none", "text", "stored")
_WAL_HEADER, _FRAME_HEADER = 32, 24
_SALTS = slice(16, 24)


class Copier:
    """Copies files of one host."""

    def __init__(self, host: Host, mirror: Mirror, tree: Tree, received: Received, most: int) -> None:
        """most: bytes that may be copied."""
        self._host, self._mirror, self._tree = host, mirror, tree
        self._received, self._most = received, most
        self._memory = dict(mirror.stored.files)
        self._reads = asyncio.Semaphore(_IN_FLIGHT)

    async def look(self, file: File, parts: tuple[Entry | None, ...]) -> None:
        """Copy what is new. parts: what the file and its -wal and -journal are now."""
        now = parts[0]
        if now is None:
            self._tree.forget(file)
            return
        file.now = now
        is_settled = file.seen in (now, parts) and not (file.is_rough and not self._tree.is_fresh(now))
        if is_settled or file.mode == "text" or (file.mode == "stored" and file.seen):
            return
        if file.mode == "" or (file.mode == "none" and self._may_be_log(file, now)):
            await self._recognise(file, now)
        if file.mode == "grow" and file.seen != now:
            await self._grow(file, now)
        elif file.mode == "whole":
            await self._replace(file, now)
        elif file.mode == "unit":
            await self._database(file, parts)
        elif file.mode in ("none", "stored"):
            file.seen = now

    def remember(self) -> None:
        """Note in the mirror what is known of each file, for the next start."""
        known = {}
        for file in self._tree.files.values():
            seen = file.seen[0] if isinstance(file.seen, tuple) else file.seen
            if seen is not None and file.mode not in ("", "unit") and not file.is_rough:
                known[_key(file.path)] = _version(seen), file.mode
        self._mirror.stored.files = known

    def _may_be_log(self, file: File, now: Entry) -> bool:
        """Return whether a file that was no log may be one now."""
        seen = file.seen
        same = isinstance(seen, Entry) and seen.identity == now.identity != "" and now.size >= seen.size >= HEAD
        return not same

    # ------------------------------------------------------------------ the beginning

    async def _recognise(self, file: File, now: Entry) -> None:
        """Decide by the first bytes of a file how to follow it, and go on with the copy that is here if that fits."""
        size = self._mirror.size(file.local)
        version, mode = self._memory.pop(_key(file.path), ("", ""))
        is_here = size == now.size if mode in ("grow", "whole") else mode in _UNREAD
        if version == _version(now) and is_here and not (file.is_text and mode in _UNREAD):
            self._resume(file, now, mode)
            return
        head = await self._host.read(file.path, 0, min(now.size, self._host.first))
        file.mode = mode_of_text(file.path) if file.is_text and head else mode_of(file.path, head[:HEAD]) or "none"
        if file.mode == "none":
            if is_text(file.path, head[:HEAD]):
                self._tree.note_text(file)
            file.seen = now
            self._mirror.remove(file.local)
        elif file.mode == "stored":
            self._count(file, min(len(head), HEAD), min(len(head), HEAD))
            self._mirror.append(file.local, 0, head[:HEAD], self._time(now), truncate=True, new=True)
            file.seen = now
        elif file.mode == "grow":
            if size and size <= now.size and self._mirror.read(file.local, len(head)) == head[:size]:
                self._go_on(file, size, now.size)
            else:
                self._restart(file, head, now, new=True)
                file.seen = now if file.at >= now.size else None

    def _resume(self, file: File, now: Entry, mode: str) -> None:
        """Go on with a file that has not changed since the last start."""
        file.mode, file.seen = mode, now
        if mode == "grow":
            self._go_on(file, now.size, now.size)
        elif mode == "text":
            self._tree.note_text(file)
        elif mode == "whole":
            self._count(file, now.size, now.size)

    def _go_on(self, file: File, here: int, size: int) -> None:
        """Continue a log at the end of the copy that is here. size: on the host."""
        file.at = here
        file.tail = self._mirror.read(file.local, SEAM, max(0, here - SEAM))
        self._count(file, here, size)

    # ------------------------------------------------------------------ logs

    async def _grow(self, file: File, now: Entry) -> None:
        """Append what a log has more than here; begin anew if it is shorter, or another one."""
        before = file.seen
        replaced = isinstance(before, Entry) and before.identity != now.identity
        is_same = file.at <= now.size
        if is_same and replaced:
            head = await self._host.read(file.path, 0, min(SAMPLE, file.at))
            is_same = bool(head) and head == self._mirror.read(file.local, len(head))
            replaced = not is_same
        if is_same:
            start = file.at - len(file.tail)
            data = await self._piece(file.path, start, min(now.size, start + MAX_PIECE))
            if len(data) < len(file.tail):
                return  # it has become shorter, or cannot be read
            is_same = data.startswith(file.tail)
        if is_same:
            self._append(file, data[len(file.tail) :], now)
        else:  # the bytes before the end of the copy are others
            self._restart(file, b"", now, new=replaced)
        async for data in self._pieces(file.path, file.at, now.size):
            self._append(file, data, now)
        if file.at >= now.size:
            file.seen = now
            self._mirror.set_modified(file.local, self._time(now))

    def _append(self, file: File, data: bytes, now: Entry) -> None:
        if not data:
            return
        self._count(file, file.at + len(data), max(now.size, file.at + len(data)))
        self._mirror.append(file.local, file.at, data, self._time(now))
        file.at += len(data)
        file.tail = (file.tail + data)[-SEAM:]
        if self._received.complete:
            file.grew = time.monotonic()

    def _restart(self, file: File, data: bytes, now: Entry, new: bool) -> None:
        self._count(file, len(data), now.size)
        self._mirror.append(file.local, 0, data, self._time(now), truncate=True, new=new)
        file.at, file.tail = len(data), data[-SEAM:]

    async def _pieces(self, path: str, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes in order; the first piece that is too short is the last one."""
        tasks: deque[tuple[int, asyncio.Task[bytes]]] = deque()
        try:
            while tasks or start < end:
                while start < end and len(tasks) < _IN_FLIGHT:
                    piece = min(end, (start // MAX_PIECE + 1) * MAX_PIECE)
                    tasks.append((piece - start, asyncio.ensure_future(self._piece(path, start, piece))))
                    start = piece
                size, task = tasks.popleft()
                data = await task
                if data:
                    yield data
                if len(data) < size:
                    return
        finally:
            for _, task in tasks:
                task.cancel()

    async def _piece(self, path: str, start: int, end: int) -> bytes:
        if end - start <= self._host.first:
            return await self._host.read(path, start, end)
        async with self._reads:
            return await self._host.read(path, start, end)

    # ------------------------------------------------------------------ documents and databases

    async def _replace(self, file: File, now: Entry) -> None:
        """Read a document, and put it in the place of the one here if it did not change meanwhile."""
        self._count(file, file.here, now.size)
        with self._mirror.draft(file.local) as draft:
            await self._fill(draft, file.path, now.size)
            after = (await self._host.stat([file.path])).get(file.path)
            file.tries += 1
            if after != now or draft.size != now.size:
                return
            file.seen, file.tries, file.is_rough = now, 0, self._tree.is_fresh(now)
            self._count(file, now.size, now.size)
            if draft.read() == self._mirror.read(file.local, now.size + 1):
                self._mirror.set_modified(file.local, self._time(now))
            else:
                draft.commit(self._time(now))

    async def _fill(self, draft: Draft, path: str, size: int) -> None:
        if size > MAX_DOCUMENT:
            raise TooLarge(f"a document of more than {MAX_DOCUMENT >> 30} GiB: {clean(path)}")
        async for data in self._pieces(path, 0, size):
            draft.write(data)

    async def _database(self, file: File, parts: tuple[Entry | None, ...]) -> None:
        """Copy a database and its -wal, if the salts of the -wal say that both belong together.

        While the salts stay, pages are moved from the -wal to the database, but never deleted from the -wal. So the
        copy of the database from before stays right with a -wal that only grows, of which whole commits are appended;
        and a database that was read while it changed is repaired by a -wal that was read afterwards.
        """
        now, wal, _ = parts
        assert now is not None
        seen = file.seen if isinstance(file.seen, tuple) else (None, None, None)
        file.tries += 1
        is_rough = any(self._tree.is_fresh(part) for part in parts if part)
        if wal and seen[1] and file.at and wal.identity == seen[1].identity and await self._append_commits(file, wal):
            file.seen, file.is_rough, file.tries = parts, is_rough, 0
            return
        present = {part: entry for part, entry in zip(PARTS, parts, strict=True) if entry and entry.size}
        with contextlib.ExitStack() as stack:
            drafts = {part: stack.enter_context(self._mirror.draft(file.local + part)) for part in present}
            before = await self._header(file, wal)
            for part, entry in present.items():  # which may have grown since
                await self._fill(drafts[part], file.path + part, entry.size + MAX_PIECE)
                if drafts[part].size == entry.size + MAX_PIECE:
                    return
            after = await self._header(file, wal)
            is_same = before[_SALTS] == after[_SALTS]
            if is_same and "-wal" not in drafts:
                paths = [file.path + part for part in PARTS]
                again = await self._host.stat(paths)
                is_same = tuple(again.get(path) for path in paths) == parts
            if not is_same or "" not in drafts or ("-wal" in drafts and len(before) < _WAL_HEADER):
                return
            if "-wal" in drafts:
                drafts["-wal"].truncate(_last_commit(drafts["-wal"].read(), before))
            self._mirror.empty(file.local)  # an empty database is not read: its parts may be of two versions
            for part in PARTS[1:]:
                self._mirror.remove(file.local + part)
            file.at = drafts["-wal"].size if "-wal" in drafts else 0
            size = sum(draft.size for draft in drafts.values())
            for part, entry in reversed(present.items()):
                drafts[part].commit(self._time(entry))
        file.seen, file.is_rough, file.tries = parts, is_rough, 0
        self._count(file, size, size)

    async def _header(self, file: File, wal: Entry | None) -> bytes:
        return await self._host.read(file.path + "-wal", 0, _WAL_HEADER) if wal else b""

    async def _append_commits(self, file: File, wal: Entry) -> bool:
        """Append the commits that are new in the -wal; return whether it is the one that is here."""
        path, local = file.path + "-wal", file.local + "-wal"
        header = self._mirror.read(local, _WAL_HEADER)
        if len(header) < _WAL_HEADER or wal.size - file.at > MAX_PIECE:
            return False
        before, data, after = await asyncio.gather(
            self._header(file, wal),
            self._host.read(path, file.at, max(wal.size, file.at + 1)),
            self._header(file, wal),
        )
        if before != header or after != header:
            return False
        whole = _last_commit(data, header, 0)
        if whole:
            self._mirror.append(local, file.at, data[:whole], self._time(wal))
            self._mirror.note_change(local, True)  # it may hold new runs
            file.at += whole
            self._count(file, file.here + whole, file.size + whole)
            file.grew = time.monotonic()
        return True

    # ------------------------------------------------------------------ what was received

    def _time(self, entry: Entry) -> float:
        return entry.modified + self._host.skew

    def _count(self, file: File, here: int, size: int) -> None:
        """Note how much of a file is here, and on the host."""
        received = self._received
        received.here += here - file.here
        received.total += size - file.size
        file.here, file.size = here, size
        if max(received.here, received.total) > self._most:
            raise TooLarge(
                f"the logs have {received.total >> 20} MiB, more than the {self._most >> 20} MiB that may be copied",
                "max_bytes of [hosts] in config.toml sets the limit.",
            )


def _last_commit(data: bytes, header: bytes, start: int = _WAL_HEADER) -> int:
    """Return the end of the last whole commit in the frames of a -wal, from `start` of `data` on."""
    size = int.from_bytes(header[8:12], "big")
    frame = _FRAME_HEADER + (65536 if size == 1 else size)
    if size < 1:
        raise MirrorError("the -wal of a database has no page size")
    end = start
    for at in range(start, len(data) - frame + 1, frame):
        if data[at + 8 : at + 16] != header[_SALTS]:
            break  # of the time before the -wal began anew
        if data[at + 4 : at + 8] != b"\0\0\0\0":
            end = at + frame
    return end


def _key(path: str) -> str:
    """Return a path as text that JSON can hold."""
    return path.encode("utf-8", "surrogateescape").decode("latin-1")


def _version(entry: Entry) -> str:
    return f"{entry.size} {entry.identity} {entry.stamp}"
