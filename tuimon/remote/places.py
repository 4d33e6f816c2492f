"""Where the mirror of a target lies.

The hosts of one job have mirrors below one directory, so that they are read as one (see tuimon/sources/job_hosts.py):

$XDG_CACHE_HOME/tuimon/mirror/<hosts>-<hash of the targets>/
    tree/hosts.tuimon/<job>/<name>/<host>/    the files of a host
    hosts/<host>/                             what one mirror has beside its tree: tmp/, link.json, lock
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from tuimon.remote.targets import Target, parts_of
from tuimon.sources.job_hosts import MARKER
from tuimon.text import clean

_LABEL = 40
"""Maximum length of the readable part of a directory's name."""
_LONGEST = 200
"""Maximum length of the name of a host's directory."""
_SHOWN = 2
"""Targets of --join that are named."""


class Place(Struct, frozen=True):
    """Paths of a mirror."""

    base: str
    """Directory of what the mirror has beside the files."""
    top: str
    """Directory that nothing is written outside of: "/" or the home directory of the host, or `root`."""
    root: str
    """Directory or file that corresponds to the path on the host."""
    single: str
    """Path of the file if there is a file at the path on the host."""
    whole: str
    """Directory of all that is deleted together: `base`, or that of the job."""


def place_of(target: Target, where: str, component: str) -> Place:
    """Return the place of the mirror of one target. component: a name in the tree for its host."""
    key = _key(target)
    base = os.path.join(where, f"{_label(target.host or target.scheme)}-{sha256(key).hexdigest()[:16]}")
    top = os.path.join(base, "tree", component)
    root = os.path.join(top, *target.parts)
    return Place(base, top, root, root, base)


class JobPlace:
    """The place of the mirrors of the hosts of one job."""

    def __init__(self, targets: Sequence[Target], where: str) -> None:
        """where: the directory of all mirrors."""
        hosts = [target.host or target.scheme for target in targets]
        label = _label(targets[0].job or ",".join(dict.fromkeys(hosts)))
        key = b"\0\0".join(map(_key, targets))
        self.base = os.path.join(where, f"{label}-{sha256(key).hexdigest()[:16]}")
        names = {target.parts[-1] if target.parts else label for target in targets}
        name = names.pop() if len(names) == 1 else "job"
        self.root = os.path.join(self.base, "tree", MARKER, label, _label(name))
        """Directory with a directory for each host."""
        self._names = _unique([re.sub(r"[/:+]", ".", host)[:_LONGEST].lstrip(".") or "host" for host in hosts])

    def of(self, number: int) -> Place:
        """Return the place of the mirror of the target with a number."""
        name = self._names[number]
        root = os.path.join(self.root, name)
        return Place(os.path.join(self.base, "hosts", name), root, root, "", self.base)


def name_of_job(targets: Sequence[Target]) -> str:
    """Return the name of a job in everything that the user sees: "gpu[01-04]:logs", "gpu01:a + gpu02:b"."""
    first = targets[0]
    if first.job and all((target.job, target.path) == (first.job, first.path) for target in targets):
        user = f"{first.user}@" if first.user else ""
        return f"{user}{first.job}:{first.path}"
    names = [target.shown for target in targets]
    more = f" + {len(names) - _SHOWN + 1} more" if len(names) > _SHOWN else f" + {names[1]}" if len(names) > 1 else ""
    return names[0] + more


def base_name(target: Target) -> str:
    """Return what the user sees in front of the paths below a target: `shown` without a pattern at its end."""
    if any(character in target.path for character in "*?["):
        return target.prefix + "/".join(parts_of(target.path))
    return target.shown.rstrip("/")


def _key(target: Target) -> bytes:
    return f"{target.scheme}\0{target.destination}\0{target.port}\0{target.path}".encode("utf-8", "replace")


def _label(text: str) -> str:
    """Return a short name that is safe in a path and in a pattern."""
    text = re.sub(r"[\[\]]", "", clean(text))
    return re.sub(r"[^A-Za-z0-9.,-]", "_", text)[:_LABEL].lstrip(".-") or "job"


def _unique(names: Sequence[str]) -> list[str]:
    """Return unique names of directories: the second one of a host is host+2, the third one host+3."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}+{seen[name]}")
    return result
