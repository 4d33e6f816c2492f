"""The server: page, files, events and report, at an address with a random token."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from aiohttp import web

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.exports.html import report
from tuimon.exports.html.parts import run_key
from tuimon.monitor.process import ReaderProcess
from tuimon.text import clean
from tuimon.web.guard import BACKLOG, HEADERS, Connections, Guard
from tuimon.web.hub import MAX_KEYS, MAX_PAGES, Hub, OpenPage

KEEP_ALIVE = 15.0
"""Seconds after which a comment is sent to an idle page."""
STALLED = 60.0
"""Seconds after which a page that takes no data is disconnected. It continues when it connects again."""
PORTS = range(8600, 8620)
"""Ports that are tried if the user names none; then any free one is taken."""
_VERSION = re.compile(r"([0-9a-f]{8})-(\d{1,15})")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageView(msgspec.Struct, frozen=True):
    """The body of a request that says what a page has in view."""

    page: str
    keys: frozenset[str]


class Server:
    """Answers requests while its event loop runs."""

    def __init__(self, monitor: ReaderProcess, guard: Guard) -> None:
        self._monitor = monitor
        self._guard = guard
        self._hub = Hub(monitor.snapshot)
        self._reporting = asyncio.Lock()
        self.note_request: Callable[[web.Request], None] = lambda request: None
        """Is called with each request before it is answered."""
        monitor.on_change = self._hub.announce

    def application(self) -> web.Application:
        """Return the addresses with their handlers."""
        application = web.Application(middlewares=[self._check], client_max_size=1 << 16)
        application.on_response_prepare.append(_add_headers)
        application.add_routes(
            [
                web.get("/{token}", self._redirect),
                web.get("/{token}/", self._page),
                web.get("/{token}/events", self._events, allow_head=False),
                web.post("/{token}/view", self._view),
                web.get("/{token}/report", self._report, allow_head=False),
                web.get("/{token}/{file}", self._asset),
            ]
        )
        return application

    async def draw(self) -> None:
        """Draw for the open pages until cancelled."""
        await self._hub.run()

    @web.middleware
    async def _check(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self.note_request(request)
        refusal = self._guard.refusal(request.path, request.headers)
        if refusal is not None:
            return web.Response(status=refusal.status, text=f"{refusal.reason}\n")
        return await handler(request)

    async def _redirect(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPPermanentRedirect(f"{request.path}/")

    async def _page(self, request: web.Request) -> web.StreamResponse:
        key = request.query.get("run", "")
        run = self._hub.run_of(key)
        drawn = None if run is None else await self._hub.run_page(run_key(run))
        if run is None or drawn is None:
            if key:
                raise web.HTTPNotFound(text="There is no such run any more.\n")
            return _html(report.live_page(None, (), {}, ""))
        parts = {key: part.html for key, part in drawn.parts.items()}
        since = f"{self._hub.run_pages.epoch}-{drawn.version}"
        return _html(report.live_page(run, drawn.slots, parts, since))

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["file"]
        try:
            text = report.asset_text(name)
        except KeyError:
            raise web.HTTPNotFound(text="Not found.\n") from None
        return web.Response(text=text, content_type=report.ASSETS[name], charset="utf-8")

    async def _report(self, request: web.Request) -> web.StreamResponse:
        async with self._reporting:  # it takes a second of a core with many metrics
            html = await asyncio.to_thread(report.as_html, self._monitor.snapshot(), time.time())
        response = _html(html)
        response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return response

    async def _view(self, request: web.Request) -> web.StreamResponse:
        try:
            view = msgspec.json.decode(await request.read(), type=PageView)
        except msgspec.DecodeError:
            raise web.HTTPBadRequest(text="The body must be an object with page and keys.\n") from None
        if len(view.keys) > MAX_KEYS or not self._hub.set_view(view.page, view.keys):
            raise web.HTTPNotFound(text="There is no such page.\n")
        return web.Response(status=204)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if len(self._hub.pages) >= MAX_PAGES:
            raise web.HTTPServiceUnavailable(text="Too many pages are open.\n", headers={"Retry-After": "10"})
        since = request.headers.get("Last-Event-ID") or request.query.get("since", "")
        match = _VERSION.fullmatch(since)
        sent = int(match[2]) if match and match[1] == self._hub.run_pages.epoch else 0
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        # a page that is closed while an event is written is no fault
        with suppress(ConnectionResetError), self._hub.open(request.query.get("run", ""), sent) as page:
            await _write_chunk(response, b"retry: 1000\nevent: page\ndata: %s\n\n" % page.id.encode())
            while page.run or self._hub.run_of("") is None:
                await self._send_changes(response, page)
            await _write_chunk(response, b"event: reload\ndata:\n\n")
        return response

    async def _send_changes(self, response: web.StreamResponse, page: OpenPage) -> None:
        """Send what a page does not have yet, then wait for the next round."""
        page.changed.clear()
        drawn = self._hub.run_pages.get(page.run)
        if drawn is not None and (event := drawn.event(self._hub.run_pages.epoch, page.sent)):
            page.sent = drawn.version
            await _write_chunk(response, event)
        try:
            await asyncio.wait_for(page.changed.wait(), KEEP_ALIVE)
        except TimeoutError:
            await _write_chunk(response, b":\n\n")


async def _write_chunk(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(STALLED):
        await response.write(data)


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def _html(text: str) -> web.Response:
    return web.Response(body=text.encode("utf-8", "backslashreplace"), content_type="text/html", charset="utf-8")


def serve(
    monitor: ReaderProcess,
    host: str,
    port: int | None,
    names: Sequence[str],
    on_ready: Callable[[str], None],
) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP; return the exit code.

    host: address or name to listen on. port: None for a free one. names: further names in the Host header that are
    answered. on_ready: is called with the address of the page. Raise UsageError if the address cannot be used.
    """
    listener = _listener(host, port)
    try:
        return asyncio.run(_serve(monitor, listener, host, names, on_ready))
    finally:
        listener.close()


async def _serve(
    monitor: ReaderProcess,
    listener: socket.socket,
    host: str,
    names: Sequence[str],
    on_ready: Callable[[str], None],
) -> int:
    address, port = listener.getsockname()[:2]
    is_local = ipaddress.ip_address(address).is_loopback
    known = {"localhost", host.lower(), *(name.lower() for name in names)}
    known |= {"127.0.0.1", "[::1]"} if is_local else {socket.gethostname().lower(), socket.getfqdn().lower()}
    guard = Guard(secrets.token_urlsafe(24), frozenset(known), any_address=not is_local)
    server = Server(monitor, guard)
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP: leave that
            asyncio.get_running_loop().add_signal_handler(number, _end_server, ended, 128 + number)
    runner = web.AppRunner(
        server.application(), handle_signals=False, access_log=None, handler_cancellation=True, shutdown_timeout=1.0
    )
    await runner.setup()
    assert runner.server is not None
    connections = Connections(runner.server)
    server.note_request = connections.note_request
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_print_error)
    _log_in_lines()
    drawing, closing = asyncio.create_task(server.draw()), asyncio.create_task(connections.close_late())
    site = await loop.create_server(connections, sock=listener, backlog=BACKLOG)
    try:
        on_ready(f"http://{_shown_host(host, address)}:{port}/{guard.token}/")
        either: set[asyncio.Future[Any]] = {ended, drawing}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if drawing.done():
            drawing.result()
        return ended.result()
    finally:
        drawing.cancel()
        closing.cancel()
        site.close()
        await runner.cleanup()


class _OneLine(logging.Formatter):
    """Formats an error without its traceback: a bad request of a stranger is no fault of the program."""

    def format(self, record: logging.LogRecord) -> str:
        error = " ".join(str(record.exc_info[1]).split()) if record.exc_info else ""
        return clean(f"tuimon: {record.getMessage()}{': ' if error else ''}{error}", 200)


def _log_in_lines() -> None:
    handler, logger = logging.StreamHandler(), logging.getLogger("aiohttp.server")
    handler.setFormatter(_OneLine())
    logger.handlers, logger.propagate = [handler], False


def _print_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Print an error of a connection in one line."""
    print(f"tuimon: {clean(str(context.get('exception') or context['message']), 200)}", file=sys.stderr)


def _end_server(ended: asyncio.Future[int], code: int) -> None:
    if not ended.done():
        ended.set_result(code)


def _shown_host(host: str, address: str) -> str:
    """Return the host of the printed address: a machine that listens on all its addresses is called by its name."""
    if ipaddress.ip_address(address).is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _listener(host: str, port: int | None) -> socket.socket:
    error: OSError | None = None
    for number in (*PORTS, 0) if port is None else (port,):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return socket.create_server((host, number), family=family, backlog=128)
        except OSError as caught:
            error = caught
    where = host if port is None else f"{host}:{port}"
    raise UsageError(f"cannot listen on {where}: {error.strerror if error else ''}", "Choose another --host or --port.")
