"""Connections that have not sent a whole request are few and end soon, so that they cannot keep others out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Any

from aiohttp import web

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
