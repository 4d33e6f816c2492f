"""A host that is asked through a POSIX shell: `ssh HOST 'exec /bin/sh'`, docker exec, kubectl exec, a user's command.

The shell reads commands from its standard input, and prints a random line of 128 bits after the answer to each:

    find DIR/. … -exec stat -c FORMAT {} +      names in directories, many directories in one command
    stat -Lc FORMAT FILE FILE …                 what has changed; the shell prints "=" if nothing has
    dd if=FILE bs=512 skip=K count=N            bytes; dd seeks, which `tail -c` of BusyBox does not
    find /proc/[0-9]*/fd … -exec stat …         which files are held open for writing

All questions of one turn of the event loop leave together and cost one round trip. Answers of some length pass
through gzip. Nothing is written on the host, and no program is sent to it. `stat -c` is needed, which macOS lacks.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import secrets
import shlex
import stat
import subprocess
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise

import msgspec

from tuimon import lazy_re as re
from tuimon.remote.connection import Ended
from tuimon.remote.entries import MAX_PIECE, Entry, Holders, LinkError, Root
from tuimon.remote.ssh import Transport, needs_login
from tuimon.sources.mounts import is_remote
from tuimon.text import clean

PATIENCE = 15.0
"""Seconds within which a host must answer for the first time, without the time that the user is asked."""
SILENCE = 30.0
"""Seconds without a byte after which an answer counts as lost; ssh notices a dead network after 15 s by itself."""
PING_EVERY = 5.0
MAX_NOISE = 4 << 20
"""Bytes that a login shell may print before the first answer."""
MAX_ANSWER = 64 << 20
SKEW = 2.0
"""Difference of the clocks (s) above which times of change are corrected."""
_MAX_ERRORS = 4096
_MAX_LINKS = 1000
_GROUPS = 64
"""Groups of files that the shell remembers the last answer of."""
_FORMAT = "%f %d:%i %s %Y %y|%n"
_LINE = re.compile(r"([0-9a-f]{1,8}) (\d+:\d+) (\d{1,18}) (-?\d{1,11}) ([^|]*)\|(.*)")
_START = """[ -e /dev/null ] && exec 2>/dev/null
LC_ALL=C; export LC_ALL; renice -n 10 -p $$ >&2
m={mark}; e() {{ printf '\\n%s\\n' "$m"; }}; e
z=cat; [ "$(echo | gzip -1 | gzip -d | wc -c)" -eq 1 ] && z='gzip -1'
w=none; if stat -Lc %s / >&2 && find / -prune >&2 && printf x | dd bs=1 count=1 >&2; then w=works; fi
echo "$w $(date +%s) $z"; e
"""
_HOLDERS = (
    "id -u; n=0 h=0; for p in /proc/[0-9]*; do "
    'if [ -r "$p/fd" ]; then [ "$p" = /proc/$$ ] || n=$((n+1)); else c=; read -r c < "$p/comm"; '
    "case $c in python*) h=1;; esac; fi; done; echo $n $h; "
    "find /proc/[0-9]*/fd -type l -perm -200 -exec stat -Lc '%f %d:%i %n' {} + | grep '^8'"
)
_MAGIC = re.compile(r"(\*+|\?|\[[\w!^-]+\])")
_TILDE = re.compile(r"~[\w.-]*(?=/|$)")


class Shell:
    """The host at the other end of a shell."""

    pause = 0.25
    first = 64 << 10

    def __init__(self, process: subprocess.Popen[bytes], path: str) -> None:
        """path: of the logs, as the user wrote it."""
        self.delay = math.nan
        self.skew = 0.0
        self._process, self._path = process, path
        self._mark = secrets.token_hex(16)
        self._answers = _Answers(f"\n{self._mark}\n".encode(), self._take)
        self._errors = _Errors()
        self._waiting: deque[tuple[str, list[asyncio.Future[bytes]]]] = deque()
        """Form of each answer that has not come yet, and who waits for it: plain, or packed for several of them."""
        self._light: list[tuple[str, asyncio.Future[bytes]]] = []
        self._heavy: list[tuple[str, int, asyncio.Future[bytes]]] = []
        self._gzip = False
        self._groups: dict[tuple[str, ...], _Group] = {}
        self._first_roots: asyncio.Future[Sequence[Root]] | None = None
        self._first_list: asyncio.Future[dict[str, dict[str, Entry]]] | None = None
        """What the path of the user leads to, and its list: asked for before it is known that the host answers."""
        self._pipe: asyncio.WriteTransport | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._problem: BaseException | None = None
        self._pinged = time.monotonic()

    @classmethod
    async def connect(cls, transport: Transport, path: str, batch: bool) -> Shell:
        """Start the command of a transport. batch: it must not ask anything. Raise Ended, OSError."""
        self = cls(transport.start(batch), path)
        try:
            await self._open(batch)
        except BaseException:
            self.close()
            raise
        return self

    async def _open(self, batch: bool) -> None:
        """Wait until the shell answers, and see what it can do."""
        loop, process = asyncio.get_running_loop(), self._process
        await loop.connect_read_pipe(lambda: self._errors, process.stderr)
        await loop.connect_read_pipe(lambda: self._answers, process.stdout)
        self._pipe, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self._answers.ended.add_done_callback(lambda _: self._tasks.append(loop.create_task(self._end())))
        noise: asyncio.Future[bytes] = loop.create_future()
        hello: asyncio.Future[bytes] = loop.create_future()
        self._waiting += [("plain", [noise]), ("hello", [hello])]
        self._pipe.write(_START.format(mark=self._mark).encode())
        self._tasks.append(loop.create_task(self._watch(batch)))
        self._first_roots = asyncio.ensure_future(self._roots())
        if not _MAGIC.search(self._path) and not self._path.startswith("~"):
            self._first_list = asyncio.ensure_future(self._list([self._path]))
        await noise
        works, seconds, *_ = [*(await hello).decode("utf-8", "replace").split(" "), "", ""]
        if works != "works" or not seconds.isdigit():
            raise Ended("no find, stat -c and dd there, which tuimon needs", final=True)
        difference = time.time() - int(seconds[:15])
        self.skew = difference if abs(difference) > SKEW else 0.0

    def rest(self, cost: float) -> float:
        return max(2.0, 20 * cost)

    def close(self) -> None:
        self._fail(ConnectionError("the connection was closed"))
        for task in (*self._tasks, self._first_roots, self._first_list):
            if task is not None:
                task.cancel()
        for end in (self._pipe, self._answers, self._errors):
            if end is not None:
                end.close()
        self._process.kill()
        self._process.wait()

    # ------------------------------------------------------------------ the two questions

    async def roots(self) -> Sequence[Root]:
        if first := self._first_roots:
            self._first_roots = None
            return await first
        self._first_list = None  # it was of what was there before
        return await self._roots()

    async def _roots(self) -> Sequence[Root]:
        magic = next((n for n, part in enumerate(self._path.split("/")) if _MAGIC.search(part)), None)
        count = 0 if magic is None else len(self._path.split("/")) - magic
        literal, pattern = _word(self._path, False), _word(self._path, True)
        answer = await self._ask(
            f'p={literal}; if [ -e "$p" ]; then set -- "$p"; else set -- {pattern}; fi; '
            f'for p; do [ -e "$p" ] && stat -Lc \'{_FORMAT}\' "$p" && readlink -f "$p"; done'
        )
        found = []
        for line, real in pairwise(_text(answer).split("\n")):
            if (known := _entry(line)) is not None and _entry(real) is None:
                path, entry = known
                parts = tuple(path.split("/")[-count:]) if count and path != self._path else ()
                found.append(Root(path, parts, entry, real or path))
        return found

    async def list(self, paths: Sequence[str]) -> dict[str, dict[str, Entry]]:
        if (first := self._first_list) and list(paths) == [self._path]:
            self._first_list = None
            return await first
        return await self._list(paths)

    async def _list(self, paths: Sequence[str]) -> dict[str, dict[str, Entry]]:
        names = " ".join(map(quoted, paths))
        text = await self._ask_much(
            f'set --; for d in {names}; do [ -r "$d" ] && [ -x "$d" ] && set -- "$@" "$d/."; done; '
            f"[ $# -gt 0 ] && find \"$@\" '(' -name . -o -prune ')' -exec stat -c '{_FORMAT}' {{}} +",
            0,
        )
        by_name = {_spelled(path): path for path in paths}
        found: dict[str, dict[str, Entry]] = {}
        links: list[tuple[str, str]] = []
        for line in _text(text).split("\n"):
            path, entry = _entry(line) or ("", None)
            folder, _, name = path.rpartition("/./")
            if entry and path.endswith("/.") and (known := by_name.get(path[:-2])) is not None:
                found.setdefault(known, {})
            elif entry and name and (known := by_name.get(folder)) is not None:
                if stat.S_ISLNK(entry.mode):
                    links.append((known, name))
                else:
                    found.setdefault(known, {})[name] = entry
        links = links[:_MAX_LINKS]
        ends = await asyncio.gather(*(self._follow(_join(folder, name)) for folder, name in links))
        for (folder, name), end in zip(links, ends, strict=True):
            if end is not None:
                found.setdefault(folder, {})[name] = end
        return found

    async def _follow(self, path: str) -> Entry | None:
        """Return what a symbolic link leads to; None if it leads to nothing."""
        name = quoted(path)
        answer = await self._ask_much(f"readlink -f {name}; stat -Lc '{_FORMAT}' {name}", 0)
        real, _, line = _text(answer).partition("\n")
        known = _entry(line.strip("\n"))
        return known and msgspec.structs.replace(known[1], leads_to=real)

    async def stat(self, paths: Sequence[str]) -> dict[str, Entry]:
        groups = [tuple(paths[start : start + 250]) for start in range(0, len(paths), 250)]
        found: dict[str, Entry] = {}
        for group, answer in zip(groups, await asyncio.gather(*map(self._stat_group, groups)), strict=True):
            by_name = {_spelled(path): path for path in group}
            for line in _text(answer).split("\n"):
                path, entry = _entry(line) or ("", None)
                if entry and path in by_name:
                    found[by_name[path]] = entry
        return found

    async def _stat_group(self, group: tuple[str, ...]) -> bytes:
        """Ask for the status of files; the shell keeps the question and its last answer for the next time."""
        start = ""
        known = self._groups.get(group)
        if known is None:
            if len(self._groups) >= _GROUPS:
                self._groups.clear()
            known = self._groups[group] = _Group(len(self._groups))
            names = " ".join(map(quoted, group))
            start = f"g{known.number}() {{ stat -Lc '{_FORMAT}' {names}; }}; l{known.number}=; "
        n = known.number
        answer = await self._ask(
            f'{start}n=$(g{n}); if [ "$n" = "$l{n}" ]; then printf =; else l{n}=$n; printf %s "$n"; fi'
        )
        known.answer = known.answer if answer == b"=" else answer
        return known.answer

    async def read(self, path: str, start: int, end: int) -> bytes:
        end = min(end, start + MAX_PIECE)
        unit = next((unit for unit in (512, 4096) if end - start <= 16 * unit), 1 << 16)
        skip = start // unit
        count = -(-end // unit) - skip
        words = f"dd if={quoted(path)} bs={unit} skip={skip} count={count}"
        return (await self._ask_much(words, count * unit))[start - skip * unit :][: end - start]

    # ------------------------------------------------------------------ processes

    async def holders(self) -> Holders | None:
        lines = _text(await self._ask_much(_HOLDERS, 0)).split("\n")
        if len(lines) < 2 or not lines[0].isdigit() or not re.fullmatch(r"\d+ [01]", lines[1]):
            return None
        inspected, hidden = lines[1].split()
        found: dict[str, tuple[str, str]] = {}
        for line in lines[2:]:
            if match := re.fullmatch(r"8[0-9a-f]+ (\d+:\d+) (/proc/(\d+)/fd/\d+)", line):
                found[match[1]] = match[3], match[2]
        return Holders(found, int(lines[0][:9]), inspected != "0" and hidden == "0")

    async def births(self, paths: Sequence[str]) -> dict[str, tuple[int, str, float, str]]:
        names = " ".join(map(quoted, paths))
        by_name = {_spelled(path): path for path in paths}
        found = {}
        for line in _text(await self._ask_much(f"stat -Lc '%u|%z|%w|%y|%n' {names}", 0)).split("\n"):
            owner, changed, born, modified, name = [*line.split("|", 4), "", "", "", ""][:5]
            if owner.isdigit() and name in by_name:
                found[by_name[name]] = int(owner[:12]), changed, _seconds(born), modified
        return found

    async def describe(self, process: str) -> tuple[str, str]:
        number = int(process)
        answer = await self._ask_much(f"cd /proc/{number} && cat comm && dd if=cmdline bs=4096 count=1", 4096)
        name, _, command = answer.decode("utf-8", "replace").partition("\n")
        return name, command

    async def networks(self) -> frozenset[int]:
        devices = set()
        for line in _text(await self._ask_much("cat /proc/self/mountinfo", 0)).splitlines():
            fields, _, rest = line.partition(" - ")
            device = fields.split(" ")[2:3]
            if device and is_remote(rest.split(" ")[0]) and re.fullmatch(r"\d{1,9}:\d{1,9}", device[0]):
                devices.add(os.makedev(*map(int, device[0].split(":"))))
        return frozenset(devices)

    # ------------------------------------------------------------------ questions and answers

    async def _ask(self, command: str) -> bytes:
        """Return the answer to a command. It is executed before all that were asked by `_ask_much` in this turn."""
        future: asyncio.Future[bytes] = self._future()
        self._light.append((command, future))
        return await future

    async def _ask_much(self, command: str, cost: int) -> bytes:
        """Return the answer to a command, which passes through gzip. cost: its bytes, as far as they are known."""
        future: asyncio.Future[bytes] = self._future()
        self._heavy.append((command, cost, future))
        return await future

    def _future(self) -> asyncio.Future[bytes]:
        if self._problem is not None:
            raise self._problem
        loop = asyncio.get_running_loop()
        if not self._light and not self._heavy:
            loop.call_soon(self._flush)
        return loop.create_future()

    def _flush(self) -> None:
        """Send all questions of this turn: those with short answers, and then the others in groups of a piece."""
        if self._problem is not None:
            return
        out = []
        for command, future in self._light:
            out.append(f"{command};e\n")
            self._waiting.append(("plain", [future]))
        group: list[asyncio.Future[bytes]] = []
        commands, total = "", 0
        for command, cost, future in self._heavy:
            commands, total = f"{commands}{command};e;", total + cost
            group.append(future)
            if total >= MAX_PIECE or future is self._heavy[-1][2]:
                out.append(f"{{ {commands} }}|$z;e\n")
                self._waiting.append(("packed", group))
                group, commands, total = [], "", 0
        self._light, self._heavy = [], []
        if len(self._waiting) == len(out):  # it was idle: silence begins now
            self._answers.heard = time.monotonic()
        if self._pipe is not None and not self._pipe.is_closing():
            self._pipe.write("".join(out).encode("utf-8", "surrogateescape"))

    def _take(self, answer: bytes) -> None:
        """Give an answer to those who wait for it."""
        if not self._waiting:
            raise LinkError("the host answered what was not asked")
        form, futures = self._waiting[0]
        self._gzip = b" gzip" in answer if form == "hello" else self._gzip
        parts = [answer]
        mark = f"\n{self._mark}\n".encode()
        if form == "packed":
            if self._gzip:
                answer = _unpacked(answer)
                parts = answer.split(mark)
                if len(parts) != len(futures) + 1:
                    raise LinkError("the host answered other questions than were asked")
                parts.pop()
            else:  # marks inside the group were taken for those of answers
                self._waiting[0] = form, futures[1:]
                futures = futures[:1]
                if not futures:
                    self._waiting.popleft()
                    return
        if form != "packed" or self._gzip:
            self._waiting.popleft()
        for future, part in zip(futures, parts, strict=True):
            if not future.done():
                future.set_result(part)

    async def _watch(self, batch: bool) -> None:
        """Ask something now and then, and end the connection if no answer comes."""
        started = time.monotonic()
        while True:
            await asyncio.sleep(0.25)
            now = time.monotonic()
            if not self._answers.count:
                if batch and now - started > PATIENCE:
                    self._fail(Ended(f"no answer within {PATIENCE:.0f} s"))
                if len(self._answers.buffer) > MAX_NOISE:
                    self._fail(Ended("no shell answers there, but a flood of text", final=True))
            elif self._waiting and now - self._answers.heard > SILENCE:
                self._fail(Ended("no answer"))
            elif not self._waiting and (now - self._pinged > PING_EVERY or math.isnan(self.delay)):
                self._pinged = now
                with contextlib.suppress(Exception):
                    await self._ask(":")
                    self.delay = time.monotonic() - now

    def _fail(self, problem: BaseException) -> None:
        self._problem = self._problem or problem
        futures = [future for _, futures in self._waiting for future in futures]
        futures += [future for _, future in self._light] + [future for _, _, future in self._heavy]
        self._waiting.clear()
        for future in futures:
            if not future.done():
                future.set_exception(self._problem)
                future.exception()  # nobody may wait for it any more

    async def _end(self) -> None:
        """Fail with the reason that the command gave on its standard error."""
        if (problem := self._answers.ended.exception()) is not None:
            self._fail(problem)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._errors.ended, 1.0)
        errors = bytes(self._errors.data)
        answered = self._answers.count > 0
        lines = _lines(errors) or ([] if answered else _lines(bytes(self._answers.buffer[-_MAX_ERRORS:])))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5)
        reason = clean(lines[-1], 200) if lines else f"the connection has ended (status {self._process.poll()})"
        self._fail(Ended(reason, login=not answered and needs_login(errors)))


class _Group(msgspec.Struct):
    """Files whose status is asked for together; a question on its way keeps it when the shell forgets it."""

    number: int
    answer: bytes = b""


class _Answers(asyncio.Protocol):
    """The standard output of the shell, cut at the marks."""

    def __init__(self, mark: bytes, take: Callable[[bytes], None]) -> None:
        self.buffer = bytearray()
        self.heard = time.monotonic()
        self.count = 0
        """Answers so far; what a login shell prints before the first mark is none."""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._mark, self._take, self._searched = mark, take, 0
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard = time.monotonic()
        self.buffer += data
        try:
            while (at := self.buffer.find(self._mark, max(0, self._searched - len(self._mark)))) >= 0:
                answer = bytes(self.buffer[:at])
                del self.buffer[: at + len(self._mark)]
                self._searched, self.count = 0, self.count + 1
                self._take(answer)
            self._searched = len(self.buffer)
            if self._searched > MAX_ANSWER:
                raise LinkError("the host sent an answer over the limit")
        except LinkError as error:
            self._finish(error)
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _finish(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error) if error else self.ended.set_result(None)


class _Errors(asyncio.Protocol):
    """The last words on the standard error of the command."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.data = (self.data + data)[-_MAX_ERRORS:]

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def quoted(path: str) -> str:
    """Return a path as one word of a command: 'it'"'"'s here', ./-n."""
    return shlex.quote(_spelled(path))


def _spelled(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def _join(folder: str, name: str) -> str:
    return folder + name if folder.endswith("/") else f"{folder}/{name}"


def _word(path: str, expand: bool) -> str:
    """Return the path of the user as a word; only its `~`, and its patterns if it is to be expanded, are unquoted."""
    path = _spelled(path)
    tilde = _TILDE.match(path)
    home = tilde[0] if tilde else ""
    pieces = _MAGIC.split(path[len(home) :]) if expand else [path[len(home) :]]
    return home + "".join(piece if n % 2 else shlex.quote(piece) for n, piece in enumerate(pieces) if piece) or "''"


def _entry(line: str) -> tuple[str, Entry] | None:
    """Return (path, entry) of a line of `stat`; None for any other line, such as a name's second one."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    mode, identity, size, seconds, stamp, path = match.groups()
    fraction = stamp.partition(".")[2][:9].split(" ")[0]
    part = int(fraction) / 10 ** len(fraction) if fraction.isdigit() else 0.0
    return path, Entry(int(mode, 16), int(size), int(seconds) + part, identity, stamp)


def _seconds(stamp: str) -> float:
    """Return the time (s since the epoch) that `stat` writes as 2026-01-31 12:00:00.123456789 +0100; NaN if none."""
    try:
        date, clock, zone = stamp.split(" ")
        return datetime.fromisoformat(f"{date}T{clock[:15]}{zone}").timestamp()
    except ValueError:
        return math.nan


def _text(data: bytes) -> str:
    return os.fsdecode(data)


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]


def _unpacked(data: bytes) -> bytes:
    """Return what gzip has packed. Raise LinkError for anything else, and above MAX_ANSWER."""
    inflate = zlib.decompressobj(31)
    try:
        text = inflate.decompress(data, MAX_ANSWER)
    except zlib.error as error:
        raise LinkError(f"the answer of the host is damaged: {error}") from error
    if not inflate.eof:
        raise LinkError("the answer of the host is over the limit, or not whole")
    return text
