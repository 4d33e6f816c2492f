"""One connection: start the agent, pass its frames to a Receiver, and commands to the agent, until either ends."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tuimon.remote import boot
from tuimon.remote.connection import Ended, Received
from tuimon.remote.following import rules
from tuimon.remote.protocol import AgentPeer, Hello, LinkError, Pong, name_to
from tuimon.remote.receiver import Receiver
from tuimon.remote.shell import ShellPeer
from tuimon.remote.ssh import Transport, needs_login
from tuimon.text import clean

MAX_NOISE = 4 << 20
"""Bytes that a login shell may print before the agent answers."""
PING_EVERY = 5.0
PATIENCE = 60.0
"""Seconds within which the agent must answer for the first time, without the time that the user is asked."""
_CHUNK = 1 << 18
_MAX_ERRORS = 4096


class Session:
    """A connection to the agent on one host."""

    def __init__(self, transport: Transport, path: str, receiver: Receiver, interval: float) -> None:
        """path: of the logs on the host. interval: seconds between two looks of the agent at the files."""
        self.receiver = receiver
        self.delay = float("nan")
        """Seconds from a ping to its answer."""
        self._transport = transport
        self._nonce = os.urandom(8).hex()
        self._first: dict[str, Any] = {
            "nonce": self._nonce,
            "roots": [name_to(path)],
            "rules": rules(),
            "interval": interval,
        }
        self._out = bytearray()
        self._errors = b""
        self._noise = b""
        self._peer: AgentPeer | ShellPeer | None = None
        self._pinged_at = self._heard_at = time.monotonic()
        self._ping = 0
        self._pong = 0
        self._wake_read, self._wake_write = os.pipe()

    @property
    def received(self) -> Received:
        return self.receiver

    @property
    def answered(self) -> bool:
        return self.receiver.hello is not None

    def close(self) -> None:
        """End `run` in another thread, soon."""
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"!")

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b".")

    def run(self, batch: bool, on_progress: Callable[[], None]) -> None:
        """Serve the connection until it ends, and raise Ended, LinkError, MirrorError or OSError; return after `close`.

        batch: the user cannot be asked. on_progress: called after each word of the agent.
        """
        process = self._transport.start(batch)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for pipe in (process.stdin, process.stdout, process.stderr):
                os.set_blocking(pipe.fileno(), False)
            if self._transport.shell:
                self._out += self._transport.shell
            else:
                self._send_agent()
            self._serve(process, batch, on_progress)
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
            self.receiver.close()
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _send_agent(self) -> None:
        self._out += boot.agent()
        self._out += AgentPeer().encode(**self._first)

    def _serve(self, process: subprocess.Popen[bytes], batch: bool, on_progress: Callable[[], None]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        source, errors, sink = process.stdout.fileno(), process.stderr.fileno(), process.stdin.fileno()
        open_errors = True
        started = time.monotonic()
        while True:
            reading = [source, self._wake_read, *([errors] if open_errors else [])]
            turn = self._peer.turn if self._peer else AgentPeer.turn
            ready, writable, _ = select.select(reading, [sink] if self._out else [], [], turn)
            if self._wake_read in ready:
                if b"!" in os.read(self._wake_read, 64):
                    return
                self._ask()
            if errors in ready:
                data = os.read(errors, _CHUNK)
                open_errors = bool(data)
                self._errors = (self._errors + data)[-_MAX_ERRORS:]
            if writable:
                try:
                    del self._out[: os.write(sink, self._out[:_CHUNK])]
                except BrokenPipeError:
                    self._out.clear()  # the reason follows on the other pipes
                except BlockingIOError:
                    pass
            if source in ready:
                data = os.read(source, _CHUNK)
                if not data:
                    self._end(process)
                self._heard_at = time.monotonic()
                self._take(data)
                on_progress()
            self._keep_alive(time.monotonic(), started, batch)

    def _keep_alive(self, now: float, started: float, batch: bool) -> None:
        if self._peer is None:
            if batch and now - started > PATIENCE:
                raise Ended("no answer")
            return
        if now - self._heard_at > self._peer.silence:
            raise Ended("no answer")
        if self._ping == self._pong and now - self._pinged_at >= (PING_EVERY if self._ping else 0.0):
            self._ping += 1
            self._pinged_at = now
            self._out += self._peer.encode(ping=self._ping)
        self._out += self._peer.due(now)

    def _take(self, data: bytes) -> None:
        if self._peer is None:
            data = self._after_marker(data)
            if self._peer is None:
                return
        for frame, payload in self._peer.feed(data):
            if isinstance(frame, Pong):
                if frame.n == self._ping != self._pong:
                    self._pong, self.delay = frame.n, time.monotonic() - self._pinged_at
                continue
            if isinstance(frame, Hello) == (self.receiver.hello is not None):
                raise LinkError("the agent did not introduce itself once")
            self.receiver.take(frame, payload)
        self._ask()

    def _ask(self) -> None:
        if self._peer is not None and (wanted := self.receiver.commands()):
            self._out += self._peer.encode(**wanted)

    def _after_marker(self, data: bytes) -> bytes:
        """Return what follows the line by which the agent answers; a login shell may print anything before it."""
        marker = f"\0tuimon-agent {self._nonce}\n".encode()
        self._noise += data
        at = self._noise.find(marker)
        if at >= 0:
            rest = self._noise[at + len(marker) :]
            self._noise = b""
            self._peer = AgentPeer()
            return rest
        if b"\n" + boot.SHELL + b"\n" in b"\n" + self._noise:
            self._peer = ShellPeer(self._nonce, self._first["roots"][0], 4 * self._first["interval"])
            return b""
        if self._transport.shell and self._out == b"" and boot.READY.encode() + b"\n" in self._noise:
            self._noise = b""
            self._send_agent()
        if len(self._noise) > MAX_NOISE:
            raise Ended("no agent answers there, but a flood of text", final=True)
        return b""

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Raise Ended with the reason that the command gave."""
        deadline = time.monotonic() + 1.0
        assert process.stderr is not None
        while time.monotonic() < deadline and select.select([process.stderr], [], [], 0.2)[0]:
            data = os.read(process.stderr.fileno(), _CHUNK)
            if not data:
                break
            self._errors = (self._errors + data)[-_MAX_ERRORS:]
        if boot.NO_PYTHON in self._noise:
            raise Ended("there is no Python 3.6 or newer at the given path", final=True)
        lines = [line.strip() for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()]
        if isinstance(self._peer, ShellPeer) and not lines and not self.answered:
            raise Ended("no Python 3.6 or newer there, and no find, stat, dd and cksum", final=True)
        if not lines and self._peer is None:
            lines = [line.strip() for line in self._noise.decode("utf-8", "replace").splitlines() if line.strip()]
        try:
            status = process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            status = 0
        reason = clean(lines[-1], 200) if lines else f"the connection has ended (status {status})"
        raise Ended(reason, login=self._peer is None and needs_login(self._errors))
