"""component(): names of files on a host, which are not trusted, as names in a mirror."""

from __future__ import annotations

import os

from tuimon import lazy_re as re
from tuimon.remote.mirror_errors import MirrorError
from tuimon.text import clean

MAX_NAME = 240
"""Maximum bytes of an encoded name."""

_CONTROL = "[\x01-\x1f\x7f]"
_CODE = "(?:[01][0-9A-F]|7F)"
_UNSAFE = re.compile(f"{_CONTROL}|%(?=(?:25)*{_CODE})")


def component(name: str) -> str:
    """Return the name of a file on the host as a name in the mirror. Raise MirrorError for a name that cannot be one.

    Control characters are percent-encoded. Other names are kept, such as "a%2Fb" and bytes that are not UTF-8, because
    formats and runs are recognised by them.
    """
    safe = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", name)
    if safe in ("", ".", "..") or "/" in safe or "\0" in safe or len(os.fsencode(safe)) > MAX_NAME:
        raise MirrorError(f"a name that cannot be mirrored: {clean(name, 60)!r}")
    return safe
