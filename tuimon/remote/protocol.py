"""Typed frames that the agent sends, and the limits that are enforced on them.

A frame is two uint32 (little-endian) with the lengths of header and payload, a JSON header and the payload; all frames
are one zlib stream. Names are bytes in Latin-1. The commands to the agent are JSON lines:

{"nonce", "roots", "rules", "interval"}                     the first line
{"look": [[id, bytes here, CRC-32 of their first and last 4 KiB]]}   send the beginning of these files
{"follow": [[id, "grow" | "whole" | "unit", {part: [[length, CRC-32, Adler-32] of each block]}]]}
{"drop": [id]}    {"sync": n}    {"ping": n}
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from tuimon.errors import TuimonError

MAX_HEADER = 8 << 20
MAX_PAYLOAD = 4 << 20
BLOCK = 16 << 10
"""Unit in which documents are compared."""
INFLATE = 1 << 20
"""Bytes that are inflated at a time."""
_LENGTHS = struct.Struct("<II")

Id: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 24)]
Size: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 60)]
Name: TypeAlias = Annotated[str, Meta(max_length=4096)]
Names: TypeAlias = Annotated[list[Name], Meta(max_length=1 << 13)]
Parts: TypeAlias = Annotated[list[Name], Meta(max_length=64)]
Words: TypeAlias = Annotated[str, Meta(max_length=1 << 16)]


class LinkError(TuimonError):
    """The other end of a connection does not behave as an agent."""


class _Frame(msgspec.Struct, frozen=True, tag_field="t"):
    pass


class Hello(_Frame, frozen=True, tag="hello"):
    time: float
    host: Name
    python: Name


class Directory(_Frame, frozen=True, tag="dir"):
    """New names in a directory."""

    root: int
    parts: Parts
    """Components below the root."""
    names: Annotated[list[tuple[Id, Name]], Meta(max_length=1 << 13)]
    dated: Annotated[list[tuple[Id, Name, Size, float]], Meta(max_length=1 << 13)]
    """Documents in checkpoints, with their sizes and times of change."""
    saved: Names
    """Checkpoints: directories (with a slash at the end) and weights."""
    single: bool = False
    """The root is a file, the only name."""


class Gone(_Frame, frozen=True, tag="gone"):
    """Names that are no longer in a directory; those of directories end with a slash."""

    root: int
    parts: Parts
    names: Names


class Data(_Frame, frozen=True, tag="data"):
    """Bytes of a log, or the beginning of any file."""

    id: Id
    at: Size
    size: Size
    mtime: float
    again: bool
    """The file does not begin with what was sent: it was cut or replaced."""
    new: bool
    """Its inode has changed."""


class Blocks(_Frame, frozen=True, tag="blocks"):
    """Blocks of a document that have changed."""

    id: Id
    part: Annotated[str, Meta(max_length=8)]
    numbers: Annotated[list[Annotated[int, Meta(ge=0, le=1 << 17)]], Meta(max_length=1 << 10)]
    size: Size
    last: bool


class Done(_Frame, frozen=True, tag="done"):
    """All parts of a document were sent. ok: it did not change meanwhile."""

    id: Id
    ok: bool
    parts: Annotated[list[Annotated[str, Meta(max_length=8)]], Meta(max_length=3)]
    mtimes: Annotated[list[float], Meta(max_length=3)]


class Writer(_Frame, frozen=True, tag="writer"):
    """Whether a process on the host holds a file open for writing."""

    id: Id
    state: Literal["open", "closed", "unknown"]
    process: Annotated[str, Meta(max_length=256)]
    """Name and id of the process."""
    mtime: float
    """Time of change of the file at that time; 0.0 if it is held open."""
    in_place: bool
    """Whether its last change was a write, and not that of a copy."""
    copied: bool
    """Whether it was written at once, as by a copy."""
    again: bool
    """Whether one descriptor was seen to be open twice."""


class Lost(_Frame, frozen=True, tag="lost"):
    """A file that cannot be read any more."""

    id: Id
    gone: bool
    why: Words


class Missing(_Frame, frozen=True, tag="missing"):
    """There is nothing at a root."""

    root: int


class Problem(_Frame, frozen=True, tag="problem"):
    path: Words
    why: Words


class Walked(_Frame, frozen=True, tag="walked"):
    """All names were sent. complete: no limit ended the walk."""

    complete: bool


class Synced(_Frame, frozen=True, tag="synced"):
    n: int


class Pong(_Frame, frozen=True, tag="pong"):
    n: int


Frame: TypeAlias = (
    Hello | Directory | Gone | Data | Blocks | Done | Writer | Lost | Missing | Problem | Walked | Synced | Pong
)


class Decoder:
    """Bytes of the zlib stream -> (frame, payload). Raises LinkError for whatever is not a frame."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj()
        self._buffer = bytearray()
        self._frames: msgspec.json.Decoder[Frame] = msgspec.json.Decoder(Frame)

    def feed(self, data: bytes) -> Iterator[tuple[Frame, bytes]]:
        """Yield the frames that the bytes complete."""
        while data:
            try:
                self._buffer += self._inflate.decompress(data, INFLATE)
            except zlib.error as error:
                raise LinkError(f"the stream of the agent is damaged: {error}") from error
            data = self._inflate.unconsumed_tail
            yield from self._whole_frames()
            if self._inflate.eof:
                raise LinkError("the stream of the agent has ended early")

    def _whole_frames(self) -> Iterator[tuple[Frame, bytes]]:
        start = 0
        while len(self._buffer) - start >= _LENGTHS.size:
            header, payload = _LENGTHS.unpack_from(self._buffer, start)
            if header > MAX_HEADER or payload > MAX_PAYLOAD:
                raise LinkError("the agent sent a frame over the limit")
            body = start + _LENGTHS.size + header
            if len(self._buffer) < body + payload:
                break
            try:
                frame = self._frames.decode(self._buffer[start + _LENGTHS.size : body])
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                raise LinkError(f"the agent sent a frame that is not well formed: {error}") from error
            yield frame, bytes(self._buffer[body : body + payload])
            start = body + payload
        del self._buffer[:start]


class AgentPeer:
    """The agent in Python, at the other end of a connection."""

    silence = 15.0
    """Seconds without data after which the link counts as lost; the agent answers every ping."""
    turn = 0.5
    """Seconds between two calls of `due`."""

    def __init__(self) -> None:
        self._decoder = Decoder()

    def encode(self, **command: Any) -> bytes:
        """Return a command to the agent as a line."""
        return json.dumps(command, separators=(",", ":")).encode("ascii") + b"\n"

    def due(self, now: float) -> bytes:
        """Return what is to be sent without a command: nothing."""
        return b""

    def feed(self, data: bytes) -> Iterator[tuple[Frame, bytes]]:
        """Yield the frames that the bytes complete. Raise LinkError."""
        return self._decoder.feed(data)


def name_of(text: str) -> str:
    """Return a name as the operating system has it. Raise LinkError for characters that are no bytes."""
    try:
        return os.fsdecode(text.encode("latin-1"))
    except UnicodeEncodeError as error:
        raise LinkError("the agent sent a name that is not bytes") from error


def name_to(name: str) -> str:
    """Return a name as it is sent: the inverse of `name_of`."""
    return os.fsencode(name).decode("latin-1")
