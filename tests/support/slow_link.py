"""A TCP link with a delay and a rate, which can stall (a network that is gone) and reset its connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from types import TracebackType

_PIECE = 16 << 10


class SlowLink:
    """Context manager: a loopback port whose connections lead to another one."""

    def __init__(self, port: int, delay: float = 0.0, rate: float = float("inf")) -> None:
        """port: of the server. delay: seconds one way. rate: bytes per second in each direction."""
        self.port = 0
        """Port of the link."""
        self.sent = self.received = 0
        """Bytes that the client has sent and received so far."""
        self._server_port, self._delay, self._rate = port, delay, rate
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="slow link")
        self._ready = threading.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._closed = asyncio.Event()

    def stall(self) -> None:
        """Forward nothing until `resume`; no connection ends."""
        self._call(self._flows.clear)

    def resume(self) -> None:
        """Forward again what waits."""
        self._call(self._flows.set)

    def reset(self) -> None:
        """End all connections with RST, as a router does that has forgotten them."""
        self._call(self._reset)

    def _call(self, function: object) -> None:
        done = threading.Event()

        def run() -> None:
            assert callable(function)
            function()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(60)

    def _reset(self) -> None:
        for writer in self._writers:
            transport = writer.transport
            connection = transport.get_extra_info("socket")
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()

    def _serve(self) -> None:
        self._loop.run_until_complete(self._run())
        self._loop.close()

    async def _run(self) -> None:
        self._flows.set()
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._closed.wait()
        server.close()
        self._reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        for stream in (writer, to_server[1]):
            stream.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._writers |= {writer, to_server[1]}
        try:
            await asyncio.gather(self._pump(reader, to_server[1], True), self._pump(to_server[0], writer, False))
        except asyncio.CancelledError:
            pass  # the link is closed
        finally:
            for stream in (writer, to_server[1]):
                self._writers.discard(stream)
                stream.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_sent: bool) -> None:
        """Forward one direction: each piece leaves the link `delay` seconds after the rate has let it in."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)

        async def deliver() -> None:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(due - self._loop.time())
                await self._flows.wait()
                if not data:
                    break
                writer.write(data)
                await writer.drain()
            with contextlib.suppress(OSError):
                writer.write_eof()

        delivering = asyncio.ensure_future(deliver())
        free = self._loop.time()
        with contextlib.suppress(OSError):
            while data := await reader.read(_PIECE):
                free = max(free, self._loop.time()) + len(data) / self._rate
                if is_sent:
                    self.sent += len(data)
                else:
                    self.received += len(data)
                await waiting.put((free + self._delay, data))
                if free - self._loop.time() > 0.05:
                    await asyncio.sleep(free - self._loop.time() - 0.05)
        await waiting.put((free + self._delay, b""))
        with contextlib.suppress(OSError):
            await delivering

    def __enter__(self) -> SlowLink:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join()
