"""The grammar of targets: which words on the command line name logs on another machine. The first rule that fits wins.

1. A scheme: `ssh://[user@]host[:port]/path` (`/~/path` is below the home directory), `docker://container:/path`,
   `k8s://namespace/pod[/container]:/path`; any other scheme is an object store (`s3://bucket/logs`).
2. The path exists on this machine: local. Ray's directories and time stamps contain colons.
3. No colon, a slash before the first colon, or a drive letter (`C:\\logs`): local.
4. `slurm:JOBID`; `[user@]host:path`, `[v6 address]:path`, and Slurm's host lists, `gpu[01-64]:path`: remote.

A path is passed on as it is: the host expands `~` and patterns. No shell ever sees it.
"""

from __future__ import annotations

import math
import os
import posixpath
from collections.abc import Callable
from itertools import product
from urllib.parse import unquote

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.errors import UsageError
from tuimon.text import clean

MAX_HOSTS = 1024
"""Maximum number of hosts of a host list."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SLURM = re.compile(r"slurm:(\d+(?:[_+]\d+)?)")
_USER = r"(?:(?P<user>[^@:/\s\[\]]+)@)?"
_ADDRESS = re.compile(_USER + r"\[(?P<host>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?)\](?::(?P<path>.*))?", re.DOTALL)
_HOSTS = re.compile(_USER + r"(?P<host>(?:[^\[\]:/@\s]|\[[0-9A-Za-z,-]*\])+):(?P<path>.*)", re.DOTALL)
_HOST = re.compile(r"[^\s:/@\[\]\x00-\x20\x7f]+")
_AUTHORITY = re.compile(_USER + r"(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:/@\[\]]*))(?::(?P<port>\d{1,5}))?", re.DOTALL)
_CONTAINER = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]*):(?P<path>.*)", re.DOTALL)
_POD = re.compile(r"(?P<host>[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*(?:/[a-z0-9][a-z0-9-]*)?):(?P<path>.*)", re.DOTALL)
_PARAMETER = re.compile(r"\?[\w.-]+=")
"""Begin of the parameters of a URL; "?" alone is part of a pattern."""
_RANGE = re.compile(r"(\d+)-(\d+)")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_HINT = "A target is [user@]host:path, ssh://host/path, docker://container:/path or k8s://namespace/pod:/path."


class Target(Struct, frozen=True):
    """Logs on another machine."""

    scheme: str
    """ssh | docker | k8s | slurm | objects."""
    host: str
    """Name or address of the host without the user; the container; namespace/pod[/container]; "" for objects."""
    path: str
    """Path on the host, "~" and patterns not expanded; the job of `slurm:`; the whole URL of objects."""
    shown: str
    """Name in everything that the user sees: "gpu01:logs/grpo"."""
    user: str = ""
    port: int = 0
    """Port of an ssh:// target; 0: as the user's ssh configuration says."""
    job: str = ""
    """The host list that this host comes from: its hosts are one job. "" for a single host."""

    @property
    def label(self) -> str:
        """Name of the host, or of the bucket, in the header of the dashboard."""
        return self.host or "/".join(self.shown.split("/")[:3])

    @property
    def prefix(self) -> str:
        """Prefix that is displayed in front of a path on the host: "gpu01:" or "gpu01:/"."""
        if self.scheme == "objects":
            return ""
        return self.shown[: len(self.shown) - len(self.path)] + ("/" if self.path.startswith("/") else "")

    @property
    def parts(self) -> tuple[str, ...]:
        """Components of the path below which the logs are mirrored."""
        return parts_of(self.shown if self.scheme == "objects" else self.path)

    @property
    def destination(self) -> str:
        """The destination as ssh takes it: [user@]host."""
        return f"{self.user}@{self.host}" if self.user else self.host


def parse(word: str, exists: Callable[[str], bool] = os.path.lexists) -> tuple[Target, ...]:
    """Return the targets that a word of the command line names, one for each host; () for a local path.

    exists: whether a path exists on this machine. Raise UsageError for a target that cannot be meant.
    """
    if ":" not in word:
        return ()
    if match := _SCHEME.fullmatch(word):
        return (_with_scheme(word, match[1].lower(), match[2]),)
    if exists(word):
        return ()
    return looks_remote(word)


def looks_remote(word: str) -> tuple[Target, ...]:
    """Return what `parse` returns for a word without a scheme if nothing of this name exists on this machine."""
    before = word.partition(":")[0]
    if ":" not in word or _DRIVE.match(word) or ("/" in before and not before.startswith("[")):
        return ()
    if match := _SLURM.fullmatch(word):
        return (Target("slurm", "", match[1], word),)
    match = _ADDRESS.fullmatch(word)
    if match is not None and match["path"] is not None:
        return (_ssh(match["user"], match["host"], match["path"], f"[{match['host']}]", word),)
    match = _HOSTS.fullmatch(word)
    if match is None:
        return ()
    hosts = expand(match["host"])
    job = match["host"] if len(hosts) > 1 else ""
    return tuple(_ssh(match["user"], host, match["path"], host, word, job) for host in hosts)


def expand(hosts: str) -> tuple[str, ...]:
    """Return the hosts of a Slurm host list such as "gpu[01-03,07],login1". Raise UsageError if it is not one."""
    names: list[str] = []
    for part in _split(hosts):
        pieces: list[tuple[str, ...]] = []
        end = 0
        for bracket in _BRACKET.finditer(part):
            pieces += [(part[end : bracket.start()],), _members(bracket[1], hosts)]
            end = bracket.end()
        pieces.append((part[end:],))
        if len(names) + math.prod(map(len, pieces)) > MAX_HOSTS:
            raise UsageError(f"more than {MAX_HOSTS} hosts: {clean(hosts)}")
        names += map("".join, product(*pieces))
    if not names or not all(names):
        raise UsageError(f"not a list of hosts: {clean(hosts)}", "An example is gpu[01-04,07].")
    return tuple(dict.fromkeys(names))


def _split(hosts: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    return re.split(r",(?![^\[\]]*\])", hosts)


def _members(text: str, hosts: str) -> tuple[str, ...]:
    """Return the members of a bracket: "01-03,07" -> 01, 02, 03, 07."""
    members: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            if not re.fullmatch(r"[0-9A-Za-z]+", part):
                raise UsageError(f"not a list of hosts: {clean(hosts)}", "An example is gpu[01-04,07].")
            members.append(part)
            continue
        first, last = (int(number) for number in match.groups()) if len(part) < 40 else (0, -1)
        if not 0 <= last - first < MAX_HOSTS:
            raise UsageError(f"not a range of at most {MAX_HOSTS} hosts: [{clean(part)}]")
        members += (str(number).zfill(len(match[1])) for number in range(first, last + 1))
        if len(members) > MAX_HOSTS:
            raise UsageError(f"more than {MAX_HOSTS} hosts: {clean(hosts)}")
    return tuple(members)


def on_host(target: Target, path: str) -> Target:
    """Return the target of another path on the host of a target."""
    shown = target.shown[: len(target.shown) - len(target.path)] + path
    return Target(target.scheme, target.host, path, shown, target.user, target.port)


def _with_scheme(word: str, scheme: str, rest: str) -> Target:
    if scheme == "ssh":
        return _ssh_url(word, rest)
    if scheme in ("docker", "k8s"):
        match = (_CONTAINER if scheme == "docker" else _POD).fullmatch(rest)
        if match is None:
            form = "docker://container:/path" if scheme == "docker" else "k8s://namespace/pod[/container]:/path"
            raise UsageError(f"not of the form {form}: {clean(word)}")
        return Target(scheme, match["host"], _path(match["path"], word), word)
    if not rest.strip("/"):
        raise UsageError(f"the path is missing: {clean(word)}", "An example is s3://bucket/logs.")
    return Target("objects", "", word, _without_secrets(word))


def _without_secrets(url: str) -> str:
    """Return a URL without the password and the parameters, which can be credentials."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    authority = f"{user.partition(':')[0]}{at}{host}"
    return f"{scheme}://{authority}{slash}{path.partition('?')[0] if _PARAMETER.search(path) else path}"


def _ssh_url(word: str, rest: str) -> Target:
    authority, slash, path = rest.partition("/")
    match = _AUTHORITY.fullmatch(authority)
    host = unquote((match["v6"] or match["host"]) if match else "")
    if match is None or not host:
        raise UsageError(f"not of the form ssh://[user@]host[:port]/path: {clean(word)}")
    path = slash + unquote(path)
    if path.startswith("/~"):  # as in ssh://host/~/logs and ssh://host/~user/logs
        path = path[1:]
    port = int(match["port"] or 0)
    if port > 65535:
        raise UsageError(f"not a port: {port}")
    name = f"[{host}]" if match["v6"] else host
    target = _ssh(match["user"] and unquote(match["user"]), host, path, name, word)
    shown = f"ssh://{target.shown[: -len(path) - 1]}:{port}/{path.removeprefix('/')}" if port else target.shown
    return Target(target.scheme, target.host, target.path, shown, target.user, port)


def _ssh(user: str | None, host: str, path: str, name: str, word: str, job: str = "") -> Target:
    path = _path(path, word)
    for part in (host, user or ""):
        if part.startswith("-"):  # ssh would take it for an option
            raise UsageError(f"a host or user cannot begin with '-': {clean(word)}")
    bare = host.replace(":", "")
    if not _HOST.fullmatch(bare) or (user and not _HOST.fullmatch(user)):
        raise UsageError(f"not a host: {clean(host)}", _HINT)
    shown = f"{user}@{name}:{path}" if user else f"{name}:{path}"
    return Target("ssh", host, path, shown, user or "", job=job)


def _path(path: str, word: str) -> str:
    if not path:
        hint = f"The home directory is {clean(word)}~" if word.endswith(":") else _HINT
        raise UsageError(f"the path is missing: {clean(word)}", hint)
    if "\0" in path:
        raise UsageError(f"not a path: {clean(path)}")
    return path


def parts_of(path: str) -> tuple[str, ...]:
    """Return the components of a path on a host below which its logs are mirrored: no ".", "..", "" or "~".

    A pattern ends the path, as the host expands it: "logs/*/tb" -> ("logs",).
    """
    parts = [part for part in posixpath.normpath(path).split("/") if part not in ("", ".", "..", "~")]
    magic = next((index for index, part in enumerate(parts) if any(c in part for c in "*?[")), len(parts))
    return tuple(parts[:magic])
