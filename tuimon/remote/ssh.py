"""The commands that connect to a host: the system's OpenSSH, docker, kubectl, or a command of the user.

ssh is used as it is configured (ProxyJump, ControlMaster, keys, 2FA). It asks its questions on the terminal by itself;
without a terminal, and after the first login, BatchMode makes it fail instead.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.remote.targets import Target
from tuimon.text import clean

OPTIONS = (
    *("-T", "-oClearAllForwardings=yes", "-oServerAliveInterval=5", "-oServerAliveCountMax=3", "-oConnectTimeout=20"),
    *("-oEscapeChar=none", "-oPermitLocalCommand=no"),
)
_LOGIN = re.compile(
    rb"permission denied|host key verification failed|authentication fail|too many authentication"
    rb"|no more authentication|remote host identification has changed",
    re.IGNORECASE,
)


class Transport(Struct, frozen=True):
    """Command that runs a shell on a host, on its standard input and output."""

    words: tuple[str, ...]
    asks: bool = False
    """Whether the command may ask the user something on the terminal."""

    def start(self, batch: bool) -> subprocess.Popen[bytes]:
        """Start the command. batch: it must not ask anything. Raise OSError if it cannot be started."""
        words = list(self.words)
        if batch and self.asks:
            words.insert(len(shlex.split(os.environ.get("TUIMON_SSH", "ssh"))), "-oBatchMode=yes")
        pipe = subprocess.PIPE
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=batch)


def transport(target: Target, via: str = "") -> Transport:
    """Return the transport for a target. Raise UsageError.

    via: the user's command, which runs a shell on the host on stdin and stdout.
    """
    if via:
        return Transport(tuple(_words(via, "via in [hosts]")))
    if target.scheme == "docker":
        return Transport(("docker", "exec", "-i", target.host, "/bin/sh"))
    if target.scheme == "k8s":
        return Transport((*_kubectl(target.host), "--", "/bin/sh"))
    return Transport(tuple(remote_command(target, ["exec /bin/sh"], False)), asks=True)


def remote_command(target: Target, words: Sequence[str], batch: bool) -> Sequence[str]:
    """Return the command that runs words without special characters on a host. batch: it must not ask anything."""
    ssh = _words(os.environ.get("TUIMON_SSH", "ssh"), "TUIMON_SSH")
    port = ("-p", str(target.port)) if target.port else ()
    quiet = ("-oBatchMode=yes",) if batch else ()
    return (*ssh, *quiet, *OPTIONS, *port, "--", target.destination, " ".join(words))


def _words(command: str, name: str) -> Sequence[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{name}: {error}: {clean(command)}") from error
    if not words:
        raise UsageError(f"{name}: the command is empty")
    return words


def _kubectl(host: str) -> tuple[str, ...]:
    namespace, pod, *container = host.split("/")
    return ("kubectl", "exec", "-i", "-n", namespace, pod, *(("-c", container[0]) if container else ()))


def needs_login(errors: bytes) -> bool:
    """Return whether ssh failed because it could not ask the user something."""
    return bool(_LOGIN.search(errors))
