"""The agent: runs on the host, and sends names and new bytes of logs to the machine that shows them.

Its source, after that of the other parts (see boot.py), is sent over the connection and never stored on the host. It
opens files only for reading, writes none, and ends with the connection. Python >= 3.6, standard library only.

stdin    JSON lines, see protocol.py. The end of stdin, or SILENCE seconds without a line, end the agent.
stdout   "\\0tuimon-agent <nonce>\\n", then one zlib stream of frames: two uint32 (little-endian) with the lengths of
         header and payload, a JSON header, the payload.
"""

import errno
import json
import os
import queue
import signal
import stat
import sys
import threading
import time
import zlib
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from tuimon.remote.agent_walk import FRESH, File, Out, Walk, coded, write
from tuimon.remote.agent_writers import Writers

HEAD = 4096  # bytes at the beginning by which a format is recognised
SAMPLE = 4096  # bytes at the beginning and at the end that show whether a file is still the same
PIECE = 256 << 10  # bytes of a log in one frame
ROUND = 1 << 20  # bytes sent before commands are read again
BLOCK = 16 << 10  # unit in which documents are compared
LARGEST = 1 << 30  # bytes of a document
OFTEN = 64  # number of newest files that are checked in every round
SELDOM = 8  # rounds between two checks of the others
TRIES = 5  # attempts to read a document that keeps changing, before the rest counts as sent
SILENCE = 90
PARTS = ("", "-wal", "-journal")  # files that make up an SQLite database

Signature = Tuple[int, float, int]  # size, time of change, inode


class Agent:
    def __init__(self, out: Out, walk: Walk, interval: float) -> None:
        self.out = out
        self.names = walk
        self.files = walk.files
        self.interval = interval
        self.writers = Writers(out)
        self.behind: Deque[Tuple[int, File]] = deque()
        self.syncs: List[int] = []
        self.walked, self.cost = float("-inf"), 0.0

    def run(self, commands: "queue.Queue[Dict[str, Any]]") -> None:
        while True:
            self.out.sent = 0
            now = time.time()
            if now - self.walked > max(2.0, 20 * self.cost):
                self.walk(now)
            for id, file in enumerate(self.files):
                if file.mode and now >= file.next and not file.more:
                    if self.out.sent > ROUND:
                        break
                    if self.look(id, file):
                        self.behind.append((id, file))
                    file.next = now + self.interval * (1 if file.often and file.mode != "head" else SELDOM)
            for _ in range(len(self.behind)):
                if self.out.sent > ROUND:
                    break
                id, file = self.behind.popleft()
                if file.mode and self.look(id, file):
                    self.behind.append((id, file))
            settled = bool(self.syncs) and commands.empty() and not any(map(is_unsettled, self.files))
            if settled or self.writers.is_due():
                self.writers.update({id: file for id, file in enumerate(self.files) if is_log(file)}, hurry=settled)
            if settled:
                for number in self.syncs:
                    self.out.send("synced", n=number)
                self.syncs = []
            self.out.flush()
            try:
                self.obey(commands.get(timeout=0.001 if self.behind or self.out.sent > ROUND else self.interval))
                while True:
                    self.obey(commands.get_nowait())
            except queue.Empty:
                pass

    def walk(self, now: float) -> None:
        self.names.walk()
        self.walked = time.time()
        self.cost = self.walked - now
        newest = sorted((file for file in self.files if file.mode), key=lambda file: -file.modified)
        for rank, file in enumerate(newest):
            file.often = rank < OFTEN

    def obey(self, command: Dict[str, Any]) -> None:
        for id, at, head, tail in command.get("look", ()):
            file = self.files[id]
            file.at, file.head, file.tail, file.seen, file.mode = 0, b"", b"", None, "head"
            try:
                if at and look_at(file.path):
                    self.compare(file, at, (head, tail))
            except OSError:
                pass  # the look reports it
            self.look(id, file)
        for id, mode, blocks in command.get("follow", ()):
            file = self.files[id]
            file.mode, file.seen, file.next, file.tries = mode, None, 0.0, 0
            file.blocks = {part: [tuple(block) for block in sums] for part, sums in blocks.items()}
        for id in command.get("drop", ()):
            self.files[id].mode = ""
        if "sync" in command:
            self.syncs.append(command["sync"])
        if "ping" in command:
            self.out.send("pong", n=command["ping"])

    def compare(self, file: File, at: int, sums: Tuple[int, int]) -> None:
        """Continue a file after its first `at` bytes if it still begins with those that the other side has."""
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            first = os.pread(descriptor, min(SAMPLE, at), 0)
            last = os.pread(descriptor, min(SAMPLE, at), max(0, at - SAMPLE))
            status = os.fstat(descriptor)
            if at <= status.st_size and (zlib.crc32(first), zlib.crc32(last)) == sums:
                file.at, file.head, file.tail, file.inode = at, first, last, status.st_ino
        finally:
            os.close(descriptor)

    def look(self, id: int, file: File) -> bool:
        """Send what is new in a file, of a log up to PIECE bytes. Return whether there is more."""
        file.more = False
        try:
            if file.mode in ("head", "grow"):
                self.grow(id, file)
            else:
                self.rewrite(id, file)
        except OSError as error:
            if file.seen != error.errno:
                file.seen, file.at, file.head, file.tail, file.blocks = error.errno, 0, b"", b"", {}
                gone = error.errno in (errno.ENOENT, errno.ENOTDIR)
                self.out.send("lost", id=id, gone=gone, why=error.strerror or "")
        return file.more

    def grow(self, id: int, file: File) -> None:
        """Send the next bytes of a log; in mode "head" only the first HEAD bytes of the file."""
        now = look_at(file.path)
        if now is None:
            raise OSError(errno.ENOENT, "No such file or directory")
        if now == file.seen and time.time() - now[1] > FRESH:
            return
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            again = file.at > 0 and (
                status.st_size < file.at
                or os.pread(descriptor, len(file.head), 0) != file.head
                or os.pread(descriptor, len(file.tail), file.at - len(file.tail)) != file.tail
            )
            if again:
                file.at, file.head, file.tail = 0, b"", b""
            new = file.inode not in (0, status.st_ino)
            limit = PIECE if file.mode == "grow" else max(0, HEAD - file.at)
            data = os.pread(descriptor, limit, file.at)
        finally:
            os.close(descriptor)
        if data or again or not isinstance(file.seen, tuple) or file.modified != status.st_mtime:
            facts = {"size": status.st_size, "mtime": status.st_mtime}
            self.out.send("data", data, id=id, at=file.at, again=again, new=new, **facts)
        if len(file.head) < SAMPLE:
            file.head = (file.head + data)[:SAMPLE]
        file.tail = (file.tail + data)[-SAMPLE:]
        file.at += len(data)
        file.inode, file.modified = status.st_ino, status.st_mtime
        file.more = file.mode == "grow" and bool(data) and file.at < status.st_size
        file.seen = () if file.more else (status.st_size, status.st_mtime, status.st_ino)

    def rewrite(self, id: int, file: File) -> None:
        """Send the blocks of a document that differ from those sent before, and then whether it was unchanged."""
        parts = PARTS if file.mode == "unit" else ("",)
        before = [look_at(file.path + part) for part in parts]
        times = [known[1] for known in before if known]
        if before == file.seen and time.time() - max(times) > FRESH:
            return
        if before[0] is None:
            raise OSError(errno.ENOENT, "No such file or directory")
        if sum(known[0] for known in before if known) > LARGEST:
            raise OSError(errno.EFBIG, "larger than 1 GiB")
        there = [part for part, known in zip(parts, before) if known]
        file.blocks = {part: sums for part, sums in file.blocks.items() if part in there}
        changed = [self.send_blocks(id, file, part) for part in there]
        after = [look_at(file.path + part) for part in parts]
        if any(changed) or before != file.seen:
            self.out.send("done", id=id, ok=before == after, parts=there, mtimes=times)
        file.seen, file.modified = before, times[0]
        if before != after:
            file.seen, file.tries = None, file.tries + 1

    def send_blocks(self, id: int, file: File, part: str) -> bool:
        """Send the blocks of one file that have changed; return whether there were any."""
        old = file.blocks.get(part, [])
        sums: List[Tuple[int, ...]] = []
        numbers: List[int] = []
        payload: List[bytes] = []
        sent = False
        descriptor = os.open(file.path + part, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                data = os.pread(descriptor, ROUND, len(sums) * BLOCK)
                for start in range(0, len(data), BLOCK):
                    block = data[start : start + BLOCK]
                    sums.append((len(block), zlib.crc32(block), zlib.adler32(block)))
                    if len(sums) > len(old) or old[len(sums) - 1] != sums[-1]:
                        numbers.append(len(sums) - 1)
                        payload.append(block)
                last = len(data) < ROUND
                if payload or (last and (sent or part not in file.blocks or len(sums) != len(old))):
                    size = sum(entry[0] for entry in sums)
                    self.out.send("blocks", b"".join(payload), id=id, part=part, numbers=numbers, size=size, last=last)
                    numbers, payload, sent = [], [], True
                if last:
                    break
        finally:
            os.close(descriptor)
        file.blocks[part] = sums
        return sent


def is_unsettled(file: File) -> bool:
    """Is something of the file still to be sent?"""
    return bool(file.mode) and (file.more or (file.seen is None and file.tries < TRIES))


def is_log(file: File) -> bool:
    """Is the file followed as it is written?"""
    return file.mode in ("grow", "whole", "unit")


def look_at(path: str) -> Optional[Signature]:
    """Return the signature of a regular file, or None if there is none."""
    try:
        status = os.stat(path)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a file")
    return status.st_size, status.st_mtime, status.st_ino


def hear(commands: "queue.Queue[Dict[str, Any]]") -> None:
    """Take commands from stdin, and end the process with it."""
    for line in iter(sys.stdin.buffer.readline, b""):
        signal.alarm(SILENCE)  # without a handler the signal ends the process, also while it waits for a slow link
        commands.put(json.loads(line.decode("ascii")))
    os._exit(0)


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SILENCE)
    try:
        os.nice(10)
    except OSError:
        pass
    commands: queue.Queue[Dict[str, Any]] = queue.Queue()
    thread = threading.Thread(target=hear, args=(commands,))
    thread.daemon = True
    thread.start()
    first = commands.get()
    write(b"\0tuimon-agent " + first["nonce"].encode("ascii") + b"\n")
    out = Out()
    out.send("hello", time=time.time(), host=coded(os.uname()[1]), python=sys.version.split()[0])
    Agent(out, Walk(out, first["roots"], first["rules"]), first["interval"]).run(commands)


if __name__ == "__main__":
    main()
