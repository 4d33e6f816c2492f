"""Requests to agent.sh and its replies, as bytes.

A request is a line, perhaps followed by paths; agent.sh answers each in turn with "\\n<nonce> <status>\\n" after its
output. The nonce is random, so no log contains it. Requests are sent ahead of the replies, up to a limit of bytes.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from tuimon.remote.protocol import LinkError
from tuimon.remote.shell_names import Reply

AHEAD = 4 << 20
"""Bytes that may be on their way."""
MAX_REQUESTS = 256
MAX_REPLY = 64 << 20


class Requests:
    """The requests that wait or were sent, and the bytes of the replies to them."""

    def __init__(self, nonce: bytes, start: bytes, introduced: Callable[[bytes], None]) -> None:
        """start: what is sent first; introduced: gets the words of the host in the first reply."""
        self._mark = b"\n" + nonce + b" "
        self._out = bytearray(start)
        self._introduced = introduced
        self.is_introduced = False
        """Whether the host has answered what is sent first."""
        self.packs = False
        """Whether the host compresses lists and large pieces with gzip."""
        self._waiting: deque[tuple[bytes, Reply, int]] = deque()
        self._sent: deque[tuple[Reply, int]] = deque()
        self._ahead = 0
        self._buffer = bytearray()
        self._searched = 0

    @property
    def is_idle(self) -> bool:
        """Whether every request has been answered."""
        return not self._sent and not self._waiting

    def ask(self, request: str, paths: Sequence[str], reply: Reply, size: int = 0) -> None:
        """Send a request soon. reply: gets the output and the status. size: bytes expected."""
        lines = b"".join(path.encode("latin-1") + b"\n" for path in paths)
        self._waiting.append((f"{request}\n".encode() + lines, reply, size))

    def take_out(self) -> bytes:
        """Return the bytes that may be sent now."""
        while self._waiting and len(self._sent) < MAX_REQUESTS and self._ahead < AHEAD:
            request, reply, size = self._waiting.popleft()
            self._out += request
            self._sent.append((reply, size))
            self._ahead += size
        data = bytes(self._out)
        self._out.clear()
        return data

    def answered(self, data: bytes) -> Iterator[None]:
        """Add received bytes; pass on each reply that they complete, and yield after each. Raise LinkError or Ended."""
        self._buffer += data
        while (end := self._buffer.find(self._mark, self._searched)) >= 0:
            stop = self._buffer.find(b"\n", end + 1)
            if stop < 0:
                self._searched = end
                break
            output = bytes(self._buffer[:end])
            words = bytes(self._buffer[end + len(self._mark) : stop])
            del self._buffer[: stop + 1]
            self._searched = 0
            self._pass_on(output, words)
            yield
        else:
            self._searched = max(0, len(self._buffer) - len(self._mark))
        if len(self._buffer) > MAX_REPLY:
            raise LinkError("the host sent an answer over the limit")

    def _pass_on(self, output: bytes, words: bytes) -> None:
        """Pass a reply to the request that it answers. words: the status, or in the first reply those of the host."""
        if not self.is_introduced:
            self.is_introduced = True
            self._introduced(words)
            return
        if not self._sent:
            raise LinkError("the host answered what was not asked for")
        reply, size = self._sent.popleft()
        self._ahead -= size
        reply(output, int(words) if words.isdigit() else 1)

    def listed(self, output: bytes) -> bytes:
        """Return the list in the output of a command, and its checksum in the last line."""
        packed, _, checksum = output.rpartition(b"\n")
        return (self.unpacked(packed, MAX_REPLY) if packed else b"") + b"\n" + checksum

    def unpacked(self, data: bytes, limit: int) -> bytes:
        """Return bytes that the host has compressed if it can, at most `limit`. Raise LinkError."""
        if not self.packs:
            return data
        try:
            return zlib.decompressobj(31).decompress(data, limit)
        except zlib.error as error:
            raise LinkError(f"the host sent damaged bytes: {error}") from error
