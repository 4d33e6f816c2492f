"""The connections to the sources of logs, by the scheme of the target."""

from __future__ import annotations

from tuimon.remote.connection import Connection
from tuimon.remote.link import Connect
from tuimon.remote.mirror import Mirror
from tuimon.remote.receiver import Receiver
from tuimon.remote.session import Session
from tuimon.remote.ssh import Transport, transport
from tuimon.remote.targets import Target
from tuimon.remote.texts import WantedTexts

INTERVAL = 0.25
"""Seconds between two looks of the agent at the files that grow."""


def connector(target: Target, via: str = "", python: str = "") -> Connect:
    """Return what makes connections to a target. Raise UsageError if that is impossible.

    via, python: see `transport`.
    """
    return _to_objects(target) if target.scheme == "objects" else over(transport(target, via, python), target.path)


def over(transport: Transport, path: str) -> Connect:
    """Return what makes connections to an agent. path: of the logs on the host."""

    def connect(mirror: Mirror, max_bytes: int, texts: WantedTexts) -> Connection:
        return Session(transport, path, Receiver(mirror, max_bytes, texts), INTERVAL)

    return connect


def _to_objects(target: Target) -> Connect:
    def connect(mirror: Mirror, max_bytes: int, texts: WantedTexts) -> Connection:
        from tuimon.remote.objects import Objects

        return Objects(target.path, mirror, max_bytes, texts)

    return connect
