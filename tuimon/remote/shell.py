"""The other side of agent.sh, for hosts without Python: turn commands into requests, and replies into frames.

Requests (see shell_requests):

expand, PATH                      the status of what the path of the user leads to
list SUM, PATH                    names below a directory, unless their checksum is SUM
link, PATH                        where a symbolic link leads to
examine SUM N, N x PATH           status of files, unless their checksum is SUM
piece FIRST COUNT, PATH           blocks of 4 KiB of a file (with gzip if COUNT > 4), and its status afterwards
ping

Unlike the agent in Python, this one reads a document as a whole when it has changed. That a log is still the same is
seen by the 4 KiB before its new bytes, and its inode.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any

from msgspec import Struct, field

from tuimon.remote.connection import MAX_DOCUMENT, Ended
from tuimon.remote.following import HEAD
from tuimon.remote.protocol import BLOCK, Blocks, Data, Done, Frame, Hello, LinkError, Lost, Pong, Synced
from tuimon.remote.shell_names import Entry, Names, Reply, entries
from tuimon.remote.shell_requests import Requests
from tuimon.remote.texts import DIRECTORIES
from tuimon.sources import listing

UNIT = 4096
"""Bytes of a block of `piece`."""
PIECE = 1 << 20
"""Bytes that are asked for at a time."""
EXAMINED = 100
"""Files whose status is asked for at a time."""
FRESH = 2.0
"""Age (s) below which a file may change without a new time, where times have whole seconds."""
TRIES = 5
"""Attempts to read a document that keeps changing, before the rest counts as sent."""
_SAMPLE = 4096
_PARTS = ("", "-wal", "-journal")
_REASONS = {2: "Permission denied", 4: "not a file"}
"""Why a file cannot be read, by the status of `piece`."""


@cache
def script() -> bytes:
    """Return the script for the host without its comments."""
    text = files("tuimon.remote").joinpath("agent.sh").read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#")).encode()


class _File(Struct):
    """A file that was asked for, and what the receiver has of it."""

    id: int
    path: str
    mode: str = ""
    """As in agent_walk.py: head | grow | whole | unit; "" if it is not followed."""
    position: int = 0
    """Bytes that the receiver has."""
    tail: bytes = b""
    """The last of them, up to 4 KiB."""
    identity: str = ""
    stamps: tuple[str, ...] | None = None
    """Status of its parts when everything was sent; () if it is lost; None before the first time."""
    modified: float = 0.0
    again: bool = False
    """The next bytes replace what was sent."""
    busy: bool = False
    """Pieces of it were asked for."""
    tries: int = 0
    blocks: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    now: dict[str, Entry] = field(default_factory=dict)
    """The last status of each part."""


class ShellPeer:
    """Answers like an agent, by means of agent.sh."""

    silence = 300.0
    """Seconds without data after which the link is lost: `find` may take that long. ssh notices a dead network."""
    turn = 0.1
    """Seconds between two calls of `due`."""

    def __init__(self, nonce: str, root: str, interval: float) -> None:
        """root: the path on the host, in Latin-1. interval: seconds between two status requests for 100 files."""
        self._nonce = nonce.encode()
        self._interval = interval
        self._frames: list[tuple[Frame, bytes]] = []
        self._shift = 0.0
        """Seconds that the clock of the host is ahead of the monotonic one here."""
        self._files: dict[int, _File] = {}
        self._looked = 0.0
        self._examining = 0
        self._sums: dict[int, tuple[tuple[int, ...], str]] = {}
        """(files, checksum of their status) of each group of files."""
        self._syncs: list[int] = []
        self._names = Names(self._nonce, root, self._ask_names, self._emit)
        closed = sorted((listing.CLOSED_NAMES - set(DIRECTORIES)) | listing.CLOSED_PATHS)
        start = script() + self._nonce + b"\n" + "".join(f"{name}\n" for name in closed).encode() + b"\n"
        self._requests = Requests(self._nonce, start, self._introduced)

    # ------------------------------------------------------------------ the two directions

    def encode(self, **command: Any) -> bytes:
        """Take a command of the receiver; return bytes for the host."""
        for id, position, *sums in command.get("look", ()):
            self._look(id, position, sums)
        for id, mode, blocks in command.get("follow", ()):
            file = self._files[id]
            file.mode, file.stamps, file.tries = mode, None, 0
            file.blocks = {part: [tuple(block) for block in old] for part, old in blocks.items()}
            self._read(file)
        for id in command.get("drop", ()):
            self._files.pop(id, None)
        if "sync" in command:
            self._syncs.append(command["sync"])
            self._requests.ask("ping", [], lambda text, status: None)
        if "ping" in command:
            number = command["ping"]
            self._requests.ask("ping", [], lambda text, status: self._emit(Pong(number)))
        return self._requests.take_out()

    def due(self, now: float) -> bytes:
        """Return the requests that it is time for. now: monotonic time."""
        if not self._requests.is_introduced:
            return self._requests.take_out()
        self._names.walk(now)
        groups = -(-len(self._files) // EXAMINED)
        if groups and not self._examining and now - self._looked >= self._interval * groups:
            self._looked = now
            self._examine()
        return self._requests.take_out()

    def feed(self, data: bytes) -> Iterator[tuple[Frame, bytes]]:
        """Yield the frames that the bytes complete. Raise LinkError or Ended."""
        for _ in self._requests.answered(data):
            if self._syncs and self._requests.is_idle and not any(map(_is_unsettled, self._files.values())):
                for number in self._syncs:
                    self._emit(Synced(number))
                self._syncs.clear()
            yield from self._frames
            self._frames.clear()

    def _ask_names(self, request: str, paths: Sequence[str], reply: Reply) -> None:
        if request.startswith("list"):
            self._requests.ask(request, paths, lambda text, status: reply(self._requests.listed(text), status))
        else:
            self._requests.ask(request, paths, reply)

    def _emit(self, frame: Frame, payload: bytes = b"") -> None:
        self._frames.append((frame, payload))

    def _introduced(self, words: bytes) -> None:
        works, clock, packer, *host = words.split(b" ", 3)
        if works != b"0" or not clock.isdigit():
            raise Ended("no Python 3.6 or newer there, and no find, stat, dd and cksum", final=True)
        self._requests.packs = packer == b"gzip"
        self._shift = int(clock) - time.monotonic()
        self._emit(Hello(float(clock), b"".join(host).decode("latin-1"), ""))

    # ------------------------------------------------------------------ changes

    def _examine(self) -> None:
        """Ask for the status of all files that are followed."""
        every = [file for file in self._files.values() if file.mode]
        for start in range(0, len(every), EXAMINED):
            group = every[start : start + EXAMINED]
            paths = [file.path + part for file in group for part in _parts(file)]
            ids = tuple(file.id for file in group)
            known = self._sums.get(start)
            checksum = known[1] if known and known[0] == ids else "0"
            self._examining += 1
            self._requests.ask(f"examine {checksum} {len(paths)}", paths, partial(self._examined, start, ids))

    def _examined(self, start: int, ids: tuple[int, ...], text: bytes, status: int) -> None:
        self._examining -= 1
        if status != 3:
            listed, _, checksum = self._requests.listed(text).rpartition(b"\n")
            self._sums[start] = ids, checksum.decode("latin-1")
            by_path = {entry.path: entry for entry in entries(self._nonce, listed)}
            for id in ids:
                if (file := self._files.get(id)) is not None:
                    file.now = {part: by_path[file.path + part] for part in _parts(file) if file.path + part in by_path}
        for id in ids:
            if (file := self._files.get(id)) is not None and file.mode and not file.busy and self._has_changed(file):
                if "" in file.now:
                    self._read(file)
                else:
                    self._lose(file, gone=True, why="No such file or directory")

    def _has_changed(self, file: _File) -> bool:
        stamps = tuple(file.now[part].stamp if part in file.now else "" for part in _parts(file))
        if not any(stamps):
            return file.stamps != ()
        if stamps != file.stamps:
            return True
        clock = time.monotonic() + self._shift
        return any(entry.coarse and clock - entry.modified <= FRESH for entry in file.now.values())

    def _lose(self, file: _File, gone: bool, why: str) -> None:
        file.busy = False
        if file.stamps != ():
            file.stamps, file.position, file.tail, file.blocks = (), 0, b"", {}
            self._emit(Lost(file.id, gone, why))

    # ------------------------------------------------------------------ logs

    def _look(self, id: int, position: int, sums: Sequence[int]) -> None:
        """Send the beginning of a file, or what follows `position` if checksums show that it is the same one."""
        if id >= len(self._names.paths):
            raise LinkError("a file was asked for that is not there")
        file = self._files[id] = _File(id, self._names.paths[id], "head")
        file.busy = True
        samples: list[bytes] = []

        def compare(data: bytes, start: int, entry: Entry) -> None:
            samples.append(data[max(0, position - _SAMPLE) - start : position - start] if samples else data[:position])
            if len(samples) == 2 and entry.size >= position and [*map(zlib.crc32, samples)] == list(sums):
                file.position, file.tail, file.identity = position, samples[1], entry.identity
            if len(samples) == 2:
                self._read(file)

        if position:
            self._pieces(file, "", 0, 1, compare)
            self._pieces(file, "", max(0, position - _SAMPLE) // UNIT, 2, compare)
        else:
            self._read(file)

    def _read(self, file: _File) -> None:
        """Ask for what is new in a file."""
        file.busy = True
        if file.mode in ("whole", "unit"):
            self._read_document(file)
            return
        start = max(0, file.position - _SAMPLE) // UNIT
        last = file.position + PIECE if file.mode == "grow" else max(HEAD, file.position)
        self._pieces(file, "", start, max(1, -(-last // UNIT) - start), self._grown_of(file))

    def _grown_of(self, file: _File) -> Callable[[bytes, int, Entry], None]:
        mode = file.mode

        def grown(data: bytes, start: int, entry: Entry) -> None:
            if file.mode == mode:
                self._grown(file, data, start, entry)

        return grown

    def _grown(self, file: _File, data: bytes, start: int, entry: Entry) -> None:
        """Emit the next bytes of a log; in mode "head" only the first HEAD bytes of the file."""
        offset = file.position - start
        if data[offset - len(file.tail) : offset] != file.tail:
            file.position, file.tail, file.again = 0, b"", True
            self._read(file)
            return
        fresh = data[offset:] if file.mode == "grow" else data[offset : max(offset, HEAD)]
        fresh = fresh[: max(0, entry.size - file.position)]
        if fresh or file.again or not file.stamps or file.modified != entry.modified:
            is_new = file.identity not in ("", entry.identity)
            self._emit(
                Data(file.id, file.position, max(entry.size, file.position), entry.modified, file.again, is_new), fresh
            )
        file.again = False
        file.tail = (file.tail + fresh)[-_SAMPLE:]
        file.position += len(fresh)
        file.identity, file.modified = entry.identity, entry.modified
        is_complete = file.position >= (entry.size if file.mode == "grow" else min(entry.size, HEAD))
        if fresh and not is_complete:
            self._read(file)
        else:
            file.busy, file.stamps = False, (entry.stamp if is_complete else "",)

    def _pieces(
        self, file: _File, part: str, start: int, count: int, reply: Callable[[bytes, int, Entry], None]
    ) -> None:
        """Ask for blocks of a file; reply gets (bytes, position of the first, status afterwards)."""

        def received(text: bytes, status: int) -> None:
            data, mark, line = text.rpartition(b"\n" + self._nonce + b"|")
            entry = next(entries(self._nonce, mark[1:] + line), None)
            if self._files.get(file.id) is not file:
                return
            if entry is None or status:
                self._lose(file, status not in _REASONS, _REASONS.get(status, "No such file or directory"))
                return
            blocks = self._requests.unpacked(data, count * UNIT) if count > 4 else data[: count * UNIT]
            reply(blocks, start * UNIT, entry)

        self._requests.ask(f"piece {start} {count}", [file.path + part], received, count * UNIT)

    # ------------------------------------------------------------------ documents

    def _read_document(self, file: _File) -> None:
        """Ask for the status of the parts of a document, then for its bytes, then for its status again."""
        paths = [file.path + part for part in _parts(file)]
        file.busy = True
        self._requests.ask(f"examine 0 {len(paths)}", paths, lambda text, status: self._document(file, text))

    def _statuses(self, file: _File, text: bytes) -> dict[str, Entry]:
        by_path = {entry.path: entry for entry in entries(self._nonce, self._requests.listed(text))}
        return {part: by_path[file.path + part] for part in _parts(file) if file.path + part in by_path}

    def _document(self, file: _File, text: bytes) -> None:
        if self._files.get(file.id) is not file:
            return
        before = self._statuses(file, text)
        if "" not in before:
            self._lose(file, gone=True, why="No such file or directory")
            return
        if sum(entry.size for entry in before.values()) > MAX_DOCUMENT:
            self._lose(file, gone=False, why="larger than 1 GiB")
            return
        file.blocks = {part: sums for part, sums in file.blocks.items() if part in before}
        changes: list[bool] = []
        for part, entry in before.items():
            sums: list[tuple[int, int, int]] = []
            for start in range(0, max(1, entry.size), PIECE):
                is_last = start + PIECE >= entry.size

                def piece(
                    data: bytes,
                    position: int,
                    _: Entry,
                    part: str = part,
                    sums: list[tuple[int, int, int]] = sums,
                    is_last: bool = is_last,
                    limit: int = entry.size,
                ) -> None:
                    changes.append(self._blocks(file, part, data[: limit - position], position, sums, is_last))

                self._pieces(file, part, start // UNIT, PIECE // UNIT, piece)
        paths = [file.path + part for part in _parts(file)]
        self._requests.ask(
            f"examine 0 {len(paths)}", paths, lambda text, status: self._document_read(file, before, text, any(changes))
        )

    def _blocks(
        self, file: _File, part: str, data: bytes, position: int, sums: list[tuple[int, int, int]], is_last: bool
    ) -> bool:
        """Emit the blocks that differ from those that the receiver has; return whether there were any."""
        old = file.blocks.get(part, [])
        numbers: list[int] = []
        payload: list[bytes] = []
        for start in range(0, len(data), BLOCK):
            block = data[start : start + BLOCK]
            sums.append((len(block), zlib.crc32(block), zlib.adler32(block)))
            number = (position + start) // BLOCK
            if number >= len(old) or old[number] != sums[-1]:
                numbers.append(number)
                payload.append(block)
        has_changed = bool(payload) or (is_last and (part not in file.blocks or len(sums) != len(old)))
        if has_changed or (is_last and sums != old):
            size = position + len(data)
            self._emit(Blocks(file.id, part, numbers, size, is_last), b"".join(payload))
        if is_last:
            file.blocks[part] = sums
        return has_changed

    def _document_read(self, file: _File, before: dict[str, Entry], text: bytes, has_changed: bool) -> None:
        if self._files.get(file.id) is not file or file.stamps == ():
            return
        after = self._statuses(file, text)
        is_whole = _stamps(before) == _stamps(after)
        stamps = tuple(before[part].stamp if part in before else "" for part in _parts(file))
        if has_changed or stamps != file.stamps:
            self._emit(Done(file.id, is_whole, list(before), [entry.modified for entry in before.values()]))
        file.busy = False
        if is_whole:
            file.stamps, file.tries = stamps, 0
        else:  # the bytes may be those of two versions
            file.stamps, file.tries, file.blocks = None, file.tries + 1, {}


def _parts(file: _File) -> tuple[str, ...]:
    """Return the suffixes of the files that make up a document or log."""
    return _PARTS if file.mode == "unit" else ("",)


def _stamps(statuses: dict[str, Entry]) -> dict[str, str]:
    return {part: entry.stamp for part, entry in statuses.items()}


def _is_unsettled(file: _File) -> bool:
    """Return whether something of a file is still to be sent."""
    return bool(file.mode) and (file.busy or (file.stamps is None and file.tries < TRIES))
