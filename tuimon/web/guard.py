"""Which requests are answered.

The address contains a random token, which a program without it cannot guess. A page of another site could still send
requests through the user's browser: under a name of its own that it lets point at this machine (DNS rebinding), which
the Host header shows, or from its own origin, which the Origin and Sec-Fetch-Site headers show.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

from aiohttp import web
from msgspec import Struct

from tuimon import lazy_re as re

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types tuimon"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "tuimon",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response. A report, whose style and script are part of it, has the policy that it names itself."""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)


class Refusal(Struct, frozen=True):
    """A request that is not answered."""

    status: int
    reason: str


class Guard(Struct, frozen=True):
    """Values that a request must have."""

    token: str
    names: Collection[str]
    """Names in the Host header that are answered, in lower case."""
    any_address: bool = False
    """True if every IP address is answered, too: no rebinding is possible without a name."""

    def refusal(self, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused, or None if it may be answered."""
        host = headers.get("Host", "")
        if not self._is_known(host):
            return Refusal(421, "This name is not served here. Open the address that tuimon printed.")
        origin = headers.get("Origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return Refusal(403, "Requests of other sites are refused.")
        is_document = headers.get("Sec-Fetch-Dest") == "document"
        if not is_document and headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return Refusal(403, "Requests of other sites are refused.")
        token = path.split("/", 2)[1] if path.startswith("/") else ""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return Refusal(404, "Not found. Open the whole address that tuimon printed.")
        return None

    def _is_known(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].lower().rstrip(".")
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return self.any_address


HEADER_TIMEOUT = 5.0
"""Seconds in which a new connection must send the header of a request."""
MOST_WAITING = 64
"""Connections without a request that are kept; the oldest is closed for a new one. A shell may allow 256 files."""
BACKLOG = 32
"""Connections that are accepted at a time."""


class Connections:
    """Makes the protocol of each connection, as an event loop asks for it."""

    def __init__(self, server: Callable[[], asyncio.Protocol]) -> None:
        """server: makes the protocol of a connection (aiohttp.web.Server)."""
        self._server = server
        self._waiting: dict[Hashable, float] = {}
        """Time (monotonic, s) of each connection without a request, the oldest first."""

    def __call__(self) -> asyncio.Protocol:
        while len(self._waiting) >= MOST_WAITING:
            self._close(next(iter(self._waiting)))
        connection = self._server()
        self._waiting[connection] = time.monotonic()
        return connection

    def note_request(self, request: web.Request) -> None:
        """Note that a connection has sent the header of a request."""
        self._waiting.pop(request.protocol, None)

    async def close_late(self) -> None:
        """Close connections whose time is over, until cancelled."""
        while True:
            await asyncio.sleep(1.0)
            due = time.monotonic() - HEADER_TIMEOUT
            for connection in [known for known, since in self._waiting.items() if since < due]:
                self._close(connection)

    def _close(self, connection: Any) -> None:
        del self._waiting[connection]
        if connection.transport is not None:  # else it has gone
            connection.transport.abort()
