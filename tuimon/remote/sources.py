"""The connections to the sources of logs, by the scheme of the target."""

from __future__ import annotations

from tuimon.remote.connection import Connection
from tuimon.remote.link import Connect
from tuimon.remote.mirror import Mirror
from tuimon.remote.posix import Shell
from tuimon.remote.ssh import Transport, transport
from tuimon.remote.sync import Sync
from tuimon.remote.targets import Target
from tuimon.remote.texts import WantedTexts


def connector(target: Target, via: str = "") -> Connect:
    """Return what makes connections to a target. Raise UsageError if that is impossible. via: see `transport`."""
    return _to_objects(target) if target.scheme == "objects" else over(transport(target, via), target.path)


def over(transport: Transport, path: str) -> Connect:
    """Return what makes connections through a shell. path: of the logs on the host."""

    def connect(mirror: Mirror, max_bytes: int, texts: WantedTexts) -> Connection:
        return Sync(lambda batch: Shell.connect(transport, path, batch), mirror, max_bytes, texts)

    return connect


def _to_objects(target: Target) -> Connect:
    def connect(mirror: Mirror, max_bytes: int, texts: WantedTexts) -> Connection:
        from tuimon.remote.stores import Store

        return Sync(lambda batch: Store.connect(target.path), mirror, max_bytes, texts)

    return connect
