"""An OpenSSH server of the test's own: a loopback port, a host key, one authorized key."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from support.programs import default_signals

PATIENCE = 60.0
"""Seconds within which a server must answer."""


def find_sshd() -> str | None:
    """Return the path of sshd, or None if it is not installed. It must be started by its absolute path."""
    return shutil.which("sshd", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))


def needed() -> str:
    """Return the path of sshd; skip the test if OpenSSH is not installed."""
    sshd = find_sshd()
    if sshd is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("OpenSSH's server and client are not installed (openssh-server)")
    return sshd


class Sshd:
    """Context manager: a server, and the configuration by which `ssh -F config NAME` reaches it."""

    def __init__(self, directory: Path, options: Sequence[str] = (), name: str = "gpu01", passphrase: str = "") -> None:
        """options: lines for sshd_config. name: the host in the client's configuration."""
        self.directory = directory
        self.name = name
        self.config = directory / "config"
        self.known_hosts = directory / "known_hosts"
        self.key = directory / "id_ed25519"
        self._sshd = needed()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key, phrase in (("host_key", ""), ("id_ed25519", passphrase)):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-C", "", "-f", str(directory / key)]
            subprocess.run(words, check=True)
        (directory / "authorized_keys").write_bytes((directory / "id_ed25519.pub").read_bytes())
        self.options = list(options)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd of the root user insists on this directory
        lines = [
            *(f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.directory}/host_key"),
            *(f"AuthorizedKeysFile {self.directory}/authorized_keys", f"PidFile {self.directory}/pid"),
            *("StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no"),
            *("PermitRootLogin yes", "PrintMotd no", "Subsystem sftp /bin/false", "MaxStartups 100", *self.options),
        ]
        (self.directory / "sshd_config").write_text("\n".join(lines) + "\n")
        with (self.directory / "sshd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._sshd, "-D", "-e", "-f", str(self.directory / "sshd_config")],
                stderr=log,
                stdin=subprocess.DEVNULL,
                preexec_fn=default_signals,
                start_new_session=True,
            )
        self.write_config()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1.0) as connection:
                    if connection.recv(4) == b"SSH-":
                        break
            except OSError:
                pass
            said = (self.directory / "sshd.log").read_text()
            assert self._process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.02)
        key = (self.directory / "host_key.pub").read_text()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {key}")

    def write_config(self, port: int = 0, extra: Sequence[str] = ()) -> None:
        """Write the client's configuration. port: of a link in between; 0: the server's."""
        lines = [
            *(
                f"Host {self.name}",
                "HostName 127.0.0.1",
                f"Port {port or self.port}",
                f"HostKeyAlias [127.0.0.1]:{self.port}",
            ),
            *(f"IdentityFile {self.key}", "IdentitiesOnly yes", "IdentityAgent none"),
            *(f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile /dev/null", "LogLevel ERROR", *extra),
        ]
        self.config.write_text("\n".join(lines) + "\n")

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which tuimon reaches the server."""
        return {"TUIMON_SSH": f"ssh -F {self.config}"}

    @property
    def server(self) -> int:
        """Id of the server's process."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End the server and its connections."""
        if self._process is not None:
            for pid in descendants(self._process.pid):
                kill(pid)
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Sshd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def descendants(pid: int) -> list[int]:
    """Return the ids of the children of a process and of theirs."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
