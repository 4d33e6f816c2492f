"""A directory that is mirrored through a shell on this machine, instead of one at the other end of ssh."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tuimon.remote.link import Keeper
from tuimon.remote.ssh import Transport
from tuimon.remote.sync import over
from tuimon.remote.targets import parse

PATIENCE = 60.0
"""Seconds within which a condition must hold."""


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(0.01)


def log_rows(count: int, start: int = 0) -> bytes:
    """Return rows of JSON with a step and a loss."""
    return b"".join(b'{"step": %d, "loss": %d.5}\n' % (step, step % 7) for step in range(start, start + count))


def by_shell(*shell: str) -> Transport:
    """Return what runs a shell on this machine. shell: the words of its command."""
    return Transport(shell or ("/bin/sh",))


class Mirrored:
    """Context manager: a keeper of the mirror of a directory."""

    transport: Callable[[], Transport] = staticmethod(by_shell)
    """Returns what runs the shell unless a test names something else."""

    def __init__(self, path: str | Path, where: Path, transport: Transport | None = None, **options: int) -> None:
        """path: of the logs. where: the directory of all mirrors."""
        (target,) = parse(f"gpu01:{path}", lambda word: False)
        self.source = Path(path)
        self.keeper = Keeper(
            target,
            over(transport or Mirrored.transport(), target.path),
            where=str(where),
            max_bytes=options.get("max_bytes", 1 << 30),
        )
        self.here = Path(self.keeper.path)
        self.hints: list[str] = []
        self.keeper.on_hint = lambda paths, structure: self.hints.extend(paths)

    def __enter__(self) -> Mirrored:
        self.keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.keeper.close()

    def until_complete(self) -> None:
        """Wait until everything is here."""
        until(lambda: self.keeper.link.complete, f"{self.keeper.link}")

    def until_same(self, *names: str) -> None:
        """Wait until the files of these names below both directories have the same bytes."""
        until(lambda: all(self.is_same(name) for name in names), f"{names}: {self.keeper.link}")

    def is_same(self, name: str) -> bool:
        try:
            return (self.here / name).read_bytes() == (self.source / name).read_bytes()
        except FileNotFoundError:
            return not (self.here / name).exists() and not (self.source / name).exists()

    def files(self) -> list[str]:
        """Return the names of all files in the mirror."""
        return sorted(str(path.relative_to(self.here)) for path in self.here.rglob("*") if path.is_file())
