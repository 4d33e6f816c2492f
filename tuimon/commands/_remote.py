"""Targets on other machines as arguments of subcommands: `host:path` and its relatives.

Only what is needed to recognise a local path is imported at the top.
"""

from __future__ import annotations

import argparse
import atexit
import os
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.errors import NothingFound, TuimonError, UsageError
from tuimon.text import clean, local_time

if TYPE_CHECKING:
    from tuimon.model.links import RemotePath
    from tuimon.monitor.process import ReaderProcess
    from tuimon.remote.link import Keeper
    from tuimon.remote.targets import Target

_POLL = 0.1
"""Seconds between two updates of the progress bar."""
_PATIENCE = 0.5
"""Seconds in which all connections must end."""
MAX_SIZE = "4G"
"""Most that is copied of one target, unless [hosts] says otherwise."""
_keepers: list[Keeper] = []
"""All mirrors of this process."""
_paths: list[RemotePath] = []
"""Their paths; that of a job is above those of its hosts."""


def host_options(target: Target) -> tuple[str, int]:
    """Return (via, most bytes) of the first entry of [hosts] that fits the host. Raise UsageError."""
    from fnmatch import fnmatchcase

    from tuimon.monitor import load_settings

    for pattern, own in load_settings().hosts.items():
        if fnmatchcase(target.label, pattern):
            via, size = own.get("via", ""), str(own.get("max_bytes", MAX_SIZE))
            match = re.fullmatch(r"(\d{1,9})([KMGT]?)i?B?", size, re.IGNORECASE)
            if not isinstance(via, str) or not own.keys() <= {"via", "max_bytes"} or match is None or not int(match[1]):
                raise UsageError(
                    f"[hosts.{pattern!r}] in config.toml: via must be a command, max_bytes a size such as {MAX_SIZE}"
                )
            return via, int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2].upper()]
    return "", 4 << 30


def targets_of(word: str) -> tuple[Target, ...]:
    """Return the targets that a word names; () for a local path."""
    if ":" not in word:
        return ()
    from tuimon.remote.targets import looks_remote, parse

    targets = parse(word)
    if not targets and os.path.lexists(word) and looks_remote(word):
        from tuimon.commands._stderr import print_status

        print_status(f"{clean(word)} is a path on this machine; ./{clean(word)} says so, ssh://… names a host")
    return targets


def remote_paths(
    jobs: Sequence[Sequence[Target]], options: argparse.Namespace | None, live: bool, required: bool = True
) -> list[RemotePath]:
    """Return the paths of the mirrors of the targets. Targets of one job are one path.

    live: they are kept up to date until the program ends, and need not be there yet. Otherwise everything is copied
    first. A target that cannot be reached is named on stderr, and the others are returned. Raise NothingFound or
    TuimonError if there is no other, unless none is `required`.
    """
    sources = [_mirror_of(targets, options) for targets in jobs]
    keepers = [keeper for _, members in sources for keeper in members]
    _log_in_to(keepers, live)
    failures: dict[Keeper, TuimonError] = {}
    for keeper in keepers:
        try:
            if not live:
                _copy_once(keeper)
            elif not keeper.known:
                _wait_for_answer(keeper)
        except TuimonError as error:
            failures[keeper] = error
    if failures and required and len(failures) == len(keepers):
        raise next(iter(failures.values()))
    if failures:
        from tuimon.commands._stderr import print_status

        for failure in failures.values():
            print_status(failure.message)
    return [path for path, members in sources if live or any(keeper not in failures for keeper in members)]


def _log_in_to(keepers: Sequence[Keeper], live: bool) -> None:
    """Connect to all hosts. ssh asks its questions on the terminal, those of one host at a time.

    Many hosts are tried without questions first, some at once, so that only those ask which have to.
    """
    asks, many = _has_terminal(), len(keepers) > 1
    waits = [keeper for keeper in keepers if asks and not (live and keeper.known)]
    for keeper in keepers:  # what is here already can be shown before there is a connection
        keeper.start(may_ask=keeper in waits and not many)
    for keeper in waits:
        _wait(keeper)
        if many and keeper.link.state == "login":
            keeper.login()
            _wait(keeper)


def _wait(keeper: Keeper) -> None:
    """Wait until a host answers, and name it if that takes long: ssh may wait for the user meanwhile."""
    from tuimon.commands._stderr import print_status

    keeper.wait_for_answer(lambda: print_status(f"{clean(keeper.link.target)} has not answered yet; Ctrl+C ends"))


def _wait_for_answer(keeper: Keeper) -> None:
    """Wait until a host answers for the first time. Raise TuimonError if it does not."""
    _wait(keeper)
    if keeper.link.state not in ("copying", "live", "missing", "shared"):
        raise TuimonError(f"{clean(keeper.link.target)}: {keeper.link.detail or keeper.link.state}", _hint(keeper))


def job_logs(target: Target) -> tuple[list[str], list[Target]]:
    """Return (local paths, targets) of the logs of the Slurm job that a target names; the target itself if none.

    Raise TuimonError if Slurm does not answer or does not know the job.
    """
    from tuimon.remote import slurm
    from tuimon.remote.ssh import remote_command
    from tuimon.remote.targets import on_host

    if target.scheme == "slurm":
        home = os.path.expanduser("~")  # noqa: PTH111
        return slurm.paths_of(target.shown, slurm.run(slurm.command(target.path)), home), []
    job = slurm.job_of(target.path) if target.scheme == "ssh" else ""
    if not job:
        return [], [target]
    done = slurm.run(remote_command(target, slurm.command(job), batch=not _has_terminal()))
    return [], [on_host(target, path) for path in slurm.paths_of(target.shown, done)]


def attach(monitor: ReaderProcess) -> None:
    """Report changes of the mirrors to the reader of a monitor; let the dashboard log in again."""
    for keeper in _keepers:
        keeper.on_hint = monitor.hint
    monitor.log_in = _log_in
    monitor.retry_links = retry_links
    monitor.want_texts = want_texts


def retry_links() -> bool:
    """Connect again now where a link is lost; return whether there is one."""
    retried = [keeper for keeper in _keepers if keeper.retry()]
    return bool(retried)


def want_texts(step: int | None = None) -> None:
    """Copy the generated texts of all targets: of the last steps, and of `step` or before."""
    for keeper in _keepers:
        keeper.want_texts(step)


def _log_in() -> None:
    for keeper in _keepers:
        if keeper.link.state == "login":
            keeper.login()
            keeper.wait_for_answer()


def _mirror_of(targets: Sequence[Target], options: argparse.Namespace | None) -> tuple[RemotePath, Sequence[Keeper]]:
    """Return the path of the mirror of a target, or of a job of several targets, and what keeps it up to date."""
    from tuimon.remote.jobs import Job
    from tuimon.remote.link import Keeper, expire_in_background
    from tuimon.remote.sync import connector

    offline = options is not None and options.offline
    via, limit = host_options(targets[0])
    path: RemotePath
    if len(targets) > 1:
        job = Job(targets, lambda target: connector(target, via), max_bytes=limit, offline=offline)
        path, keepers = job.path, job.keepers
    else:
        keepers = [Keeper(targets[0], connector(targets[0], via), max_bytes=limit, offline=offline)]
        path = keepers[0].path
    if newest := getattr(options, "texts_copied", 0):
        step = getattr(options, "step", None)
        for keeper in keepers:
            keeper.want_texts(step, newest if step is None else 0)
    if not _keepers:
        atexit.register(close_links)
        expire_in_background()
    _keepers.extend(keepers)
    _paths.append(path)
    return path, keepers


def _copy_once(keeper: Keeper) -> None:
    """Wait until everything on the host is in the mirror."""
    from tuimon.commands._stderr import ProgressBar

    progress, link = ProgressBar("copying"), keeper.link
    while not keeper.wait(_POLL):
        progress.update(link.here, link.total, " bytes")
    progress.close()
    target = clean(link.target)
    if link.state == "missing":
        keeper.close()
        raise NothingFound(f"No such file or directory: {target}")
    if link.state in ("offline", "shared"):
        if not keeper.known and not link.complete:
            raise NothingFound(f"nothing of {target} has been copied to this machine yet", "Try without --offline.")
        return
    keeper.close()
    if not link.complete:
        raise TuimonError(f"{target}: {link.detail or link.state}", _hint(keeper))


def _hint(keeper: Keeper) -> str:
    if keeper.known:
        return f"--offline shows what was copied until {local_time(keeper.link.heard, '%Y-%m-%d %H:%M')}."
    return "`ssh HOST true` shows whether the host can be reached." if keeper.target.scheme == "ssh" else ""


def is_mirror(path: str) -> bool:
    """Return whether a path is that of a mirror, which need not be there yet."""
    return any(path is mirror for mirror in _paths)


def keepers() -> Sequence[Keeper]:
    """Return what keeps the mirrors of this process up to date."""
    return _keepers


def close_links() -> None:
    """End all connections."""
    for keeper in _keepers:
        keeper.end()
    until = time.monotonic() + _PATIENCE
    for keeper in _keepers:
        keeper.close(max(0.0, until - time.monotonic()))
    _keepers.clear()


def hide_mirrors(text: str) -> str:
    """Replace the paths of mirrors in a message by the names of what they mirror."""
    for path in _paths:
        text = path.hide(text)
    return text


def _has_terminal() -> bool:
    """Return whether ssh can ask the user something."""
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
