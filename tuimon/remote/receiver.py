"""Receiver: apply what an agent sends to a mirror, and say what to ask the agent for.

Names come first. Of each file whose name a format wants, the first 4 KiB are asked for; by them the format is
recognised, and then a log is followed by its new bytes, a document by its changed blocks, and a database together with
its -wal. Other files cost their first 4 KiB. What the mirror already has is not sent again.
"""

from __future__ import annotations

import math
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from tuimon.formats import is_candidate
from tuimon.reader.supersession import Supersession
from tuimon.remote.connection import MAX_BYTES, MAX_DOCUMENT, MAX_FILES, Received, TooLarge
from tuimon.remote.following import HEAD, mode_of, newest, remove_others
from tuimon.remote.mirror import Draft, Mirror
from tuimon.remote.mirror_errors import MirrorError
from tuimon.remote.protocol import (
    BLOCK,
    Blocks,
    Data,
    Directory,
    Done,
    Frame,
    Gone,
    Hello,
    LinkError,
    Lost,
    Missing,
    Problem,
    Synced,
    Walked,
    Writer,
    name_of,
)
from tuimon.remote.texts import TextFiles, WantedTexts, is_text
from tuimon.remote.texts import mode_of as mode_of_text
from tuimon.sources.scan import FoundFile
from tuimon.text import clean

_SKEW = 2.0
"""Difference of the clocks (s) above which times of change are corrected."""
_PARTS = ("", "-wal", "-journal")


class _File(Struct):
    """A file that was asked for."""

    path: str
    mode: str = "head"
    """head: its beginning was asked for | grow | whole | unit | stored: only its beginning is kept."""
    claimed: int = 0
    """Bytes that the mirror had when it was asked for."""
    head: bytes = b""
    size: int = 0
    """Bytes on the host."""
    here: int = 0
    """Bytes in the mirror."""
    drafts: dict[str, Draft] = field(default_factory=dict)


class Receiver(Received):
    """Applies the frames of one connection to a mirror."""

    def __init__(self, mirror: Mirror, max_bytes: int = MAX_BYTES, wanted_texts: WantedTexts | None = None) -> None:
        """wanted_texts: steps whose generated texts are copied, which may change; none if None."""
        super().__init__()
        self._wanted_texts = WantedTexts() if wanted_texts is None else wanted_texts
        self._texts = TextFiles(mirror)
        self._mirror = mirror
        self._max_bytes = max_bytes
        self._files: dict[int, _File] = {}
        self._announced: set[str] = set()
        """Paths in the mirror of all that the host has now."""
        self._dated: list[tuple[int, FoundFile]] = []
        self._supersession = Supersession()
        self._skew = 0.0
        self._wanted: dict[str, list[Any]] = {"look": [], "follow": [], "drop": []}
        self._sync, self._synced, self._walked = 0, 0, False
        self._asked = True
        """Whether something was asked for since the last `sync`."""
        self.hello: Hello | None = None

    # ------------------------------------------------------------------ to the agent

    def commands(self) -> dict[str, Any]:
        """Return the command to send now; {} if there is none."""
        if self._walked:
            for id, path in self._texts.take_wanted(self._wanted_texts):
                self._ask(id, path)
        command: dict[str, Any] = {name: items for name, items in self._wanted.items() if items}
        if command:
            self._wanted = {"look": [], "follow": [], "drop": []}
            self._asked = True
        if self._walked and self._asked and self._sync == self._synced:
            self._sync += 1
            self._asked = False
            command["sync"] = self._sync
        return command

    # ------------------------------------------------------------------ from the agent

    def take(self, frame: Frame, payload: bytes) -> None:
        """Apply a frame. Raise LinkError or MirrorError if it cannot be meant, DiskFull, TooLarge, OSError."""
        match frame:
            case Data():
                self._data(frame, payload)
            case Blocks():
                self._blocks(frame, payload)
            case Done():
                self._done(frame)
            case Directory():
                self._directory(frame)
            case Gone():
                self._gone(frame)
            case Writer():
                self._writer(frame)
            case Lost():
                self._lost(frame)
            case Walked():
                self._after_walk(frame)
            case Synced():
                self._synced = frame.n
                self._mirror.save_notes()
                if frame.n == self._sync and not self._asked and not any(self._wanted.values()):
                    self.complete = True
            case Hello():
                self.hello = frame
                difference = time.time() - frame.time
                self._skew = difference if _SKEW < abs(difference) < math.inf else 0.0
            case Missing():
                self.missing = True
            case Problem():
                self.problem = frame.why
            case _:
                pass

    def close(self) -> None:
        """Discard what is not complete."""
        for file in self._files.values():
            _discard(file)

    def _directory(self, frame: Directory) -> None:
        self.missing = False
        parts = [name_of(part) for part in frame.parts]
        for id, name in frame.names:
            path = self._mirror.path(()) if frame.single else self._path(parts, name)
            if path is None or id in self._files:
                continue
            if not frame.single and self._texts.add_name(id, path):
                self._announce(path)
            elif frame.single or is_candidate(path):
                self._ask(id, path)
        for name in frame.saved:
            path = self._path(parts, name.rstrip("/"))
            if path is not None:
                self._announce(path)
                self._mirror.placeholder(path, directory=name.endswith("/"))
                self._note(path)
        for id, name, size, modified in frame.dated:
            path = self._path(parts, name)
            if path is not None and is_candidate(path):
                self._announce(path)
                self._dated.append((id, FoundFile(path, self._mirror.root, size, modified, (0, 0))))
        if self._walked:
            self._ask_newest()

    def _path(self, parts: Sequence[str], name: str) -> str | None:
        """Return the path in the mirror, or None for a name that cannot be mirrored."""
        try:
            return self._mirror.path([*parts, name_of(name)])
        except MirrorError as error:
            self.problem = error.message
            return None

    def _note(self, path: str) -> None:
        """Note a file that is new, gone or another one."""
        self.changed.add(path)
        self.names_changed = True

    def _announce(self, path: str) -> None:
        self._announced.add(path)
        if len(self._announced) > MAX_FILES:
            raise TooLarge(f"more than {MAX_FILES} files may be logs", "Name a directory further down.")

    def _ask(self, id: int, path: str) -> None:
        """Ask for the beginning of a file, unless it is still the one that is here."""
        self._announce(path)
        size, first, last = self._mirror.sample(path)
        self._files[id] = _File(path, claimed=size)
        self._wanted["look"].append([id, size, first, last])

    def _ask_newest(self) -> None:
        """Ask for the documents in checkpoints that are not superseded by newer ones."""
        by_path = {file.path: id for id, file in self._dated}
        for file in newest([file for _, file in self._dated], self._supersession):
            id = by_path[file.path]
            if id not in self._files:
                self._ask(id, file.path)
        self._dated.clear()

    def _after_walk(self, frame: Walked) -> None:
        if not self._walked:
            self._walked = True
            self._ask_newest()
            if frame.complete:
                self._remove_others()
        elif self._dated:
            self._ask_newest()

    def _remove_others(self) -> None:
        """Remove what the host no longer has: deleted while there was no connection."""
        for path in remove_others(self._mirror, self._announced):
            self._note(path)

    def _gone(self, frame: Gone) -> None:
        parts = [name_of(part) for part in frame.parts]
        for name in frame.names:
            path = self._path(parts, name.rstrip("/"))
            if path is None or path == self._mirror.root:
                continue
            self._announced.discard(path)
            if name.endswith("/"):
                shutil.rmtree(path, ignore_errors=True)
                for file in self._files.values():
                    if file.path.startswith(path + os.sep):
                        _discard(file)
            else:
                self._mirror.remove(path)
            self._note(path)

    # ------------------------------------------------------------------ content

    def _file(self, id: int) -> _File:
        file = self._files.get(id)
        if file is None:
            raise LinkError("the agent sent a file that was not asked for")
        return file

    def _count(self, file: _File, here: int, size: int) -> None:
        """Note how much of a file is here, and on the host."""
        self.here += here - file.here
        self.total += size - file.size
        file.here, file.size = here, size
        if max(self.here, self.total) > self._max_bytes:
            raise TooLarge(
                f"the logs have {self.total >> 20} MiB, more than the {self._max_bytes >> 20} MiB that may be copied",
                "--max-bytes sets the limit.",
            )

    def _data(self, frame: Data, payload: bytes) -> None:
        file = self._file(frame.id)
        if file.mode == "head":
            self._recognise(file, frame, payload)
        elif file.mode == "grow":
            truncate = frame.again or frame.at == 0
            self._count(file, frame.at + len(payload), frame.size)
            if not payload and not truncate and frame.mtime + self._skew == self._mirror.modified(file.path):
                return
            self._mirror.append(file.path, frame.at, payload, frame.mtime + self._skew, truncate, frame.new)
            self.changed.add(file.path)

    def _recognise(self, file: _File, frame: Data, payload: bytes) -> None:
        """Decide by the first bytes of a file how to follow it."""
        is_same = file.claimed > 0 and frame.at == file.claimed and not frame.again
        if is_same:
            file.head = (self._mirror.read(file.path, HEAD) + payload)[:HEAD]
        else:
            if frame.again or frame.at == 0:
                file.head = b""
            if frame.at != len(file.head) or len(file.head) + len(payload) > HEAD:
                raise LinkError("the agent sent other bytes than were asked for")
            file.head += payload
        mode = mode_of_text(file.path) if frame.id in self._texts.asked else mode_of(file.path, file.head)
        if not mode and is_text(file.path, file.head):
            self._texts.add(frame.id, file.path)
        if not mode:
            if file.claimed and not is_same:
                self._mirror.remove(file.path)
                self._note(file.path)
            return
        file.mode = mode
        if mode in ("grow", "stored"):
            if is_same:
                self._count(file, file.claimed + len(payload), frame.size)
                if payload:  # it has grown within its first bytes
                    self._mirror.append(file.path, file.claimed, payload, frame.mtime + self._skew)
                    self.changed.add(file.path)
            else:
                self._count(file, len(file.head), frame.size if mode == "grow" else len(file.head))
                modified = frame.mtime + self._skew
                self._mirror.append(file.path, 0, file.head, modified, truncate=True, new=True)
                self._note(file.path)
        else:
            self._count(file, 0, min(frame.size, MAX_DOCUMENT))
        if mode != "stored":
            parts = _PARTS if mode == "unit" else ("",) if mode == "whole" else ()
            sums = {part: list(self._sums(file.path + part)) for part in parts if os.path.isfile(file.path + part)}
            self._wanted["follow"].append([frame.id, mode, sums])
        else:
            self._wanted["drop"].append(frame.id)
        file.head = b""

    def _sums(self, path: str) -> Iterable[tuple[int, int, int]]:
        """Yield length and checksums of each block of a document that is here."""
        position = 0
        while data := self._mirror.read(path, 64 * BLOCK, position):
            for start in range(0, len(data), BLOCK):
                block = data[start : start + BLOCK]
                yield len(block), zlib.crc32(block), zlib.adler32(block)
            position += len(data)

    def _blocks(self, frame: Blocks, payload: bytes) -> None:
        file = self._file(frame.id)
        if file.mode not in ("whole", "unit") or frame.part not in _PARTS or (frame.part and file.mode == "whole"):
            raise LinkError("the agent sent a document that was not asked for")
        if frame.size > MAX_DOCUMENT:
            raise LinkError("the agent sent a document over the limit")
        draft = file.drafts.get(frame.part)
        if draft is None:
            draft = file.drafts[frame.part] = self._mirror.draft(file.path + frame.part, keep=True)
        for index, number in enumerate(frame.numbers):
            draft.write(number * BLOCK, payload[index * BLOCK : (index + 1) * BLOCK])
        if frame.last:
            draft.truncate(frame.size)
        self._count(file, sum(draft.size for draft in file.drafts.values()), file.size)

    def _done(self, frame: Done) -> None:
        """Put a document in its place if it did not change while it was sent; otherwise it is completed later."""
        file = self._file(frame.id)
        if not frame.ok:
            return
        if len(frame.mtimes) != len(frame.parts):
            raise LinkError("the agent sent parts of a document that do not fit")
        for part in _PARTS[1:]:  # a -wal beside another database than its own would damage it
            if part in file.drafts or (file.mode == "unit" and part not in frame.parts):
                self._mirror.remove(file.path + part)
        for part, modified in zip(frame.parts, frame.mtimes, strict=True):
            if part in file.drafts:
                file.drafts.pop(part).commit(modified + self._skew)
                self._note(file.path + part)
            else:
                self._mirror.set_modified(file.path + part, modified + self._skew)
        _discard(file)  # a -wal that is gone
        size = sum(self._mirror.size(file.path + part) or 0 for part in frame.parts if part in _PARTS)
        self._count(file, size, size)

    def _writer(self, frame: Writer) -> None:
        path = self._file(frame.id).path
        modified = frame.mtime + self._skew if frame.mtime else 0.0
        facts = {"writer": frame.state, "process": clean(frame.process), "modified": modified}
        self._mirror.note(path, **facts, in_place=frame.in_place, copied=frame.copied, again=frame.again)

    def _lost(self, frame: Lost) -> None:
        file = self._file(frame.id)
        _discard(file)
        if frame.gone:
            for part in _PARTS if file.mode == "unit" else ("",):
                self._mirror.remove(file.path + part)
            self._note(file.path)
        else:
            self.problem = frame.why
        file.claimed, file.head = 0, b""
        self._count(file, 0, 0)


def _discard(file: _File) -> None:
    for draft in file.drafts.values():
        draft.discard()
    file.drafts.clear()
