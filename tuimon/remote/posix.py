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
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from tuimon import lazy_re as re
from tuimon.errors import TuimonError
from tuimon.remote.host import MAX_PIECE, Ended, Entry, LinkError, Root
from tuimon.remote.ssh import Transport, needs_login
from tuimon.text import clean

PATIENCE = 15.0
"""Seconds within which a host must answer for the first time, without the time that the user is asked."""
SILENCE = 30.0
"""Seconds without a byte after which an answer counts as lost; ssh notices a dead network after 15 s by itself."""
MAX_NOISE = 4 << 20
"""Bytes that a login shell may print before the first answer."""
MAX_ANSWER = 64 << 20
SKEW = 2.0
"""Difference of the clocks (s) above which times of change are corrected."""
_MAX_ERRORS = 4096
_MAX_LINKS = 1000
_CHUNK = 1 << 18
_TOGETHER = 250
"""Files in one question."""
_GROUPS = 1024
"""Groups of files that the shell remembers the last answer of."""
_FORMAT = "%f %d:%i %s %u %W %Y %y|%n"
_LINE = re.compile(r"([0-9a-f]{1,8}) (\d+:\d+) (\d{1,18}) (\d{1,10}) (\S{1,11}) (-?\d{1,11}) ([^|]*)\|(.*)")
_START = """[ -e /dev/null ] && exec 2>/dev/null
LC_ALL=C; export LC_ALL; renice -n 10 -p $$ >&2
m={mark}; e() {{ printf '\\n%s%s\\n' "$m" $1; }}; e
q() {{ n=$(g$1); eval "o=\\$l$1"; if [ "$n" = "$o" ]; then printf =; else eval "l$1=\\$n"; printf %s "$n"; fi; }}
z=cat; [ "$(echo | gzip -1 | gzip -d | wc -c)" -eq 1 ] && z='gzip -1'
w=none; if stat -Lc %s / >&2 && find / -prune >&2 && printf x | dd bs=1 count=1 >&2; then w=works; fi
echo "$w $(date +%s) $z"; e
"""
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
        self._errors = b""
        self._started = self._heard = time.monotonic()
        self._answers = -1
        """Answers so far; what a login shell prints before the first mark is none."""
        self._asked = math.nan
        """Time (monotonic) at which a question left while no other one waited for its answer."""
        self._waiting: deque[tuple[bool, Sequence[asyncio.Future[bytes]]]] = deque()
        """(whether it is one for several, through gzip; who waits for it) of each answer that has not come yet."""
        self._light: list[tuple[str, asyncio.Future[bytes]]] = []
        self._heavy: list[tuple[str, int, asyncio.Future[bytes]]] = []
        self._packs = False
        """Whether the host has gzip."""
        self._groups: dict[tuple[str, ...], _Group] = {}
        self._first_roots: asyncio.Task[Sequence[Root]] | None = None
        """What the path of the user leads to: asked for before it is known that the host answers."""
        self._pipe: asyncio.WriteTransport | None = None
        self._ends: list[asyncio.BaseTransport] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._problem: BaseException | None = None

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
        readers = []
        for stream in (process.stderr, process.stdout):
            reader = asyncio.StreamReader(_CHUNK)
            end, _ = await loop.connect_read_pipe(lambda reader=reader: asyncio.StreamReaderProtocol(reader), stream)  # type: ignore[misc]
            self._ends.append(end)
            readers.append(reader)
        self._pipe, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        noise: asyncio.Future[bytes] = loop.create_future()
        hello: asyncio.Future[bytes] = loop.create_future()
        self._waiting += [(False, [noise]), (False, [hello])]
        self._pipe.write(_START.format(mark=self._mark).encode())
        errors = loop.create_task(self._note_errors(readers[0]))
        self._tasks = [errors, *map(loop.create_task, (self._listen(readers[1], errors), self._watch(batch)))]
        self._first_roots = loop.create_task(self._roots())
        await noise
        works, seconds, *packer = [*(await hello).decode("utf-8", "replace").split(" "), "", ""]
        if works != "works" or not seconds.isdigit():
            raise Ended("no find, stat -c and dd there, which tuimon needs", final=True)
        difference = time.time() - int(seconds[:15])
        self.skew = difference if abs(difference) > SKEW else 0.0
        self._packs = packer[0] == "gzip"

    def rest(self, cost: float) -> float:
        return max(2.0, 20 * cost)

    def close(self) -> None:
        self._fail(ConnectionError("the connection was closed"))
        for task in (*self._tasks, self._first_roots):
            if task is not None:
                task.cancel()
        for end in (*self._ends, self._pipe):
            if end is not None:
                end.close()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()  # that of an end which was not connected yet, too

    # ------------------------------------------------------------------ the two questions

    async def roots(self) -> Sequence[Root]:
        first, self._first_roots = self._first_roots, None
        return await (first or self._roots())

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
        groups = [tuple(paths[start : start + _TOGETHER]) for start in range(0, len(paths), _TOGETHER)]
        found: dict[str, Entry] = {}
        for group, answer in zip(groups, await asyncio.gather(*map(self._stat_group, groups)), strict=True):
            facts = dict(filter(None, map(_entry, _text(answer).split("\n"))))
            found |= {path: facts[_spelled(path)] for path in group if _spelled(path) in facts}
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
        answer = await self._ask(f"{start}q {known.number}")
        known.answer = known.answer if answer == b"=" else answer
        return known.answer

    async def read(self, path: str, start: int, end: int) -> bytes:
        end = min(end, start + MAX_PIECE)
        unit = next((unit for unit in (512, 4096) if end - start <= 16 * unit), 1 << 16)
        skip = start // unit
        count = -(-end // unit) - skip
        words = f"dd if={quoted(path)} bs={unit} skip={skip} count={count}"
        return (await self._ask_much(words, count * unit))[start - skip * unit :][: end - start]

    async def ask(self, command: str) -> bytes:
        return await self._ask_much(command, 0)

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
        if not self._waiting:  # silence begins now
            self._heard = self._asked = time.monotonic()
        out = [f"{command};e\n" for command, _ in self._light]
        self._waiting += [(False, [future]) for _, future in self._light]
        group: list[asyncio.Future[bytes]] = []
        commands, total = "", 0
        for command, cost, future in self._heavy:
            commands, total, group = f"{commands}{command};e -;", total + cost, [*group, future]
            if total >= MAX_PIECE or future is self._heavy[-1][2]:
                out.append(f"{{ {commands} }}|$z;e\n")
                self._waiting.append((True, group))
                group, commands, total = [], "", 0
        self._light, self._heavy = [], []
        if self._pipe is not None and not self._pipe.is_closing():
            self._pipe.write("".join(out).encode("utf-8", "surrogateescape"))

    async def _listen(self, output: asyncio.StreamReader, errors: asyncio.Task[None]) -> None:
        """Cut the standard output of the shell at the marks until it ends, and say why it did."""
        mark, buffer, searched = f"\n{self._mark}\n".encode(), bytearray(), 0
        try:
            while data := await output.read(_CHUNK):
                self._heard = time.monotonic()
                buffer += data
                while (at := buffer.find(mark, max(0, searched - len(mark)))) >= 0:
                    answer = bytes(buffer[:at])
                    del buffer[: at + len(mark)]
                    searched = 0
                    self._take(answer)
                searched = len(buffer)
                if searched > (MAX_NOISE if self._answers < 0 else MAX_ANSWER):
                    raise Ended("an answer over the limit, or no shell answers there", final=self._answers < 0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(errors, 1.0)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.5)
            answered = self._answers >= 0
            lines = _lines(self._errors) or ([] if answered else _lines(bytes(buffer[-_MAX_ERRORS:])))
            reason = clean(lines[-1], 200) if lines else f"the connection has ended (status {self._process.poll()})"
            raise Ended(reason, login=not answered and needs_login(self._errors))
        except (Ended, TuimonError, OSError) as problem:
            self._fail(problem)

    async def _note_errors(self, errors: asyncio.StreamReader) -> None:
        """Keep the last words on the standard error of the command."""
        while data := await errors.read(_CHUNK):
            self._errors = (self._errors + data)[-_MAX_ERRORS:]

    def _take(self, answer: bytes) -> None:
        """Give an answer to those who wait for it; a group's has a mark behind the answer to each."""
        if not self._waiting:
            raise LinkError("the host answered what was not asked")
        is_group, futures = self._waiting[0]
        if not math.isnan(self._asked):
            self.delay, self._asked = time.monotonic() - self._asked, math.nan
        parts = [answer]
        if is_group:
            answer = _unpacked(answer) if self._packs else answer
            *parts, _ = answer.split(f"\n{self._mark}-\n".encode())
            if len(parts) != len(futures):
                raise LinkError("the host answered other questions than were asked")
        self._answers += 1
        self._waiting.popleft()
        for future, part in zip(futures, parts, strict=True):
            if not future.done():
                future.set_result(part)

    async def _watch(self, batch: bool) -> None:
        """End the connection if no answer comes. The user may be asked something for any time before the first one."""
        while True:
            await asyncio.sleep(0.25)
            now = time.monotonic()
            if self._answers < 0 and batch and now - self._started > PATIENCE:
                self._fail(Ended(f"no answer within {PATIENCE:.0f} s"))
            elif self._answers >= 0 and self._waiting and now - self._heard > SILENCE:
                self._fail(Ended("no answer"))

    def _fail(self, problem: BaseException) -> None:
        self._problem = self._problem or problem
        futures = [future for _, futures in self._waiting for future in futures]
        futures += [future for _, future in self._light] + [future for _, _, future in self._heavy]
        self._waiting.clear()
        for future in futures:
            if not future.done():
                future.set_exception(self._problem)
                future.exception()  # nobody may wait for it any more


class _Group(msgspec.Struct):
    """Files whose status is asked for together; a question on its way keeps it when the shell forgets it."""

    number: int
    answer: bytes = b""


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
    mode, identity, size, owner, birth, seconds, stamp, path = match.groups()
    born = int(birth) if birth.isdigit() and birth.isascii() and birth != "0" else math.nan  # "W" of BusyBox
    fraction = stamp.partition(".")[2][:9].split(" ")[0]
    part = int(fraction) / 10 ** len(fraction) if fraction.isdigit() else 0.0
    return path, Entry(int(mode, 16), int(size), int(seconds) + part, identity, stamp, int(owner), born)


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
